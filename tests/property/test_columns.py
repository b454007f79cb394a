"""Columns and counts that were kept up to date equal those of a cluster made anew.

Whatever sequence of nodes and pods coming, changing and going, of assumptions and what-ifs: every
number that a plugin can read must be the one that a fresh cluster with the same objects has. So it
must where next to nothing may be remembered, so that everything is forgotten and comes back.
"""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mooring import Node, Pod
from mooring.state.cluster import Cluster
from mooring.state.counts import PodLabelGroup
from mooring.state.memory_bounds import BOUNDS, MemoryBounds
from mooring.state.shapes import Shapes

NODES = st.sampled_from(["a", "b", "c", "d"])
PODS = st.sampled_from(["p", "q", "r", "s", "t"])
RESOURCES = ("cpu", "memory", "pods", "x.io/card", "x.io/disk", "x.io/nobody-has-it")
PORTS = (("0.0.0.0", "TCP", 80), ("10.0.0.1", "TCP", 80), ("0.0.0.0", "UDP", 80))  # noqa: S104
LABELS = ("zone", "kubernetes.io/hostname", "only-on-a", "nobody-has-it")
#: No array is kept of what few rows have, and one selector is counted at a time.
FORGETFUL = MemoryBounds(array_share=0, results=1, kinds=1, selectors=1, empty=1)
IMAGES = ("app:1", "app:2")


def node(name: str, variant: int) -> Node:
    """A node in one of a few forms: zones come and go, taints, images, sizes."""
    labels = {"kubernetes.io/hostname": name}
    if variant != 0:
        labels["zone"] = f"z{variant}"
        labels[f"only-on-{name}"] = "yes"
    images = [
        {"names": [f"app:{number}", f"app@{number}"], "sizeBytes": 100 * variant + number}
        for number in range(1, variant + 1)
    ]
    taints = [{"key": "gpu", "effect": "NoSchedule"}] if variant == 2 else []
    return Node.from_dict(
        {
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": taints, "unschedulable": variant == 1},
            "status": {
                "allocatable": {"cpu": str(4 + variant), "pods": "10", "x.io/disk": variant},
                "images": images,
            },
        }
    )


def pod(name: str, template: int, target: str = "", *, terminating: bool = False) -> Pod:
    """A pod of one of a few templates: ports, affinity, claims, labels."""
    term = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "zone"}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term, term]}
    preferred = {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "podAffinityTerm": term}]
    }
    spec: dict[str, Any] = {
        "containers": [{"resources": {"requests": {"cpu": f"{template}00m"}}}],
        "nodeName": target,
    }
    if template == 1:
        spec["containers"].append(
            {"ports": [{"hostPort": 80}, {"hostPort": 80, "protocol": "UDP"}]}
        )
        spec["affinity"] = {"podAntiAffinity": required}
    elif template == 2:
        spec["containers"][0]["ports"] = [{"hostPort": 80, "hostIP": "10.0.0.1"}]
        spec["containers"][0]["resources"]["requests"]["x.io/card"] = "2"
        spec["affinity"] = {"podAffinity": {**required, **preferred}, "podAntiAffinity": preferred}
    elif template == 3:
        spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    meta: dict[str, Any] = {"name": name, "labels": {"app": "ab"[template % 2]}, "uid": name}
    if terminating:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return Pod.from_dict({"metadata": meta, "spec": spec})


def app_a(group: PodLabelGroup) -> bool:
    return group.labels.get("app") == "a"


def app_b_alive(group: PodLabelGroup) -> bool:
    return group.labels.get("app") == "b" and not group.terminating


INCOMING = Shapes().of(pod("incoming", 0))


def rows(cluster: Cluster) -> dict[str, dict[str, Any]]:
    """Everything that can be read of every node, by the node's name."""
    columns = cluster.columns
    assert columns.names == [one.name for one in columns.nodes]
    assert columns.row_of == {name: row for row, name in enumerate(columns.names)}
    found: dict[str, dict[str, Any]] = {name: {} for name in columns.names}

    def note(what: str, values: Any) -> None:
        assert len(values) == len(columns)
        for name, value in zip(columns.names, list(values), strict=True):
            found[name][what] = value

    for resource in RESOURCES:
        note(f"allocatable {resource}", columns.allocatable(resource).tolist())
        note(f"used {resource}", columns.used(resource).tolist())
        for row in range(len(columns)):
            assert columns.allocatable_at(resource, row) == columns.allocatable(resource)[row]
            assert columns.used_at(resource, row) == columns.used(resource)[row]
    note("cpu", columns.nonzero_cpu.tolist())
    note("memory", columns.nonzero_memory.tolist())
    note("unschedulable", columns.unschedulable.tolist())
    note("taints", [columns.taint_sets[place] for place in columns.taint_ids.tolist()])
    for key in LABELS:
        column = columns.labels(key)
        note(key, [column.values[place] for place in column.ids.tolist()])
        assert columns.has_label(key) == any(key in one.labels for one in columns.nodes)
    for image in IMAGES:
        state = columns.image(image)
        note(image, state.mask.tolist() if state is not None else [False] * len(columns))
    for port in PORTS:
        note(str(port), columns.port_mask(*port).tolist())
    note("app a", cluster.pod_counts.matching("a", app_a).tolist())
    note("app b", cluster.pod_counts.matching("b", app_b_alive).tolist())
    for kind in ("affinity", "anti_affinity", "preferred"):
        terms = getattr(cluster, kind)
        total = [0] * len(columns)
        for one in terms.matching_terms(INCOMING, {}, 0):
            for row, count in enumerate(one.array(columns.table).tolist()):
                total[row] += count * (one.weight or 1)
        note(kind, total)
    note("pods", [{one.key for one in cluster.pods_on(row)} for row in range(len(columns))])
    return found


