from typing import Any

import pytest

import mooring as mr
from mooring.errors import InputError
from mooring.explaining.explainer import Explainer, explain
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.pod import Pod
from mooring.testing import make_node, make_pod
from tests.unit.plugins.devices.device_objects import (
    DRIVER,
    allocated,
    claim,
    device,
    device_class,
    published,
)

NODES = [
    {
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": {"cpu": "4", "pods": "9"}},
    }
    for name in ("a", "b")
]


def pod(name: str, **more: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"kind": "Pod", "metadata": {"name": name, "namespace": "shop"}}
    return body | more


class TestThePodThatIsMeant:
    def test_as_parsed_data(self) -> None:
        assert explain(NODES, pod("web")).feasible == ["a", "b"]

    def test_as_a_model_object(self) -> None:
        assert explain(NODES, make_pod("web")).pod == "default/web"

    def test_by_name_among_the_objects(self) -> None:
        assert explain([*NODES, pod("web")], "shop/web").feasible == ["a", "b"]

    def test_without_a_namespace_it_is_in_default(self) -> None:
        assert explain([*NODES, make_pod("web")], "web").pod == "default/web"

    def test_a_name_that_is_not_there(self) -> None:
        with pytest.raises(InputError, match="no pod 'shop/none' among the objects"):
            explain(NODES, "shop/none")

    def test_a_pod_that_is_wrong(self) -> None:
        with pytest.raises(InputError, match="'lots' is not a valid quantity"):
            explain(NODES, make_pod(requests={"cpu": "lots"}))


class TestAPodOnANode:
    placed = pod(
        "web",
        spec={
            "nodeName": "a",
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}],
        },
    )

    def test_is_decided_about_as_if_it_were_not(self) -> None:
        explainer = Explainer([*NODES, self.placed])
        found = explainer.explain("shop/web")
        assert found.bound_to == "a"
        assert found.record.feasible == ["a", "b"]
        assert found.record.scoring is not None
        assert len(set(found.record.scoring.total.tolist())) == 1

    def test_is_on_it_again_afterwards(self) -> None:
        explainer = Explainer([*NODES, self.placed])
        explainer.record("shop/web")
        assert explainer.cluster.columns.used("cpu").tolist() == [3000, 0]
        assert explainer.record(make_pod(requests={"cpu": "2"})).feasible == ["b"]

    def test_is_among_the_other_pods_as_before(self) -> None:
        others = [make_pod(name, node="a") for name in ("x", "y", "z")]
        explainer = Explainer([*NODES, others[0], self.placed, *others[1:]])
        before = explainer.cluster.nodes["a"].pods
        explainer.explain("shop/web", "a")
        assert [one.name for one in explainer.cluster.nodes["a"].pods] == ["x", "web", "y", "z"]
        assert explainer.cluster.nodes["a"].pods == before
        assert explainer.cluster.columns.used("pods").tolist() == [4, 0]

    def test_is_on_it_again_after_a_failure(self) -> None:
        policy = mr.Policy("broken")

        @policy.filter
        def broken(pod: mr.Pod, node: mr.Node) -> bool:
            raise RuntimeError("no")

        explainer = Explainer([*NODES, self.placed], policy=policy)
        with pytest.raises(mr.MooringError, match="no"):
            explainer.record("shop/web")
        assert explainer.cluster.columns.used("cpu").tolist() == [3000, 0]

    def test_can_have_the_devices_of_its_extended_resource_again(self) -> None:
        gpu = "example.com/gpu"
        placed = make_pod("p", node="a", requests={gpu: "1"})
        made = claim("p-extended-resources-x7", status=allocated("a/g0", to=["p"])).raw
        owner = {"kind": "Pod", "name": "p", "uid": placed.uid, "controller": True}
        made["metadata"]["ownerReferences"] = [owner]
        made["metadata"]["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
        gpus, devices = device_class(DRIVER, resource=gpu), published("a", device("g0"))
        explainer = Explainer([*NODES, gpus, devices, placed, ResourceClaim.from_dict(made)])
        assert explainer.record("p").feasible == ["a"]
        assert explainer.record(make_pod("other", requests={gpu: "1"})).feasible == []


def test_pending_pods_count_where_they_are_nominated() -> None:
    vip = pod(
        "vip",
        spec={
            "priority": 5,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "4"}}}],
        },
        status={"nominatedNodeName": "a"},
    )
    web = make_pod("web", requests={"cpu": "1"})
    assert explain(NODES, web, pending=[vip]).feasible == ["b"]
    assert explain([*NODES, vip], web).feasible == ["b"]
    assert explain(NODES, web).feasible == ["a", "b"]
    assert explain(NODES, vip, pending=[vip]).feasible == ["a", "b"]


def test_a_configuration_decides() -> None:
    config = {"profiles": [{"plugins": {"filter": {"disabled": [{"name": "NodeResourcesFit"}]}}}]}
    greedy = make_pod(requests={"cpu": "64"})
    assert explain(NODES, greedy, config).feasible == ["a", "b"]
    assert explain(NODES, greedy).feasible == []


def test_a_configuration_that_is_wrong() -> None:
    config = {"profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": {"x": 1}}]}]}
    with pytest.raises(InputError, match=r"profiles\[0\].pluginConfig\[0\].args"):
        explain(NODES, make_pod(), config)


def test_a_scheduler_name_without_a_profile() -> None:
    record = explain(NODES, make_pod(spec={"schedulerName": 'my "own"'}))
    assert record.to_dict()["error"] == 'no profile for scheduler name "my \\"own\\""'
    assert record.selected == []


def test_a_policy_takes_part_with_kube_schedulers_webhook_scores() -> None:
    policy = mr.Policy("names")

    @policy.filter
    def not_a(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
        return mr.accept_if(node.name != "a", "a is reserved")

    @policy.score
    def fixed(pod: mr.Pod, node: mr.Node) -> float:
        return {"b": 40, "c": 70}[node.name]

    explainer = Explainer([make_node(name) for name in "abc"], policy=policy)
    record = explainer.record(make_pod())
    assert record.feasible == ["b", "c"]
    assert record.to_dict()["score"]["names"]["normalized"] == {"b": 40, "c": 70}
    assert record.to_dict()["filter"]["names"]["a"] == {
        "code": "Unschedulable",
        "reasons": ["a is reserved"],
    }


def test_many_pods_on_one_cluster_do_not_disturb_each_other() -> None:
    explainer = Explainer([make_node("a", cpu="4"), make_node("b", cpu="2")])
    pods: list[Pod] = [make_pod(f"p{n}", requests={"cpu": str(n)}) for n in range(1, 6)]
    first = [explainer.record(one).to_dict() for one in pods]
    for one in reversed(pods):
        explainer.explain(one)
    assert [explainer.record(one).to_dict() for one in pods] == first


def test_a_node_that_is_not_there() -> None:
    with pytest.raises(InputError, match="no node 'z' among the objects"):
        Explainer(NODES).explain(make_pod(), "z")


def test_a_time_limit_begins_anew_with_each_decision() -> None:
    begun: list[int] = []
    policy = mr.Policy("mine")
    asked: list[int] = []

    @policy.filter
    def never(pod: mr.Pod, node: mr.Node) -> str:
        asked.append(len(begun))
        return "never"

    explainer = Explainer([make_node("a")], policy=policy, before=lambda: begun.append(len(begun)))
    assert not explainer.explain(make_pod("web", requests={"cpu": "900"})).record.feasible
    assert len(begun) > 1
    # Between two beginnings the function is asked about each node once, not for the whole search.
    assert all(asked.count(number) <= 1 for number in set(asked))
