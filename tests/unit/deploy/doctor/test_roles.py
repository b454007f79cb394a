"""Roles of manifests, judged without a cluster: those of ``moor manifests`` are exactly enough."""

import copy
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.deploy.doctor.evidence import Evidence, Permission
from mooring.deploy.doctor.findings import (
    CheckResult,
    DoctorFinding,
    DoctorSeverity,
    run_check,
)
from mooring.deploy.doctor.gathering import evidence_of, policy_evidence
from mooring.deploy.doctor.registry import CHECKS
from mooring.deploy.doctor.roles import bound_roles
from mooring.deploy.manifests.choices import Mode
from mooring.deploy.manifests.installation import DeployedPolicy
from mooring.framework.loading import load
from tests.unit.deploy.doctor.cases import EXTENDER, RIGHT, STATIC, STATIC_POD
from tests.unit.deploy.doctor.following import advice_helps
from tests.unit.deploy.doctor.roles import ROLES, advised_roles, role
from tests.unit.deploy.manifests.test_manifest_set import Objects, installation, objects

POLICY = Path(__file__).parents[4] / "docs" / "samples" / "night_batch.py"
CHECK = next(one for one in CHECKS if one.id == "rbac-missing")
WIDE = next(one for one in CHECKS if one.id == "rbac-wide")
ADMIN = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: admin}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects:
- {kind: ServiceAccount, name: packer, namespace: sched}
"""
IN_NAMESPACE = ADMIN.replace("ClusterRoleBinding", "RoleBinding").replace(
    "{name: admin}", "{name: admin, namespace: sched}"
)
SCHED_ACCOUNTS = "system:serviceaccounts:sched"
GROUP = ADMIN.replace(
    "{kind: ServiceAccount, name: packer, namespace: sched}",
    f"{{kind: Group, name: '{SCHED_ACCOUNTS}'}}",
)
OTHER = "- {kind: ServiceAccount, name: other, namespace: sched}\n"
MODES = [Mode.EXTENDER, Mode.SIDECAR, Mode.SCHEDULER]


def judged(*texts: str, policy: bool = False) -> CheckResult:
    evidence = evidence_of([(f"{number}.yaml", text) for number, text in enumerate(texts)])
    if policy:
        loaded = policy_evidence(evidence, load(str(POLICY)), str(POLICY))
        evidence = dataclasses.replace(evidence, policy=loaded)
    return run_check(CHECK, evidence)


def generated(mode: Mode) -> Objects:
    policy = DeployedPolicy(load(str(POLICY)), text=POLICY.read_text())
    return objects(installation(mode, policy=policy))


def with_less(made: Objects) -> Iterator[tuple[str, Objects]]:
    """The objects without one verb on one resource, for each of them."""
    for place, one in enumerate(made):
        for at, rule in enumerate(one.get("rules", ()) if "Role" in one["kind"] else ()):
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    changed = copy.deepcopy(made)
                    rules = changed[place]["rules"]
                    others = [each for each in rule["resources"] if each != resource]
                    rest = [each for each in rule["verbs"] if each != verb]
                    rules[at : at + 1] = [
                        *([{**rule, "resources": others}] if others else []),
                        *([{**rule, "resources": [resource], "verbs": rest}] if rest else []),
                    ]
                    yield f"{verb} {resource}", changed


@pytest.mark.parametrize("mode", MODES)
def test_the_roles_of_moor_manifests_are_enough_and_every_part_is_needed(mode: Mode) -> None:
    made = generated(mode)
    text = yaml.safe_dump_all(made)
    assert judged(text).severity is DoctorSeverity.OK
    assert judged(text, policy=True).severity is DoctorSeverity.OK
    for what, changed in with_less(made):
        if any(one in what for one in ("deviceclasses", "resourceslices", "resourceclaims")):
            continue  # a scheduler goes on without them
        [finding] = judged(yaml.safe_dump_all(changed), policy=True).findings
        verb, resource = what.split()
        assert f": {verb} {resource}" in finding.what


@pytest.mark.parametrize("mode", MODES)
def test_other_accounts_get_nothing(mode: Mode) -> None:
    made = generated(mode)
    for one in made:
        for subject in one.get("subjects", ()):
            subject["name"] = "somebody-else"
    found = judged(yaml.safe_dump_all(made)).findings
    assert {one.severity for one in found} == {DoctorSeverity.WARNING}
    assert all(one.place.subject.startswith("Deployment ") for one in found)


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        ({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, True),
        ({"apiGroups": [""], "resources": ["*/binding"], "verbs": ["create"]}, True),
        ({"apiGroups": [""], "resources": ["pods/*"], "verbs": ["create"]}, False),
        ({"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}, False),
        ({"apiGroups": ["apps"], "resources": ["pods/binding"], "verbs": ["create"]}, False),
        (
            {
                "apiGroups": [""],
                "resources": ["pods/binding"],
                "verbs": ["create"],
                "resourceNames": ["a"],
            },
            False,
        ),
        ({"apiGroups": "", "resources": 3, "verbs": None}, False),
        ({}, False),
    ],
)
def test_rules_allow_what_kubernetes_says(role: dict[str, Any], allowed: bool) -> None:
    text = ROLES.partition("rules:")[0] + yaml.safe_dump({"rules": [role]})
    evidence = evidence_of([("rbac.yaml", text)])
    roles = bound_roles(evidence, ("sched", "packer"))
    binding = Permission("create", "pods/binding")
    assert any(one.allows(binding) for one in roles) is allowed


@pytest.mark.parametrize(
    ("subject", "allowed"),
    [
        ("{kind: User, name: 'system:serviceaccount:sched:packer'}", True),
        ("{kind: Group, name: 'system:serviceaccounts:sched'}", True),
        ("{kind: Group, name: 'system:serviceaccounts'}", True),
        ("{kind: Group, name: 'system:masters'}", False),
        ("{kind: ServiceAccount, name: packer, namespace: other}", False),
        ("packer", False),
    ],
)
def test_who_is_meant(subject: str, allowed: bool) -> None:
    text = ROLES.replace("{kind: ServiceAccount, name: packer, namespace: sched}", subject)
    evidence = evidence_of([("rbac.yaml", text)])
    assert bool(bound_roles(evidence, ("sched", "packer"))) is allowed


@pytest.mark.parametrize(
    "texts",
    [
        # Nothing says what the account may do.
        (RIGHT["deploy.yaml"],),
        # A role that nobody here knows.
        (EXTENDER, ROLES.replace("name: packer}\nsubjects", "name: own}\nsubjects")),
        # A role that Kubernetes fills.
        (EXTENDER, ROLES.replace("rules:", "aggregationRule: {clusterRoleSelectors: []}\nrules:")),
        (ROLES,),
    ],
)
def test_what_is_not_known_is_not_judged(texts: tuple[str, ...]) -> None:
    assert "do not have all roles" in judged(*texts).reason


def test_a_finding_points_to_the_role() -> None:
    [finding] = judged(EXTENDER, ROLES.replace("nodes, pods,", "pods,")).findings
    assert str(finding.place) == "1.yaml:18, ClusterRole packer"


def test_a_static_pod_has_no_account() -> None:
    evidence = evidence_of([(STATIC, STATIC_POD), ("rbac.yaml", ROLES)])
    assert run_check(CHECK, evidence).reason


def test_a_role_in_one_namespace_is_not_enough_for_all() -> None:
    one = ROLES.replace("ClusterRoleBinding", "RoleBinding").replace(
        "metadata: {name: packer}\nroleRef", "metadata: {name: packer, namespace: sched}\nroleRef"
    )
    [finding] = judged(EXTENDER, one).findings
    assert finding.what.endswith("that moor serve needs: list, watch nodes.")
    assert finding.advice.startswith("Bind to it a ClusterRole with the rules {apiGroups")


@pytest.mark.parametrize(
    ("binding", "afterwards", "what", "advice"),
    [
        (
            ADMIN,
            "",
            "the cluster.",
            "delete ClusterRoleBinding admin; its roleRef cannot be changed",
        ),
        (
            IN_NAMESPACE,
            "",
            "the namespace sched.",
            "delete RoleBinding admin; its roleRef cannot be changed",
        ),
        (
            GROUP,
            "",
            "the cluster, as part of the Group system:serviceaccounts:sched.",
            "delete ClusterRoleBinding admin; its roleRef cannot be changed",
        ),
        (
            ADMIN + OTHER,
            ADMIN.partition("- ")[0] + OTHER,
            "the cluster.",
            "take the account out of the subjects of ClusterRoleBinding admin",
        ),
        (
            GROUP + OTHER,
            GROUP.partition("- ")[0] + OTHER,
            "the cluster, as part of the Group system:serviceaccounts:sched.",
            f"take the Group {SCHED_ACCOUNTS} out of the subjects of ClusterRoleBinding admin",
        ),
    ],
)
def test_a_cluster_admin_gets_less(binding: str, afterwards: str, what: str, advice: str) -> None:
    before = evidence_of([("deploy.yaml", EXTENDER), ("rbac.yaml", binding)])
    [finding] = run_check(WIDE, before).findings
    assert finding.what == f"The service account sched/packer may do everything in {what}"
    assert finding.edits == ()  # roleRef is immutable
    rules = '{apiGroups: [""], resources: [nodes], verbs: [list, watch]}'

    def follow(advised: DoctorFinding) -> Evidence:
        [(kind, _, shown)] = advised_roles(advised.advice)
        roles = f"{role(kind, shown)}---\n{afterwards}"
        return evidence_of([("deploy.yaml", EXTENDER), ("rbac.yaml", roles)])

    advice_helps(
        "rbac-wide",
        before,
        follow,
        advice=f"Bind to it a ClusterRole with the rules {rules} with new ClusterRoleBindings, and "
        f"{advice}.",
    )
    assert run_check(CHECK, follow(finding)).severity is DoctorSeverity.OK


def test_a_role_of_that_name_in_a_namespace_is_another_one() -> None:
    binding = IN_NAMESPACE.replace("kind: ClusterRole,", "kind: Role,")
    evidence = evidence_of([("deploy.yaml", EXTENDER), ("rbac.yaml", binding)])
    assert run_check(WIDE, evidence).findings == ()
    assert bound_roles(evidence, ("sched", "packer"))[0].rules is None
