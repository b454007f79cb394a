import asyncio
from collections.abc import Iterator

from mooring.config.plugin_entry import extension_points_of
from mooring.framework.binding import Binding
from mooring.framework.cycle import Cycle
from mooring.framework.runtime import Runtime
from mooring.model.pod import Pod
from mooring.plugins.binding.scheduler_timestamp import SchedulerTimestamp, SchedulerTimestampArgs
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import cluster_of, problems


def clock() -> Iterator[int]:
    now = 1_700_000_000_000_000_000
    while True:
        now += 5
        yield now


class Stamped:
    """The plugin with a clock that goes on by five nanoseconds each time it is read."""

    def __init__(self, annotation: str = "scheduler-timestamp") -> None:
        ticks = clock()
        self.cluster = cluster_of(make_node("a"), make_node("b"))
        runtime = Runtime(self.cluster, now_ns=lambda: next(ticks))
        self.plugin = SchedulerTimestamp(SchedulerTimestampArgs(annotation), runtime)

    def decide(self, pod: Pod, *, scores: bool = True) -> None:
        cycle = Cycle(pod, self.cluster)
        if scores:
            self.plugin.pre_score(cycle, cycle.nodes)
        self.plugin.reserve(cycle, self.cluster.nodes["a"])

    def bind(self, pod: Pod) -> dict[str, str] | None:
        binding = Binding(
            namespace=pod.namespace, name=pod.name, uid=pod.uid, node_name="a", pod=pod,
            annotations={"other": "1"},
        )  # fmt: skip
        bound = asyncio.run(self.plugin.pre_bind(binding))
        return None if bound is None else dict(bound.annotations)


def test_where_it_acts() -> None:
    assert extension_points_of(SchedulerTimestamp) == ("preScore", "reserve", "preBind")


def test_the_time_when_nodes_were_compared_is_added_to_the_binding() -> None:
    stamped, one, two = Stamped(), make_pod("one"), make_pod("two")
    stamped.decide(one)
    stamped.decide(two)
    assert stamped.bind(two) == {"other": "1", "scheduler-timestamp": "1700000000000000010"}
    assert stamped.bind(one) == {"other": "1", "scheduler-timestamp": "1700000000000000005"}


def test_a_pod_that_has_the_annotation_keeps_it() -> None:
    stamped = Stamped()
    pod = make_pod(annotations={"scheduler-timestamp": "7"})
    stamped.decide(pod)
    assert stamped.bind(pod) is None


def test_with_one_node_left_the_time_of_the_choice_counts() -> None:
    stamped, pod = Stamped("example.com/started"), make_pod()
    stamped.decide(pod, scores=False)
    assert stamped.bind(pod) == {"other": "1", "example.com/started": "1700000000000000005"}


def test_a_decision_that_is_undone_leaves_nothing() -> None:
    stamped, pod = Stamped(), make_pod()
    stamped.decide(pod)
    cycle = Cycle(pod, stamped.cluster)
    stamped.plugin.unreserve(cycle, stamped.cluster.nodes["a"])
    stamped.plugin.unreserve(cycle, stamped.cluster.nodes["a"])
    assert stamped.bind(pod) is None


def test_wrong_arguments() -> None:
    assert problems(SchedulerTimestamp, annotation="a b") == [
        "args.annotation: 'a b' is not a valid annotation: use for example x.io/started"
    ]
