"""What must hold in a scenario beyond the types of its fields. Called by `reader`."""

import math
from collections.abc import Iterable

from mooring.simulator.scenario import values
from mooring.simulator.scenario.schema import (
    MOST_EVENTS,
    MOST_FILES,
    MOST_GROUPS,
    MOST_NODES,
    MOST_PODS,
    MOST_WORKLOADS,
    MOST_ZONES,
    Arrival,
    DrawnDuration,
    NodeGroup,
    NodeSelection,
    PodForm,
    Scenario,
    ScenarioEvent,
    WorkloadForm,
)
from mooring.typed_yaml import FieldMistake, Path

_SCALED = ("Deployment", "ReplicaSet", "StatefulSet")
#: Looking more often would take for ever, and no autoscaler does.
_SHORTEST_SCAN = 1.0
#: Fields of a workload that other kinds have no use for.
_MEANT_FOR = {
    "replicas": ("Deployment", "ReplicaSet", "StatefulSet", "Job"),
    "parallelism": ("Job",),
    "spec": ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"),
}
#: Fields of an object's spec that a workload says in its own words.
_SAID_OTHERWISE = {
    "replicas": "replicas", "completions": "replicas", "parallelism": "parallelism",
    "template": "pod",
}  # fmt: skip
_KINDS_OF_EVENTS = tuple(name for name in ScenarioEvent.__struct_fields__ if name != "at")


def check(scenario: Scenario) -> None:
    """See that a scenario makes sense.

    Raises:
        FieldMistake: something does not.
    """
    cluster = scenario.cluster
    if not cluster.snapshot and not cluster.nodes and not cluster.node_groups:
        expected = "expected nodeGroups, nodes or a snapshot"
        raise FieldMistake(["cluster"], f"there are no nodes; {expected}")
    if scenario.until:
        values.seconds(scenario.until, ["until"])
    _check_count(scenario.workloads, MOST_WORKLOADS, ["workloads"])
    _check_count(scenario.manifests, MOST_FILES, ["manifests"])
    _check_count(scenario.events, MOST_EVENTS, ["events"])
    _check_groups(cluster.node_groups)
    seen: set[str] = set()
    total = 0.0
    for number, workload in enumerate(scenario.workloads):
        path: Path = ["workloads", number]
        if workload.name in seen:
            raise FieldMistake([*path, "name"], f"there is another workload named {workload.name}")
        seen.add(workload.name)
        _check_workload(workload, path)
        total += _expected_pods(workload)
        if total > MOST_PODS:
            raise FieldMistake(path, f"that makes more than {MOST_PODS} pods in all")
    for number, event in enumerate(scenario.events):
        _check_event(event, scenario, ["events", number])
    _check_autoscaler(scenario)
    for name in scenario.latencies.__struct_fields__:
        field = "".join(p.title() if i else p for i, p in enumerate(name.split("_")))
        values.seconds(getattr(scenario.latencies, name), ["latencies", field])


def _check_count(things: Iterable[object], most: int, path: Path) -> None:
    values.in_range(len(list(things)), 0, most, path)


def _check_groups(groups: list[NodeGroup]) -> None:
    _check_count(groups, MOST_GROUPS, ["cluster", "nodeGroups"])
    seen: set[str] = set()
    total = 0
    for number, group in enumerate(groups):
        path: list[str | int] = ["cluster", "nodeGroups", number]
        values.name(group.name, [*path, "name"])
        if group.name in seen:
            raise FieldMistake([*path, "name"], f"there is another node group named {group.name}")
        seen.add(group.name)
        values.in_range(group.count, 0, MOST_NODES, [*path, "count"])
        total += group.count
        for field in ("cpu", "memory", "pods", "storage"):
            values.amount(getattr(group, field), [*path, field])
        for name, one in group.resources.items():
            values.amount(one, [*path, "resources", name])
        _check_count(group.zones, MOST_ZONES, [*path, "zones"])
        values.in_range(group.price_per_hour, 0, 1e9, [*path, "pricePerHour"])
        scaling = group.autoscaling
        if scaling is not None:
            values.in_range(scaling.max, 0, MOST_NODES, [*path, "autoscaling", "max"])
            values.in_range(scaling.min, 0, scaling.max, [*path, "autoscaling", "min"])
            values.seconds(scaling.startup, [*path, "autoscaling", "startup"])
    values.in_range(total, 0, MOST_NODES, ["cluster", "nodeGroups"])


