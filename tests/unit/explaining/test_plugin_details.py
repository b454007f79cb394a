"""What plugins say about their rejections in names and numbers."""

from collections.abc import Sequence
from typing import Any

import pytest

import mooring as mr
from mooring.explaining.explainer import Explainer, Explanation
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.testing import make_node, make_pod

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}


def explain(objects: Sequence[KubeObject], pod: Pod) -> Explanation:
    found = Explainer(objects).explain(pod)
    assert found.failed == ()
    return found


def cause(objects: Sequence[KubeObject], pod: Pod) -> str:
    """The first cause."""
    return explain(objects, pod).causes[0].text


def lines(objects: Sequence[KubeObject], pod: Pod) -> list[tuple[list[str], tuple[str, ...]]]:
    """Nodes with the details of their rejections."""
    found = explain(objects, pod)
    return [([found.record.nodes[row] for row in one.rows], one.details) for one in found.groups]


def used(name: str, node: str, **requests: str) -> Pod:
    return make_pod(name, node=node, requests=requests)


class TestResources:
    def test_the_most_that_is_free_on_a_node_it_may_use(self) -> None:
        objects = [
            *(make_node(f"node-{number}", cpu="4") for number in range(1, 4)),
            make_node("other", cpu="64", taints=[TAINT]),
            used("a", "node-1", cpu="3"),
            used("b", "node-2", cpu="2100m"),
            used("c", "node-3", cpu="4"),
        ]
        pod = make_pod(requests={"cpu": "2500m"})
        assert cause(objects, pod) == (
            "needs 2500m cpu, and the most free on a node it may use is 1900m (node-2)"
        )
        assert lines(objects, pod)[0] == (
            ["node-1", "node-2", "node-3"],
            ("needs 2500m cpu, and the most free here is 1900m (node-2)",),
        )

    def test_small_and_large_nodes_are_told_about_together(self) -> None:
        objects = [make_node("s1", cpu="2"), make_node("s2", cpu="2"), make_node("l", cpu="8")]
        objects_used = [*objects, used("a", "l", cpu="5")]
        assert cause(objects_used, make_pod(requests={"cpu": "4"})) == (
            "needs 4 cpu, and the most free on a node it may use is 3 (l)"
        )

    def test_the_largest_node_is_too_small(self) -> None:
        objects = [make_node("a", memory="16Gi"), make_node("b", memory="32Gi")]
        assert cause(objects, make_pod(requests={"memory": "48Gi"})) == (
            "needs 48Gi memory, and the largest node it may use has 32Gi (b)"
        )

    def test_a_resource_that_no_node_has(self) -> None:
        assert cause([make_node("a")], make_pod(requests={"x.io/gpu": "2"})) == (
            "needs 2 x.io/gpu, which no node it may use has"
        )

    def test_each_node_lacks_something_else(self) -> None:
        objects = [make_node("a", cpu="8", memory="4Gi"), make_node("b", cpu="2", memory="32Gi")]
        assert cause(objects, make_pod(requests={"cpu": "4", "memory": "8Gi"})) == (
            "needs 4 cpu and 8Gi memory, and none of the nodes it may use has all of it free"
        )

    def test_too_many_pods(self) -> None:
        node = make_node("a", extended={"pods": 1})
        assert cause([node, used("x", "a")], make_pod()) == (
            "is one pod too many: the node is limited to 1 pod"
        )

    def test_one_node(self) -> None:
        objects = [make_node("a", cpu="8"), used("x", "a", cpu="3")]
        assert lines(objects, make_pod(requests={"cpu": "6"})) == [
            (["a"], ("needs 6 cpu, and 5 of 8 is free",))
        ]


