"""Checks of a live cluster: versions, clock, permissions, feasible nodes, other schedulers."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mooring.config.types import DEFAULT_SCHEDULER
from mooring.deploy.doctor.checks import needs
from mooring.deploy.doctor.evidence import ClusterEvidence, Evidence, Permission, mapping
from mooring.deploy.doctor.findings import DoctorCheck, DoctorFinding, DoctorSeverity
from mooring.deploy.doctor.permissions import as_roles, in_words
from mooring.deploy.kubernetes_version import FIRST_V1
from mooring.version import KUBERNETES_VERSION
from mooring.wording import counted

_SKEW_SECONDS: Final = 5
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)")
_LEAST_PYTHON: Final = (3, 11)
#: Why the kubelet rejects a pod for which there is no room any more.
_CONFLICT: Final = re.compile(r"^(OutOf\w+|NodeAffinity|NodePorts|UnexpectedAdmissionError)$")


def _cluster(evidence: Evidence) -> ClusterEvidence:
    return evidence.cluster or ClusterEvidence()


def _reachable(evidence: Evidence) -> Iterator[DoctorFinding]:
    problem = _cluster(evidence).problem
    if problem:
        yield DoctorFinding(
            what=problem,
            advice="Correct the kubeconfig, or leave the cluster out with --no-cluster.",
        )
    unreadable = _cluster(evidence).unreadable
    if unreadable:
        yield DoctorFinding(
            severity=DoctorSeverity.WARNING,
            what=f"The user of the kubeconfig may not {in_words(unreadable)}, so what needs "
            f"{'them' if len(unreadable) > 1 or not unreadable[0].name else 'it'} is not checked.",
            advice=f"Bind to it {as_roles(unreadable)}.",
        )


def _versions(evidence: Evidence) -> Iterator[DoctorFinding]:
    found = _VERSION.match(_cluster(evidence).version)
    tested = _VERSION.match(KUBERNETES_VERSION)
    if found is not None and tested is not None:
        server, ours = (int(found[1]), int(found[2])), (int(tested[1]), int(tested[2]))
        if server < (1, FIRST_V1):
            yield DoctorFinding(
                what=f"The API server is {_cluster(evidence).version}, which has no "
                "kubescheduler.config.k8s.io/v1 yet.",
                advice=f"Upgrade the cluster to v1.{FIRST_V1} or newer.",
            )
        elif server > ours:
            yield DoctorFinding(
                severity=DoctorSeverity.WARNING,
                what=f"The API server is {_cluster(evidence).version}, newer than "
                f"{KUBERNETES_VERSION}, the version that this mooring decides like.",
                advice="Upgrade mooring, or compare its decisions with moor explain first.",
            )
    if evidence.python < _LEAST_PYTHON:
        shown = ".".join(map(str, evidence.python))
        yield DoctorFinding(
            what=f"This is Python {shown}, and mooring needs 3.11 or newer.",
            advice="Install Python 3.11 or newer.",
        )


def _clock(evidence: Evidence) -> Iterator[DoctorFinding]:
    skew = _cluster(evidence).skew_seconds
    if skew is None or abs(skew) <= _SKEW_SECONDS:
        return
    ahead = "ahead of" if skew > 0 else "behind"
    yield DoctorFinding(
        severity=DoctorSeverity.WARNING,
        what=f"The API server's clock is {abs(skew):.0f} s {ahead} the clock here.",
        advice="Synchronize both clocks (NTP, chrony), here and on the control plane.",
    )


def _permissions(evidence: Evidence) -> Iterator[DoctorFinding]:
    missing: dict[tuple[str, str], list[Permission]] = defaultdict(list)
    for one in _cluster(evidence).permissions:
        if not one.allowed:
            missing[one.user, one.program].append(one.permission)
    for (user, program), lacks in missing.items():
        yield DoctorFinding(
            what=f"{user} lacks {counted(len(lacks), 'permission')} that {program} needs: "
            f"{in_words(lacks)}.",
            advice=f"Bind to it {as_roles(lacks)}.",
        )


def _one_node(evidence: Evidence) -> Iterator[DoctorFinding]:
    cluster = _cluster(evidence)
    for one in cluster.outlooks:
        if one.feasible == 1 and one.nodes:
            yield DoctorFinding(
                severity=DoctorSeverity.WARNING,
                what=f"{one.pod} fits on one node alone (of {one.nodes}), so no score is asked "
                "about it.",
                advice="To see scores at work, take a pod that fits on more nodes: "
                f"moor explain {one.pod} shows what rejects the others.",
            )
    if cluster.outlooks or not cluster.nodes:
        return
    usable = [one for one in cluster.nodes if _takes_pods(one)]
    if len(usable) < 2:
        closed = [one for one in cluster.nodes if not _takes_pods(one)]
        hint = f": kubectl taint node {_name(closed[0])} TAINT-" if closed else ""
        yield DoctorFinding(
            severity=DoctorSeverity.WARNING,
            what=f"{len(usable)} of {counted(len(cluster.nodes), 'node')} takes ordinary pods, so "
            "no score is ever asked.",
            advice=f"Add a node, or let another one take pods{hint}.",
        )


def _takes_pods(node: Mapping[str, Any]) -> bool:
    spec = mapping(node.get("spec"))
    hard = [
        one
        for one in spec.get("taints") or ()
        if mapping(one).get("effect") in ("NoSchedule", "NoExecute")
    ]
    return not spec.get("unschedulable") and not hard


def _conflicts(evidence: Evidence) -> Iterator[DoctorFinding]:
    rejected: Counter[str] = Counter()
    schedulers_on: dict[str, set[str]] = defaultdict(set)
    examples: dict[str, str] = {}
    for pod in _cluster(evidence).pods:
        spec, status = mapping(pod.get("spec")), mapping(pod.get("status"))
        node = str(spec.get("nodeName") or "")
        if not node:
            continue
        reason = str(status.get("reason") or "")
        if status.get("phase") == "Failed" and _CONFLICT.match(reason):
            rejected[reason] += 1
            examples.setdefault(reason, f"{_namespace(pod)}/{_name(pod)} on {node}")
        elif status.get("phase") not in ("Failed", "Succeeded"):
            schedulers_on[node].add(str(spec.get("schedulerName") or DEFAULT_SCHEDULER))
    shared = [node for node, names in schedulers_on.items() if len(names) > 1]
    if not rejected or not shared:
        return
    names = sorted(set().union(*(schedulers_on[node] for node in shared)))
    total = sum(rejected.values())
    first = next(iter(rejected))
    yield DoctorFinding(
        severity=DoctorSeverity.WARNING,
        what=f"{' and '.join(names)} place pods on the same {counted(len(shared), 'node')}, and "
        f"kubelets rejected {counted(total, 'pod')} for want of room ({first}: {examples[first]}).",
        advice="Give each scheduler nodes of its own: taint them, and let its pods tolerate the "
        "taint. Then delete the failed pods: "
        "kubectl delete pods -A --field-selector status.phase=Failed.",
    )


def _name(thing: Mapping[str, Any]) -> str:
    return str(mapping(thing.get("metadata")).get("name") or "")


def _namespace(thing: Mapping[str, Any]) -> str:
    return str(mapping(thing.get("metadata")).get("namespace") or "default")


def _needs_answers(evidence: Evidence) -> str:
    return needs.cluster(evidence) or (
        "" if _cluster(evidence).permissions else _cluster(evidence).permissions_unknown
    )


CHECKS: Final = (
    DoctorCheck(
        id="cluster-reachable",
        title="the cluster can be read",
        why="Without the cluster, nothing about its nodes, pods and permissions can be said.",
        judge=_reachable,
        lacks=needs.any_cluster,
    ),
    DoctorCheck(
        id="versions",
        title="the versions of Kubernetes and Python fit",
        why="mooring decides like the kube-scheduler of one version; another version may have "
        "other plugins, defaults and formats.",
        judge=_versions,
        lacks=needs.cluster,
    ),
    DoctorCheck(
        id="clock-skew",
        title="the clocks agree",
        why="Tokens and certificates of a clock that is wrong are rejected, and the times of "
        "events and Leases mislead people.",
        judge=_clock,
        lacks=needs.cluster,
    ),
    DoctorCheck(
        id="permissions",
        title="schedulers have the permissions that they need",
        why="A scheduler that may not watch a resource does not start; one that may not bind, "
        "patch or record events places nothing, or says nothing about it.",
        judge=_permissions,
        lacks=_needs_answers,
    ),
    DoctorCheck(
        id="one-feasible-node",
        title="there is more than one node to choose from",
        why="Scores, those of policies and extenders included, are asked only if more than one "
        "node passes the filters.",
        judge=_one_node,
        lacks=needs.nodes,
    ),
    DoctorCheck(
        id="second-scheduler",
        title="schedulers do not overfill each other's nodes",
        why="Two schedulers that share nodes do not know what the other one is about to place; the "
        "kubelet rejects what does not fit any more.",
        judge=_conflicts,
        lacks=needs.cluster_pods,
    ),
)