def _check_pod(pod: PodForm, path: Path) -> None:
    for field in ("cpu", "memory"):
        values.amount(getattr(pod, field), [*path, field])
    for name, one in pod.resources.items():
        values.amount(one, [*path, "resources", name])


def _check_workload(workload: WorkloadForm, path: Path) -> None:
    values.name(workload.name, [*path, "name"])
    values.name(workload.namespace, [*path, "namespace"])
    if workload.count is not None:
        values.in_range(workload.count, 0, MOST_PODS, [*path, "count"])
    _check_fields_of_kind(workload, path)
    values.in_range(workload.replicas, 0, MOST_PODS, [*path, "replicas"])
    if workload.parallelism is not None:
        values.in_range(workload.parallelism, 1, MOST_PODS, [*path, "parallelism"])
    _check_pod(workload.pod, [*path, "pod"])
    _check_arrival(workload, workload.arrival, [*path, "arrival"])
    duration = workload.duration
    if isinstance(duration, DrawnDuration):
        _check_drawn(duration, [*path, "duration"])
    elif duration:
        values.seconds(duration, [*path, "duration"])
    if workload.kind == "Job" and not duration:
        raise FieldMistake(path, "a Job needs a duration, or its pods run for ever")


def _check_fields_of_kind(workload: WorkloadForm, path: Path) -> None:
    """See that nothing is given that would have no effect."""
    usual = WorkloadForm(name="usual")
    for field, kinds in _MEANT_FOR.items():
        if getattr(workload, field) != getattr(usual, field) and workload.kind not in kinds:
            count = "; expected count" if field == "replicas" and workload.kind == "Pod" else ""
            raise FieldMistake(
                [*path, field], f"it has no effect on the kind {workload.kind}{count}"
            )
    for field, own in _SAID_OTHERWISE.items():
        if field in workload.spec:
            raise FieldMistake([*path, "spec", field], f"expected the field {own} of the workload")


def _check_arrival(workload: WorkloadForm, arrival: Arrival, path: Path) -> None:
    values.seconds(arrival.at, [*path, "at"])
    ways = [one for one in ("every", "poisson", "csv") if getattr(arrival, one)]
    if len(ways) > 1:
        raise FieldMistake(path, f"{' and '.join(ways)} are given; expected one of them")
    if arrival.until:
        values.seconds(arrival.until, [*path, "until"])
    if arrival.every and not values.seconds(arrival.every, [*path, "every"]):
        raise FieldMistake([*path, "every"], "expected a duration above 0s")
    if arrival.poisson:
        values.rate(arrival.poisson, [*path, "poisson"])
    if (arrival.every or arrival.poisson) and workload.count is None and not arrival.until:
        raise FieldMistake(path, "it never ends; expected a count, or until in the arrival")
    if arrival.until and not arrival.every and not arrival.poisson:
        raise FieldMistake([*path, "until"], "it ends nothing; expected every or poisson, too")
    if arrival.csv is not None and (
        workload.count is not None or arrival != Arrival(csv=arrival.csv)
    ):
        raise FieldMistake([*path, "csv"], "the file says when and how many; expected csv alone")
    if arrival.csv is not None and workload.kind != "Pod":
        raise FieldMistake(
            [*path, "csv"], f"a CSV file has pods; expected kind Pod, not {workload.kind}"
        )


def _expected_pods(workload: WorkloadForm) -> float:
    """How many pods a workload makes, on average if they come at random; without CSV files."""
    arrival = workload.arrival
    objects = math.inf if workload.count is None else float(workload.count)
    if not arrival.every and not arrival.poisson:
        objects = min(objects, 1.0) if workload.count is None else objects
    elif arrival.until:
        length = max(values.seconds(arrival.until, ()) - values.seconds(arrival.at, ()), 0.0)
        step = values.seconds(arrival.every, ()) if arrival.every else 0.0
        often = 1 / step if step else values.rate(arrival.poisson, ())
        objects = min(objects, length * often + 1)
    return objects * (1 if workload.kind in ("Pod", "DaemonSet") else workload.replicas)


