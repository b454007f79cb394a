"""``moor doctor`` against a real kube-apiserver with RBAC."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.deploy.doctor.evidence import FoundObject, Permission
from mooring.deploy.doctor.roles import BUILT_IN_ROLES, BoundRole
from mooring.testing.real_kubernetes import ControlPlane
from tests.e2e.pod_helpers import nodes
from tests.e2e.test_bind_snapshot import moor
from tests.unit.deploy.doctor.cases import CONFIG, POD
from tests.unit.deploy.doctor.roles import advised_roles

pytestmark = pytest.mark.kube

ROLES = Path(__file__).parents[2] / "docs" / "samples" / "scheduler-rbac.yaml"


def checks(folder: Path, kubeconfig: Path, *arguments: str) -> dict[str, Any]:
    """What each check says."""
    done = moor(folder, kubeconfig, "doctor", "-o", "json", *arguments)
    assert done.err == ""
    return {one["id"]: one for one in json.loads(done.out)["checks"]}


def said(check: dict[str, Any]) -> list[str]:
    return [one["what"] for one in check["findings"]]


def renamed_roles(namespace: str) -> str:
    """The documented role for a service account of this test; its Lease is in kube-system."""
    text = ROLES.read_text().replace("mooring-scheduler", namespace)
    documents = list(yaml.safe_load_all(text))
    for document in documents:
        if document["kind"] == "ServiceAccount":
            document["metadata"]["namespace"] = namespace
        for subject in document.get("subjects", ()):
            subject["namespace"] = namespace
    return yaml.safe_dump_all(documents)


def test_permissions_are_asked_of_the_api_server(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    plane = control_plane
    user = f"system:serviceaccount:{namespace}:{namespace}"
    roles = renamed_roles(namespace)
    election = f"leaderElection: {{resourceName: {namespace}}}"
    config = CONFIG.replace("leaderElection:\n  leaderElect: false", election)
    (tmp_path / "config.yaml").write_text(config)
    files = ["--config", "config.yaml"]
    try:
        asked = checks(tmp_path, plane.kubeconfig, *files, "--as", user)
        [before] = said(asked["permissions"])
        needed = before.removeprefix(f"{user} lacks 41 permissions that moor run needs: ")
        assert needed.startswith("list, watch namespaces, nodes, ")
        plane.kubectl("apply", "-f", "-", stdin=roles)

        def allowed() -> bool | None:
            again = checks(tmp_path, plane.kubeconfig, *files, "--as", user)["permissions"]
            return again["severity"] == "ok" or None

        # The authorizer learns of roles by watching them.
        plane.wait_for(allowed, "the API server to know the roles")
        # Who may not ask about others hears so; about itself everybody may ask.
        token = plane.kubeconfig_with_token(namespace, namespace)
        asked = checks(tmp_path, token, *files, "--as", "joe")
        assert "subjectaccessreviews" in asked["permissions"]["reason"]
        assert checks(tmp_path, token, *files)["permissions"]["severity"] == "ok"
    finally:
        plane.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=roles)


def test_the_rules_that_are_advised_are_enough(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    plane = control_plane
    config = CONFIG.replace("leaderElect: false", f"resourceName: {namespace}")
    (tmp_path / "config.yaml").write_text(config)
    arguments = ["--config", "config.yaml", "--as", f"user-{namespace}"]
    [found] = checks(tmp_path, plane.kubeconfig, *arguments)["permissions"]["findings"]
    made = []
    for kind, within, rules in advised_roles(found["advice"]):
        metadata = {"name": namespace} | ({"namespace": within} if within else {})
        api = "rbac.authorization.k8s.io"
        made += [
            {"apiVersion": f"{api}/v1", "kind": kind, "metadata": metadata, "rules": rules},
            {
                "apiVersion": f"{api}/v1",
                "kind": f"{kind}Binding",
                "metadata": metadata,
                "roleRef": {"apiGroup": api, "kind": kind, "name": namespace},
                "subjects": [{"apiGroup": api, "kind": "User", "name": f"user-{namespace}"}],
            },
        ]
    assert [one["kind"] for one in made[::2]] == ["ClusterRole", "Role"]
    roles = yaml.safe_dump_all(made)
    plane.kubectl("apply", "-f", "-", stdin=roles)

    def allowed() -> bool | None:
        again = checks(tmp_path, plane.kubeconfig, *arguments)["permissions"]
        return again["severity"] == "ok" or None

    try:
        plane.wait_for(allowed, "the API server to know the roles")
    finally:
        plane.kubectl("delete", "-f", "-", stdin=roles)


def test_the_roles_that_every_cluster_has_allow_what_is_known_of_them(
    control_plane: ControlPlane,
) -> None:
    for (kind, name), rules in BUILT_IN_ROLES.items():
        # kube-controller-manager fills this one, and does not run here.
        asked = "system:aggregate-to-view" if name == "view" else name
        role = json.loads(
            control_plane.kubectl("get", kind, asked, "-n", "kube-system", "-o", "json")
        )
        real = BoundRole("", kind, name, role["rules"], None, FoundObject(data={}), {})
        for rule in rules:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    named = (rule["resourceNames"] or [""])[0]
                    wanted = Permission(verb, resource, rule["apiGroups"][0], name=named)
                    assert real.allows(wanted), (name, wanted)
        if name == "view":
            assert not real.allows(Permission("list", "nodes"))


def test_a_cluster_with_one_node_and_a_pod_that_nobody_places(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    plane = control_plane
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "pod.yaml").write_text(POD.replace("shop", namespace))
    lost = POD.replace("shop", namespace).replace("packer", f"lost-{namespace}")
    with nodes(plane, only={}):
        plane.kubectl("apply", "-f", "-", stdin=lost)
        files = ["--config", "config.yaml", "--manifest", "pod.yaml"]
        found = checks(tmp_path, plane.kubeconfig, *files)
    assert any(f"schedulerName lost-{namespace}" in one for one in said(found["scheduler-name"]))
    assert any("fits on one node alone (of 1)" in one for one in said(found["one-feasible-node"]))
    right = "cluster-reachable", "versions", "clock-skew", "permissions", "second-scheduler"
    assert [found[one]["severity"] for one in right] == ["ok"] * len(right)


def test_a_user_who_may_list_nothing(control_plane: ControlPlane, tmp_path: Path) -> None:
    nobody = control_plane.kubeconfig_for("nobody-at-all")
    found = checks(tmp_path, nobody)
    [why] = said(found["cluster-reachable"])
    assert why.startswith("The user of the kubeconfig may not list nodes, pods, events, ")
    assert found["versions"]["severity"] == "ok"
