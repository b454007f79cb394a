"""What plugins remember of nodes is what they would work out anew.

Nodes change in one aspect at a time, come and go; pods ask for all that plugins read of nodes.
After every change each default plugin is asked on the cluster that lived through it, with all that
it remembers, and on a new one with the same objects: every answer must be the same. A plugin that
forgets to say what a remembered result depends on gives itself away.
"""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.config.runtimes import build_profiles, build_runtime
from mooring.framework import hook
from mooring.framework.cycle import Cycle
from mooring.framework.runtime import Runtime
from mooring.framework.verdict import ACCEPT
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.node_features import KNOWN_FEATURES
from mooring.model.pod import Pod
from mooring.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from mooring.plugins.in_tree import default_registry
from mooring.state.cluster import Cluster

ZONE = "topology.kubernetes.io/zone"
NAMES = ("a", "b", "c", "d")
#: What nodes are like: for each aspect one of a few forms.
ASPECTS = ("labels", "taints", "cordoned", "images", "allocatable", "features", "heartbeat")
FORMS = st.integers(0, 2)

Form = dict[str, int]


def node(name: str, form: Form) -> Node:
    """A node in one form of every aspect."""
    labels = {"kubernetes.io/hostname": name}
    if form["labels"]:
        labels |= {ZONE: f"z{form['labels']}", "disk": "ssd"}
    taints = [{"key": "gpu", "effect": effect} for effect in ("NoSchedule", "PreferNoSchedule")]
    images = [{"names": [f"app:{one}"], "sizeBytes": 300 << 20} for one in range(form["images"])]
    return Node.from_dict(
        {
            "metadata": {"name": name, "labels": labels, "resourceVersion": str(form["heartbeat"])},
            "spec": {
                "taints": taints[: form["taints"]],
                "unschedulable": form["cordoned"] == 1,
                "providerID": str(form["cordoned"]),
            },
            "status": {
                "allocatable": {"cpu": str(2 + form["allocatable"]), "memory": "8Gi", "pods": "9"},
                "images": images,
                "declaredFeatures": sorted(KNOWN_FEATURES)[: form["features"]],
            },
        }
    )


def pod(name: str, **spec: Any) -> Pod:
    container = {"image": "app:1", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    meta = {"name": name, "namespace": "default", "labels": {"app": "a"}, "uid": name}
    return Pod.from_dict({"metadata": meta, "spec": {"containers": [container], **spec}})


_CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}


def _affinity(kind: str, **terms: Any) -> dict[str, Any]:
    return {"affinity": {kind: terms}}


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_EAST = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["z1"]}]}
_NEAR = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "a"}}}
_SPREAD = {"maxSkew": 1, "topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "a"}}}


def _spread(action: str, **more: str) -> dict[str, Any]:
    return {"topologySpreadConstraints": [{**_SPREAD, "whenUnsatisfiable": action, **more}]}


def _claim(name: str) -> dict[str, Any]:
    return {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]}


PODS = (
    pod("plain"),
    pod("tolerant", tolerations=[{"operator": "Exists"}]),
    pod("selecting", nodeSelector={"disk": "ssd"}),
    pod("demanding", **_affinity("nodeAffinity", **{_REQUIRED: {"nodeSelectorTerms": [_EAST]}})),
    pod(
        "wishing",
        **_affinity("nodeAffinity", **{_PREFERRED: [{"weight": 5, "preference": _EAST}]}),
    ),
    pod("near", **_affinity("podAffinity", **{_REQUIRED: [_NEAR]})),
    pod("apart", **_affinity("podAntiAffinity", **{_REQUIRED: [_NEAR]})),
    pod("spread", **_spread("DoNotSchedule")),
    pod("spread-taints", **_spread("DoNotSchedule", nodeTaintsPolicy="Honor")),
    pod("spread-selected", nodeSelector={"disk": "ssd"}, **_spread("DoNotSchedule")),
    pod("spread-anyway", **_spread("ScheduleAnyway", nodeTaintsPolicy="Honor")),
    pod("own-users", hostUsers=False, hostNetwork=True),
    pod("bound-claim", **_claim("bound")),
    pod("unbound-claim", **_claim("unbound")),
    pod("made-claim", **_claim("made")),
)
THINGS: tuple[KubeObject, ...] = (
    StorageClass.from_dict(
        {
            "metadata": {"name": "local"},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        }
    ),
    StorageClass.from_dict(
        {
            "metadata": {"name": "made"},
            "provisioner": "x.io/disks",
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": ["z1"]}]}],
        }
    ),
    CSIDriver.from_dict({"metadata": {"name": "x.io/disks"}, "spec": {"storageCapacity": True}}),
    CSIStorageCapacity.from_dict(
        {
            "metadata": {"name": "much", "namespace": "default"},
            "storageClassName": "made",
            "capacity": "9Gi",
            "nodeTopology": {"matchLabels": {"disk": "ssd"}},
        }
    ),
    *(CSINode.from_dict({"metadata": {"name": name}}) for name in NAMES),
    *(
        PersistentVolume.from_dict(
            {
                "metadata": {"name": f"pv-{number}", "labels": {ZONE: f"z{number}"}},
                "spec": {
                    "storageClassName": "local",
                    "capacity": {"storage": "1Gi"},
                    "accessModes": ["ReadWriteOnce"],
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [_EAST]}},
                    "claimRef": {"namespace": "default", "name": "bound"} if number == 1 else None,
                },
                "status": {"phase": "Bound" if number == 1 else "Available"},
            }
        )
        for number in (1, 2)
    ),
    *(
        PersistentVolumeClaim.from_dict(
            {
                "metadata": {
                    "name": name,
                    "namespace": "default",
                    "annotations": {"pv.kubernetes.io/bind-completed": "yes"} if volume else {},
                },
                "spec": {
                    "storageClassName": kind,
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                    "volumeName": volume,
                },
                "status": {"phase": "Bound" if volume else "Pending"},
            }
        )
        for name, kind, volume in (
            ("bound", "local", "pv-1"),
            ("unbound", "local", ""),
            ("made", "made", ""),
        )
    ),
)


