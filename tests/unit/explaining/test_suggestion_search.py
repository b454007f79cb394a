"""Suggestions: the smallest change comes first, and every claim holds on a cluster built anew."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from mooring.explaining.explainer import Explainer
from mooring.explaining.remedy import RemedyPlan, Suggestion
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.testing import make_node, make_pod

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


def suggest(
    objects: Sequence[KubeObject], pod: Pod, *, node: str = "", config: Any = None
) -> list[Suggestion]:
    """The suggestions for a pod; each is made real on a new cluster to see that it helps."""
    found = list(Explainer(objects, config).explain(pod, node).suggestions)
    for one in found:
        changed, new = carried_out(one.plan, objects, pod)
        record = Explainer(changed, config).record(new)
        assert tuple(record.feasible) == one.nodes
        assert one.plan.node in one.nodes or not node
        assert record.selected
    return found


def carried_out(
    plan: RemedyPlan, objects: Iterable[KubeObject], pod: Pod
) -> tuple[list[KubeObject], Pod]:
    """The objects and the pod after a plan was carried out."""
    things = {(type(one), one.key): one for one in objects}
    for change in plan.remedies:
        if change.pod is not None:
            pod = change.pod(pod)
        elif change.node is not None:
            node = things[Node, plan.node]
            assert isinstance(node, Node)
            things[Node, plan.node] = change.node(node)
        elif change.added is not None:
            things[Node, change.added.name] = change.added
        elif change.created:
            things |= {(type(one), one.key): one for one in change.created}
        else:
            del things[Pod, change.moved]
    return list(things.values()), pod


def texts(found: Iterable[Suggestion]) -> list[str]:
    return [one.plan.text for one in found]


def term(app: str, key: str) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}


def affinity(kind: str, *terms: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}}


class TestResources:
    def test_the_exact_amount_on_the_node_that_lacks_least(self) -> None:
        objects = [
            make_node("a", cpu="4"), make_node("b", cpu="4"),
            make_pod("x", requests={"cpu": "3"}, node="a"),
            make_pod("y", requests={"cpu": "2500m"}, node="b"),
        ]  # fmt: skip
        found = suggest(objects, make_pod(requests={"cpu": "2"}))
        assert texts(found) == [
            "ask for 500m less cpu (1500m instead of 2)",
            "take default/y off b",
            "add one more node like a (4 cpu and 32Gi memory)",
        ]
        assert found[0].nodes == ("b",)
        assert [one.plan.cost for one in found] == [2.0, 4.0, 6.0]

    def test_memory_is_rounded_to_mebibytes(self) -> None:
        [found, *_] = suggest(
            [make_node("a", memory="1000M")], make_pod(requests={"memory": "1Gi"})
        )
        assert found.plan.text == "ask for 71Mi less memory (953Mi instead of 1Gi)"

    def test_several_resources_are_one_change(self) -> None:
        pod = make_pod(requests={"cpu": "4", "memory": "4Gi"})
        [found, *_] = suggest([make_node("a", cpu="2", memory="3Gi")], pod)
        assert found.plan.text == (
            "ask for 2 less cpu (2 instead of 4) and 1Gi less memory (3Gi instead of 4Gi)"
        )

    def test_a_device_no_node_has(self) -> None:
        [found] = suggest([make_node("a")], make_pod(requests={"x.io/gpu": 2}))
        assert found.plan.text == "ask for no x.io/gpu (instead of 2)"

    def test_too_many_pods(self) -> None:
        node = Node.from_dict(
            {"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "4", "pods": "1"}}}
        )
        found = suggest([node, make_pod("x", node="a")], make_pod())
        assert texts(found) == [
            "take default/x off a",
            "add one more node like a (4 cpu and 0 memory)",
        ]

    def test_pods_nominated_to_the_node_count(self) -> None:
        nominated = Pod.from_dict(
            {
                "metadata": {"name": "vip"},
                "spec": {
                    "priority": 10,
                    "containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}],
                },
                "status": {"nominatedNodeName": "a"},
            }
        )
        found = suggest([make_node("a", cpu="4"), nominated], make_pod(requests={"cpu": "2"}))
        assert texts(found)[0] == "ask for 1 less cpu (1 instead of 2)"


class TestNodes:
    def test_a_taint(self) -> None:
        taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
        found = suggest([make_node("a", taints=[taint])], make_pod())
        assert texts(found) == [
            "tolerate the taint dedicated=gpu:NoSchedule",
            "remove the taint dedicated=gpu:NoSchedule from a",
        ]

    def test_a_node_with_a_cheaper_taint_set_comes_first(self) -> None:
        one = {"key": "one", "effect": "NoSchedule"}
        two = {"key": "two", "effect": "NoExecute"}
        found = suggest(
            [make_node("a", taints=[one, two]), make_node("b", taints=[two])], make_pod()
        )
        assert found[0].plan.text == "tolerate the taint two:NoExecute"
        assert found[0].nodes == ("b",)

    def test_a_cordoned_node(self) -> None:
        found = suggest([make_node("a", unschedulable=True)], make_pod())
        assert texts(found) == [
            "uncordon a",
            "tolerate cordoned nodes (node.kubernetes.io/unschedulable:NoSchedule)",
            "add one more node like a (8 cpu and 32Gi memory)",
        ]

    def test_a_node_selector(self) -> None:
        objects = [make_node("a", labels={"disk": "hdd"})]
        found = suggest(objects, make_pod(spec={"nodeSelector": {"disk": "ssd"}}))
        assert texts(found) == ["give up the node selector disk=ssd", "label a with disk=ssd"]

    @pytest.mark.parametrize(
        ("condition", "given_up", "label"),
        [
            ({"operator": "In", "values": ["b", "c"]}, "x in (b, c)", "label a with x=b"),
            ({"operator": "NotIn", "values": ["1"]}, "x not in (1)", "take the label x off a"),
            ({"operator": "DoesNotExist"}, "x does not exist", "take the label x off a"),
            ({"operator": "Gt", "values": ["4"]}, "x > 4", "label a with x=5"),
            ({"operator": "Lt", "values": ["0"]}, "x < 0", "label a with x=-1"),
        ],
        ids=lambda value: value["operator"] if isinstance(value, dict) else "",
    )
    def test_conditions(self, condition: dict[str, Any], given_up: str, label: str) -> None:
        required = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "x", **condition}]}]}
        spec = {
            "affinity": {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
            }
        }
        found = suggest([make_node("a", labels={"x": "1"})], make_pod(spec=spec))
        assert texts(found) == [f"give up the demand {given_up}", label]

    def test_the_term_that_lacks_least_is_relaxed(self) -> None:
        def wants(**labels: str) -> dict[str, Any]:
            return {
                "matchExpressions": [
                    {"key": key, "operator": "In", "values": [value]}
                    for key, value in labels.items()
                ]
            }

        required = {"nodeSelectorTerms": [wants(x="2", y="2"), wants(x="1", z="9")]}
        spec = {
            "affinity": {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
            }
        }
        found = suggest([make_node("a", labels={"x": "1", "y": "1"})], make_pod(spec=spec))
        assert texts(found)[0] == "give up the demand z=9"

    def test_a_node_that_is_named(self) -> None:
        field = {"key": "metadata.name", "operator": "In", "values": ["b"]}
        spec = {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchFields": [field]}]
                    }
                }
            }
        }
        found = suggest([make_node("a")], make_pod(spec=spec))
        assert texts(found) == ["give up the demand metadata.name=b"]

    def test_a_host_port(self) -> None:
        port = {"containers": [{"name": "c", "ports": [{"containerPort": 1, "hostPort": 80}]}]}
        objects = [make_node("a"), make_pod("x", node="a", spec=port)]
        assert texts(suggest(objects, make_pod(spec=port))) == [
            "do without the host port 80",
            "take default/x off a, which has the host port 80",
            "add one more node like a (8 cpu and 32Gi memory)",
        ]

    def test_a_feature_of_the_kubelet(self) -> None:
        spec = {"hostNetwork": True, "hostUsers": False, "containers": [{"name": "c"}]}
        found = suggest([make_node("a")], make_pod(spec=spec))
        assert texts(found) == ["run a kubelet on a that declares UserNamespacesHostNetworkSupport"]

    def test_a_node_the_pod_names(self) -> None:
        pod = make_pod(spec={"nodeName": "elsewhere"})
        assert texts(suggest([make_node("a")], pod)) == [
            "do not name the node elsewhere in the pod"
        ]


class TestRelations:
    def test_a_larger_skew_is_the_smallest_that_works(self) -> None:
        nodes = [
            make_node(name, labels={ZONE: name}, cpu=cpu) for name, cpu in (("a", "8"), ("b", "1"))
        ]
        pods = [make_pod(f"x{n}", labels={"app": "web"}, node="a") for n in range(3)]
        constraint = {
            "maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }  # fmt: skip
        pod = make_pod(
            labels={"app": "web"},
            requests={"cpu": "2"},
            spec={"topologySpreadConstraints": [constraint]},
        )
        found = suggest([*nodes, *pods], pod)
        assert texts(found) == [
            f"raise maxSkew over {ZONE} from 1 to 4",
            f"make the spread over {ZONE} a wish (whenUnsatisfiable: ScheduleAnyway)",
            "ask for 1 less cpu (1 instead of 2)",
        ]

    def test_a_label_for_the_spread_that_is_missing(self) -> None:
        constraint = {
            "maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {},
        }  # fmt: skip
        nodes = [make_node("a"), make_node("b", cpu="1", labels={ZONE: "z"})]
        pod = make_pod(requests={"cpu": "8"}, spec={"topologySpreadConstraints": [constraint]})
        assert f"label a with {ZONE}=z" in texts(suggest(nodes, pod))

    def test_own_anti_affinity(self) -> None:
        objects = [make_node("a"), make_pod("x", labels={"app": "web"}, node="a")]
        found = suggest(objects, make_pod(spec=affinity("podAntiAffinity", term("web", HOST))))
        assert texts(found) == [
            f"give up the anti-affinity to pods with app=web by {HOST}",
            "add one more node like a (8 cpu and 32Gi memory)",
        ]

    def test_own_affinity(self) -> None:
        found = suggest([make_node("a")], make_pod(spec=affinity("podAffinity", term("db", HOST))))
        assert texts(found) == [f"give up the affinity to pods with app=db by {HOST}"]

    def test_pods_that_want_to_be_apart(self) -> None:
        shy = make_pod("shy", node="a", spec=affinity("podAntiAffinity", term("web", HOST)))
        found = suggest([make_node("a"), shy], make_pod(labels={"app": "web"}))
        assert texts(found) == [
            "take default/shy off a, which wants to be apart",
            "add one more node like a (8 cpu and 32Gi memory)",
        ]


class TestVolumes:
    def pod(self, *claims: str) -> Pod:
        volumes = [
            {"name": f"v-{name}", "persistentVolumeClaim": {"claimName": name}} for name in claims
        ]
        return make_pod(spec={"volumes": volumes})

    def test_a_claim_that_is_missing(self) -> None:
        found = suggest([make_node("a")], self.pod("data"))
        assert texts(found) == [
            "create the claim data and bind it to a volume that every node can reach",
            "do without the volume v-data (claim data)",
        ]

    def test_two_claims_that_are_missing(self) -> None:
        found = suggest([make_node("a")], self.pod("x", "y"))
        assert texts(found)[0] == (
            "create the claim x and bind it and create the claim y and bind it "
            "to a volume that every node can reach"
        )


class TestOther:
    def test_gates(self) -> None:
        pod = make_pod(spec={"schedulingGates": [{"name": "one"}, {"name": "two"}]})
        [found] = suggest([make_node("a")], pod)
        assert found.plan.text == "remove the scheduling gates one, two"

    def test_a_scheduler_that_does_not_exist(self) -> None:
        pod = make_pod(spec={"schedulerName": "nobody"})
        [found] = suggest([make_node("a")], pod)
        assert found.plan.text == "use the scheduler default-scheduler"

    def test_two_changes_together(self) -> None:
        node = make_node("a", cpu="2", taints=[{"key": "t", "effect": "NoSchedule"}])
        [found, *_] = suggest([node], make_pod(requests={"cpu": "4"}))
        assert found.plan.text == (
            "tolerate the taint t:NoSchedule and ask for 2 less cpu (2 instead of 4)"
        )
        assert found.plan.cost == 5.0

    def test_four_changes_are_no_suggestion(self) -> None:
        node = make_node(
            "a", cpu="2", unschedulable=True, taints=[{"key": "t", "effect": "NoSchedule"}]
        )
        pod = make_pod(requests={"cpu": "4"}, spec={"nodeSelector": {"x": "1"}})
        assert suggest([node], pod) == []

    def test_one_node_in_question(self) -> None:
        objects = [make_node("a"), make_node("b", unschedulable=True)]
        assert Explainer(objects).explain(make_pod()).suggestions == ()
        assert texts(suggest(objects, make_pod(), node="b"))[0] == "uncordon b"

    def test_a_cluster_without_nodes(self) -> None:
        assert suggest([], make_pod()) == []

    def test_more_of_the_same_is_not_mentioned(self) -> None:
        taints = [{"key": "t", "effect": "NoSchedule"}]
        objects = [make_node("a", cpu="2"), make_node("b", cpu="1", taints=taints)]
        found = suggest(objects, make_pod(requests={"cpu": "4"}))
        assert texts(found) == ["ask for 2 less cpu (2 instead of 4)"]