class TestNodes:
    def test_each_taint_is_a_line(self) -> None:
        other = {"key": "team", "effect": "NoExecute"}
        objects = [
            make_node("a", taints=[TAINT]),
            make_node("b", taints=[other]),
            make_node("c", taints=[TAINT]),
        ]
        gpu = "does not tolerate the taint dedicated=gpu:NoSchedule"
        team = "does not tolerate the taint team:NoExecute"
        assert lines(objects, make_pod()) == [(["a", "c"], (gpu,)), (["b"], (team,))]
        assert cause(objects, make_pod()) == f"{gpu} (2 nodes) or {team} (1 node)"

    def test_conditions_that_are_not_met(self) -> None:
        objects = [make_node("a", labels={"disk": "hdd"}), make_node("b", labels={"disk": "ssd"})]
        term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["x", "y"]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        spec = {"nodeSelector": {"disk": "ssd"}, "affinity": {"nodeAffinity": required}}
        zone = f"{ZONE} in (x, y)"
        assert lines(objects, make_pod(spec=spec)) == [
            (["a"], (f"needs a node with disk=ssd and {zone}",)),
            (["b"], (f"needs a node with {zone}",)),
        ]

    def test_cordoned_nodes(self) -> None:
        node = make_node("a", unschedulable=True)
        assert cause([node], make_pod()) == "may not use a cordoned node"

    def test_a_node_that_does_not_exist(self) -> None:
        pod = make_pod("web", node="gone")
        assert cause([make_node("a")], pod) == "names the node gone, which does not exist"

    def test_ports(self) -> None:
        port = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
        objects = [make_node("a"), make_pod("first", node="a", spec=port)]
        assert cause(objects, make_pod(spec=port)) == (
            "needs the host port 80, which is taken by default/first"
        )


class TestOtherPods:
    def test_a_spread_constraint(self) -> None:
        constraint = {
            "maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }  # fmt: skip
        spec = {"topologySpreadConstraints": [constraint]}
        objects = [
            make_node("a", labels={ZONE: "x"}),
            make_node("b", labels={ZONE: "y"}, unschedulable=True),
            make_node("c"),
            *(make_pod(f"w{n}", node="a", labels={"app": "web"}) for n in range(2)),
        ]
        pod = make_pod(labels={"app": "web"}, spec=spec)
        found = {nodes[0]: details[-1] for nodes, details in lines(objects, pod)}
        assert found["a"] == (
            f"must be spread over {ZONE} (maxSkew 1): x has 2 of the pods, "
            "and the domain with the fewest has 0"
        )
        assert found["c"] == f"must be spread over {ZONE}, a label that the node does not have"

    @pytest.mark.parametrize(
        ("kind", "text"),
        [
            ("podAffinity", "has affinity to pods with app=db (same {}), and there is no such pod"),
            (
                "podAntiAffinity",
                "has anti-affinity to pods with app=web (same {}), and there is such a pod",
            ),
        ],
    )
    def test_terms(self, kind: str, text: str) -> None:
        app = "db" if kind == "podAffinity" else "web"
        term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": app}}}
        spec = {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
        objects = [
            make_node("a", labels={HOST: "a"}),
            make_pod("first", node="a", labels={"app": "web"}),
        ]
        assert cause(objects, make_pod(spec=spec)).startswith(text.format(HOST))

    def test_another_pod_wants_to_be_apart(self) -> None:
        term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "web"}}}
        anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        objects = [
            make_node("a", labels={HOST: "a"}),
            make_pod("first", node="a", spec={"affinity": anti}),
        ]
        assert cause(objects, make_pod(labels={"app": "web"})) == (
            "is kept away by the anti-affinity of default/first"
        )


class TestVolumes:
    def claim(self, **spec: Any) -> KubeObject:
        from mooring.model.storage import PersistentVolumeClaim

        return PersistentVolumeClaim.from_dict(
            {"metadata": {"name": "data", "namespace": "default"}, "spec": spec}
        )

    def pod(self) -> Pod:
        volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
        return make_pod(spec={"volumes": [volume]})

    def test_a_claim_that_is_not_bound(self) -> None:
        objects = [make_node("a"), self.claim(storageClassName="fast")]
        assert cause(objects, self.pod()) == (
            "uses the claim data (not bound, and its storage class fast does not exist): "
            "pod has unbound immediate PersistentVolumeClaims"
        )

    def test_a_claim_that_does_not_exist(self) -> None:
        assert cause([make_node("a")], self.pod()) == (
            'is rejected by VolumeRestrictions: persistentvolumeclaim "data" not found'
        )


