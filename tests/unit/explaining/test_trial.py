"""What was changed as a what-if is as it was afterwards, also when something fails."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from mooring.explaining.explainer import Explainer
from mooring.explaining.suggestion import Combination
from mooring.explaining.trial import Trial
from mooring.framework.remedies.remedy import Remedy
from mooring.framework.runtime import Runtime
from mooring.model import changed_copies
from mooring.model.meta import ObjectMeta
from mooring.model.storage import PersistentVolumeClaim
from mooring.testing import make_node, make_pod

NONE: frozenset[str] = frozenset()
A = make_node("a", cpu="4")
WEB = make_pod("web", requests={"cpu": "2"})


def runtime_of(explainer: Explainer) -> Callable[[], Runtime]:
    runtime = explainer.runtime("default-scheduler")
    assert runtime is not None
    return lambda: runtime


def trial() -> Trial:
    claim = PersistentVolumeClaim(metadata=ObjectMeta(name="old", namespace="default"))
    pods = [make_pod("x", requests={"cpu": "3"}, node="a"), make_pod("y", node="b")]
    pods += [make_pod(name, node="a") for name in ("later", "last")]
    explainer = Explainer([A, make_node("b", cpu="2"), *pods, claim])
    return Trial(explainer.cluster, WEB, runtime_of(explainer))


@contextmanager
def unchanged(trial: Trial) -> Iterator[None]:
    def state() -> object:
        cluster = trial.cluster
        columns = cluster.columns
        return (
            columns.names,
            columns.used("cpu").tolist(),
            columns.used("pods").tolist(),
            columns.unschedulable.tolist(),
            [dict(node.labels) for node in columns.nodes],
            sorted(cluster.catalog.all(PersistentVolumeClaim)),
            [[pod.key for pod in cluster.pods_on(row)] for row in range(len(columns))],
            trial.fitting(trial.pod),
        )

    before = state()
    yield
    assert state() == before


NEW_CLAIM = PersistentVolumeClaim(metadata=ObjectMeta(name="new", namespace="default"))
OLD_CLAIM = PersistentVolumeClaim(
    metadata=ObjectMeta(name="old", namespace="default", labels={"changed": "yes"})
)
REMEDIES = {
    "pod": Remedy("", 1, NONE, pod=changed_copies.with_spec(WEB, scheduler_name="other")),
    "node": Remedy("", 1, NONE, node=changed_copies.with_labels(A, {"x": "1"})),
    "moved": Remedy("", 1, NONE, moved="default/x"),
    "added": Remedy("", 1, NONE, added=make_node("c", cpu="8")),
    "created": Remedy("", 1, NONE, created=(NEW_CLAIM,)),
    "replaced": Remedy("", 1, NONE, created=(OLD_CLAIM,)),
    "moved with what it has": Remedy("", 1, NONE, moved="default/y", created=(OLD_CLAIM,)),
    "pod with what it needs": Remedy("", 1, NONE, pod=WEB, created=(NEW_CLAIM,)),
}


@pytest.mark.parametrize("name", REMEDIES)
def test_a_change_is_taken_back(name: str) -> None:
    asked = trial()
    with unchanged(asked), asked.carry_out(Combination("a", (REMEDIES[name],))):
        pass


def test_all_changes_together_are_taken_back_after_a_failure() -> None:
    asked = trial()
    every = Combination("a", tuple(REMEDIES.values()))
    with unchanged(asked), pytest.raises(RuntimeError, match="broken"), asked.carry_out(every):
        raise RuntimeError("broken")


def test_changes_show_while_they_last() -> None:
    asked = trial()
    assert asked.fitting(asked.pod) == ["b"]
    with asked.carry_out(Combination("a", (REMEDIES["moved"],))) as pod:
        assert asked.fitting(pod) == ["a", "b"]
    with asked.carry_out(Combination("c", (REMEDIES["added"],))) as pod:
        assert asked.fitting(pod) == ["b", "c"]
    with asked.carry_out(Combination("a", (REMEDIES["node"],))):
        assert asked.node("a").labels["x"] == "1"


def test_every_plugin_that_objects_is_named() -> None:
    nodes = [
        make_node("a", cpu="1", unschedulable=True, taints=[{"key": "t", "effect": "NoExecute"}])
    ]
    explainer = Explainer(nodes)
    pod = make_pod(requests={"cpu": "2"}, spec={"schedulingGates": [{"name": "g"}]})
    found = Trial(explainer.cluster, pod, runtime_of(explainer)).objections(pod, "a")
    assert [one.plugin for one in found] == [
        "SchedulingGates", "NodeUnschedulable", "TaintToleration", "NodeResourcesFit",
    ]  # fmt: skip