def cluster_of(nodes: list[Node]) -> Cluster:
    cluster = Cluster()
    for one in (*nodes, *THINGS):
        cluster.put(one)
    for name in NAMES[:3]:
        cluster.put_pod(pod(f"on-{name}", nodeName=name))
    return cluster


def runtime_on(cluster: Cluster) -> Runtime:
    registry = default_registry()
    enabled = {"score": {"enabled": [{"name": "NodeResourcesAllocatable"}]}}
    profiles = [{"schedulerName": "default-scheduler", "plugins": enabled}]
    profile = build_profiles({**_CONFIGURATION, "profiles": profiles}, registry)[
        "default-scheduler"
    ]
    return build_runtime(profile, registry, cluster, lambda: 0)


def answers(runtime: Runtime, asking: Pod) -> dict[str, Any]:
    """What every plugin says of every node."""
    found: dict[str, Any] = {}
    cycle = Cycle(asking, runtime.cluster)
    plugins = {
        point: [(one.name, one.plugin) for one in runtime.points[point]]
        for point in ("preFilter", "filter", "preScore", "score")
    }
    stopped = set()
    for name, plugin in plugins["preFilter"]:
        assert isinstance(plugin, hook.PreFilter)
        answer = found[f"{name} pre-filter"] = plugin.pre_filter(cycle)
        if answer is not None:
            stopped.add(name)
    for name, plugin in plugins["filter"]:
        if name not in stopped and isinstance(plugin, hook.FilterNodes):
            verdicts = plugin.filter_nodes(asking, cycle.nodes)
            said = [] if verdicts is None else list(verdicts)
            rejections = {index: one for index, one in enumerate(said) if one != ACCEPT}
            found[f"{name} filter"] = rejections
    stopped = set()
    for name, plugin in plugins["preScore"]:
        assert isinstance(plugin, hook.PreScore)
        if plugin.pre_score(cycle, cycle.nodes) is hook.SKIP:
            stopped.add(name)
    found["not scoring"] = stopped
    for name, plugin in plugins["score"]:
        if name not in stopped and isinstance(plugin, hook.ScoreNodes):
            scores = np.asarray(plugin.score_nodes(asking, cycle.nodes))
            if isinstance(plugin, hook.Normalize) and len(scores):
                scores = plugin.normalize(cycle, cycle.nodes, scores)
            found[f"{name} score"] = scores.tolist()
    return found


CHANGES = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from((*ASPECTS, *ASPECTS, "gone")), FORMS),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(forms=st.lists(st.fixed_dictionaries(dict.fromkeys(ASPECTS, FORMS)), min_size=4, max_size=4),
       changes=CHANGES)  # fmt: skip
def test_what_is_remembered_is_what_would_be_computed(
    forms: list[Form], changes: list[tuple[str, str, int]]
) -> None:
    now = dict(zip(NAMES, forms, strict=True))
    cluster = cluster_of([node(name, form) for name, form in now.items()])
    runtime = runtime_on(cluster)
    for asking in PODS:
        answers(runtime, asking)
    for name, aspect, form in changes:
        if aspect == "gone":
            cluster.remove_node(name)
        else:
            now[name] = {**now[name], aspect: form}
            cluster.put_node(node(name, now[name]))
        fresh = cluster_of([node(one.name, now[one.name]) for one in cluster.columns.nodes])
        new_runtime = runtime_on(fresh)
        for asking in PODS:
            assert answers(runtime, asking) == answers(new_runtime, asking)