def test_scheduling_gates() -> None:
    pod = make_pod(spec={"schedulingGates": [{"name": "g"}, {"name": "h"}]})
    assert cause([make_node("a")], pod) == "is waiting for the scheduling gates g, h to be removed"


def test_what_preemption_may_resolve_comes_before_what_more_nodes_say() -> None:
    tainted = [make_node(f"t{number}", taints=[TAINT]) for number in range(3)]
    objects = [*tainted, make_node("a", cpu="4"), used("x", "a", cpu="3")]
    found = explain(objects, make_pod(requests={"cpu": "2"})).causes
    assert [(one.plugin, one.nodes) for one in found] == [
        ("NodeResourcesFit", 1),
        ("TaintToleration", 3),
    ]


def test_all_of_a_nodes_objections_count_if_no_plugin_objects_alone() -> None:
    node = make_node("a", cpu="1", unschedulable=True)
    assert cause([node], make_pod(requests={"cpu": "2"})) == (
        "may not use a cordoned node, and it needs 2 cpu, and the whole node has 1"
    )


class Racks(mr.hook.FilterNodes, mr.hook.Details):
    """A plugin of somebody else."""

    name = "Racks"
    answer: object = ""

    def filter_nodes(self, pod: mr.Pod, nodes: mr.Nodes) -> mr.hook.FilterAnswers | None:
        return ["wrong rack"] * len(nodes)

    def details(self, rejected: mr.hook.RejectedNodes) -> str | Sequence[str]:
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer == "each":
            return [f"is in rack {node.name}" for node in rejected.nodes]
        return self.answer  # type: ignore[return-value]


def explained(answer: object) -> Explanation:
    from mooring.explaining.rejection_details import RejectionDetails
    from mooring.framework.decisions.recording import record_decision
    from mooring.framework.extension_points import PluginAtPoint
    from mooring.framework.runtime import Runtime

    plugin = Racks()
    plugin.answer = answer
    cluster = Explainer([make_node("a"), make_node("b")]).cluster
    runtime = Runtime(cluster, lambda: 0)
    runtime.install("x", {"filter": [PluginAtPoint("Racks", plugin)]}, {"Racks": plugin})
    pod = make_pod()
    record = record_decision(runtime, pod)
    details = RejectionDetails(runtime, pod, record)
    groups = tuple(details.groups())
    return Explanation(pod, record, groups=groups, failed=tuple(details.failed))


class TestPluginsOfOthers:
    def test_texts_for_all_and_for_each(self) -> None:
        assert [one.details for one in explained("is in rack 7").groups] == [("is in rack 7",)]
        each = [one.details for one in explained("each").groups]
        assert each == [("is in rack a",), ("is in rack b",)]

    @pytest.mark.parametrize(
        ("answer", "said"),
        [
            (["x"], "it must return a string, or one for each of 2 nodes"),
            (None, "it returned None"),
            ([1, 2], "it returned 1 among its details; they must be strings"),
            (KeyError("rack"), "KeyError: 'rack'"),
        ],
    )
    def test_a_plugin_that_fails_is_named_once(self, answer: object, said: str) -> None:
        found = explained(answer)
        assert [one.details for one in found.groups] == [("",)]
        [error] = found.failed
        assert str(error).startswith("plugin Racks failed in details for pod default/pod: ")
        assert said in str(error)

    def test_plugins_of_a_policy_beside_its_functions(self) -> None:
        policy = mr.Policy("mine")
        plugin = Racks()
        plugin.answer = "each"
        policy.add(plugin)

        @policy.filter
        def colour(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
            return mr.accept_if(node.name == "a", "wrong colour")

        nodes = [make_node("a"), make_node("b")]
        found = Explainer(nodes, policy=policy).explain(make_pod())
        assert found.failed == ()
        assert [one.details for one in found.groups] == [
            ("is in rack a",),
            ("is in rack b, and it is rejected: wrong colour",),
        ]