def _check_drawn(duration: DrawnDuration, path: Path) -> None:
    ways = [one for one in ("exponential", "uniform", "lognormal") if getattr(duration, one)]
    if len(ways) != 1:
        raise FieldMistake(path, "expected exactly one of exponential, uniform and lognormal")
    if duration.exponential:
        values.seconds(duration.exponential, [*path, "exponential"])
    if duration.uniform is not None:
        low, high = (
            values.seconds(one, [*path, "uniform", number])
            for number, one in enumerate(duration.uniform)
        )
        if low > high:
            raise FieldMistake(
                [*path, "uniform"], "the first duration is longer than the second one"
            )
    if duration.lognormal is not None:
        if not values.seconds(duration.lognormal.median, [*path, "lognormal", "median"]):
            raise FieldMistake([*path, "lognormal", "median"], "expected a duration above 0s")
        values.in_range(duration.lognormal.sigma, 0, 10, [*path, "lognormal", "sigma"])


def _check_event(event: ScenarioEvent, scenario: Scenario, path: Path) -> None:
    values.seconds(event.at, [*path, "at"])
    given = [one for one in _KINDS_OF_EVENTS if getattr(event, one) is not None]
    if len(given) != 1:
        kinds = ", ".join(_KINDS_OF_EVENTS)
        raise FieldMistake(path, f"expected exactly one of {kinds} beside at")
    what = getattr(event, given[0])
    path = [*path, given[0]]
    groups = {one.name: one for one in scenario.cluster.node_groups}
    if isinstance(what, NodeSelection):
        if not (what.node or what.zone or what.group or what.labels or what.count is not None):
            raise FieldMistake(path, "no nodes are selected; expected node, zone, group or labels")
        if what.count is not None:
            values.in_range(what.count, 1, MOST_NODES, [*path, "count"])
        if what.group and what.group not in groups:
            raise FieldMistake([*path, "group"], f"there is no node group named {what.group}")
    if event.add is not None:
        if event.add.group not in groups:
            raise FieldMistake([*path, "group"], f"there is no node group named {event.add.group}")
        values.in_range(event.add.count, 1, MOST_NODES, [*path, "count"])
    workloads = {one.name: one for one in scenario.workloads}
    named = getattr(what, "workload", None)
    if named is not None and named not in workloads:
        raise FieldMistake([*path, "workload"], f"there is no workload named {named}")
    if event.scale is not None:
        values.in_range(event.scale.replicas, 0, MOST_PODS, [*path, "replicas"])
        if workloads[event.scale.workload].kind not in _SCALED:
            raise FieldMistake([*path, "workload"], f"expected one of kind {', '.join(_SCALED)}")
    if event.update is not None:
        _check_pod(event.update.pod, [*path, "pod"])
    changed = event.update or event.priority
    if changed is not None and workloads[changed.workload].kind in ("Job", "ReplicaSet"):
        kind = workloads[changed.workload].kind
        raise FieldMistake([*path, "workload"], f"the pods of a {kind} cannot be changed")


def _check_autoscaler(scenario: Scenario) -> None:
    form = scenario.autoscaler
    scaled = [one for one in scenario.cluster.node_groups if one.autoscaling is not None]
    if form is None:
        if scaled:
            raise FieldMistake(
                [], f"node group {scaled[0].name} has autoscaling; expected autoscaler"
            )
        return
    if not scaled:
        raise FieldMistake(["autoscaler"], "no node group has autoscaling; expected one that does")
    if values.seconds(form.scan_interval, ["autoscaler", "scanInterval"]) < _SHORTEST_SCAN:
        raise FieldMistake(["autoscaler", "scanInterval"], "expected a duration of at least 1s")
    values.seconds(form.scale_down_unneeded_time, ["autoscaler", "scaleDownUnneededTime"])
    values.seconds(form.scale_down_delay_after_add, ["autoscaler", "scaleDownDelayAfterAdd"])
    threshold: Path = ["autoscaler", "scaleDownUtilizationThreshold"]
    values.in_range(form.scale_down_utilization_threshold, 0, 1, threshold)
