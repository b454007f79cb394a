"""What a daemon pod looks like, and which nodes it is for.

parity v1.36.4: pkg/controller/daemon/util/daemonset_util.go, daemon_controller.go
"""

from typing import Final

from mooring.embedded.controllers.workloads.controller_history import REVISION_LABEL, Revision
from mooring.embedded.controllers.workloads.pod_templates import pod_from_template, pod_name_prefix
from mooring.embedded.resources import Obj
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.taints import NO_EXECUTE, NO_SCHEDULE, untolerated

_TEMPLATE_GENERATION: Final = "pod-template-generation"
_DEPRECATED: Final = "deprecated.daemonset.template.generation"
_NAME_FIELD: Final = "metadata.name"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
# Daemon pods stay on nodes that are in trouble, and may start there.
_TOLERATED: Final = (
    ("node.kubernetes.io/not-ready", NO_EXECUTE),
    ("node.kubernetes.io/unreachable", NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/unschedulable", NO_SCHEDULE),
)
_HOST_TOLERATED: Final = ("node.kubernetes.io/network-unavailable", NO_SCHEDULE)


def read_node(body: bytes) -> Node:
    """A stored node."""
    return Node.from_json(body, keep_source=False)


def pod_for(obj: Obj, revision: Revision, node: str) -> Obj:
    """The pod of a DaemonSet for a node; for no node in particular if that is empty."""
    metadata = obj["metadata"]
    pod = pod_from_template(obj["spec"]["template"], obj)
    pod["metadata"]["generateName"] = pod_name_prefix(metadata["name"])
    number = (metadata.get("annotations") or {}).get(_DEPRECATED)
    pod["metadata"]["labels"] = {
        **pod["metadata"].get("labels", {}),
        REVISION_LABEL: revision.digest,
        _TEMPLATE_GENERATION: number or str(metadata.get("generation", 1)),
    }
    spec = pod["spec"] = dict(pod["spec"])
    tolerations = list(spec.get("tolerations") or ())
    wanted = [*_TOLERATED, *([_HOST_TOLERATED] if spec.get("hostNetwork") else [])]
    for key, effect in wanted:
        toleration = {"key": key, "operator": "Exists", "effect": effect}
        if toleration not in tolerations:
            tolerations.append(toleration)
    spec["tolerations"] = tolerations
    if node:
        _pin(spec, node)
    return pod


def _pin(spec: Obj, node: str) -> None:
    """Let only one node fit."""
    field = {"key": _NAME_FIELD, "operator": "In", "values": [node]}
    affinity = dict(spec.get("affinity") or {})
    inner = dict(affinity.get("nodeAffinity") or {})
    inner[_REQUIRED] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity["nodeAffinity"] = inner
    spec["affinity"] = affinity


def node_of(pod: Obj) -> str:
    """The node that a daemon pod was made for; empty if it is for none in particular."""
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    for term in (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == _NAME_FIELD and field.get("values"):
                return str(field["values"][0])
    return ""


def should_run(sample: Pod, node: Node) -> bool:
    """Whether a daemon pod should run on a node."""
    return _fits(sample, node) and untolerated(node.taints, sample.tolerations) is None


def should_continue_running(sample: Pod, node: Node) -> bool:
    """Whether a daemon pod that is on a node may continue to run there."""
    tolerable = untolerated(node.taints, sample.tolerations, [NO_EXECUTE]) is None
    return _fits(sample, node) and tolerable


def _fits(sample: Pod, node: Node) -> bool:
    if sample.node_name and sample.node_name != node.name:
        return False
    for key, value in sample.node_selector.items():
        if node.labels.get(key) != value:
            return False
    affinity = sample.spec.affinity.node_affinity if sample.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return required is None or required.matches(node.labels, node.name)