class ColumnsMachine(RuleBasedStateMachine):
    """Drives a cluster, and keeps the plain truth beside it."""

    bounds = BOUNDS

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster(bounds=self.bounds)
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.places: dict[str, str] = {}
        self.confirmed: set[str] = set()

    @initialize(variants=st.tuples(*[st.integers(0, 2)] * 3), places=st.permutations("abcab"))
    def fill(self, variants: tuple[int, ...], places: list[str]) -> None:
        """Begin with something to lose."""
        for name, variant in zip("abc", variants, strict=True):
            self.put_node(name, variant)
        for number, (name, where) in enumerate(zip("pqrst", places, strict=True)):
            self.put_pod(name, number % 4, where, terminating=False)

    @rule(name=NODES, variant=st.integers(0, 2))
    def put_node(self, name: str, variant: int) -> None:
        self.nodes[name] = node(name, variant)
        self.cluster.put_node(node(name, variant))

    @rule(name=NODES)
    def remove_node(self, name: str) -> None:
        self.nodes.pop(name, None)
        self.cluster.remove_node(name)

    @rule(
        name=PODS, template=st.integers(0, 3), where=NODES | st.just(""), terminating=st.booleans()
    )
    def put_pod(self, name: str, template: int, where: str, terminating: bool) -> None:
        new = pod(name, template, where, terminating=terminating)
        self.pods[name] = new
        if where:
            self.places.pop(name, None)
            self.confirmed.discard(name)
        self.cluster.put_pod(new)

    @rule(name=PODS)
    def remove_pod(self, name: str) -> None:
        self.pods.pop(name, None)
        self.places.pop(name, None)
        self.confirmed.discard(name)
        self.cluster.remove_pod(f"default/{name}")

    @rule(name=PODS, where=NODES)
    def assume(self, name: str, where: str) -> None:
        waiting = self.pods.get(name)
        if waiting is not None and not waiting.node_name and name not in self.places:
            self.places[name] = where
            self.cluster.assume(waiting, where)

    @rule(name=PODS)
    def confirm(self, name: str) -> None:
        if name in self.places:
            self.confirmed.add(name)
        self.cluster.confirm(f"default/{name}")

    @rule(name=PODS)
    def forget(self, name: str) -> None:
        if name not in self.confirmed:
            self.places.pop(name, None)
        self.cluster.forget(f"default/{name}")

    @rule(data=st.data(), template=st.integers(0, 3))
    def think(self, data: st.DataObject, template: int) -> None:
        """A what-if that is taken back leaves no trace."""
        if not len(self.cluster.columns):
            return
        row = data.draw(st.integers(0, len(self.cluster.columns) - 1))
        gone = list(self.cluster.pods_on(row))
        for one in gone:
            self.cluster.remove_what_if(one, row)
        guest = pod("guest", template)
        self.cluster.add_what_if(guest, row)
        assert self.cluster.columns.used("pods")[row] == 1
        self.cluster.remove_what_if(guest, row)
        assert self.cluster.columns.used("cpu")[row] == 0
        for one in gone:
            self.cluster.add_what_if(one, row)

    @invariant()
    def equals_a_new_cluster(self) -> None:
        fresh = Cluster()
        for one in self.nodes.values():
            fresh.put_node(node(one.name, len(one.status.images or ())))
        for name, waiting in self.pods.items():
            if name in self.places:
                fresh.assume(waiting, self.places[name])
            else:
                fresh.put_pod(waiting)
        assert rows(self.cluster) == rows(fresh)
        assert self.cluster.claim_users("default/c") == fresh.claim_users("default/c")


TestColumns = ColumnsMachine.TestCase
TestColumns.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)


class ForgetfulMachine(ColumnsMachine):
    """The same with a cluster that keeps no arrays and remembers next to nothing."""

    bounds = FORGETFUL


TestForgetful = ForgetfulMachine.TestCase
TestForgetful.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
