"""Playing the events of a scenario: drains, failures, new nodes, updates."""

from collections.abc import Callable, Mapping
from functools import partial

from mooring.embedded.api import WriteOptions
from mooring.embedded.resources import NODES, Obj
from mooring.embedded.status_errors import StatusError
from mooring.simulator.engine.recorder import ZONE
from mooring.simulator.engine.simulation import Simulation
from mooring.simulator.scenario import values
from mooring.simulator.scenario.scalable_node_groups import ScalableNodeGroups
from mooring.simulator.scenario.schema import (
    AddNodes,
    NodeSelection,
    PriorityEvent,
    ScaleEvent,
    ScenarioEvent,
    TaintEvent,
    UpdateEvent,
)
from mooring.simulator.scenario.whole_objects import whole_object
from mooring.simulator.scenario.workload_run import WorkloadRun
from mooring.typed_yaml import FieldMistake, Path
from mooring.wording import counted, natural_key


class EventRun:
    """Plays events.

    Args:
        simulation: where.
        groups: the node groups.
        workloads: by name.
    """

    def __init__(
        self,
        simulation: Simulation,
        groups: ScalableNodeGroups,
        workloads: Mapping[str, WorkloadRun],
    ) -> None:
        self._simulation = simulation
        self._groups = groups
        self._workloads = workloads

    def plan(self, event: ScenarioEvent, path: Path) -> None:
        """Have an event happen in its time.

        Raises:
            FieldMistake: it cannot.
        """
        kind = next(
            one
            for one in ScenarioEvent.__struct_fields__
            if one != "at" and getattr(event, one) is not None
        )
        if event.taint is not None:
            self._check_taint(event.taint, [*path, kind])
        if event.apply is not None:
            whole_object(event.apply, [*path, kind])
        time = values.seconds(event.at, ())
        self._simulation.heap.at(time, partial(self._happen, kind, event))

    def _check_taint(self, event: TaintEvent, path: Path) -> None:
        spec = {"taints": [_taint_of(event)]}
        node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "any"}, "spec": spec}
        api = self._simulation.cluster.api
        try:
            api.create(NODES, node, "", WriteOptions(dry_run=True))
        except StatusError as error:
            raise FieldMistake(path, str(error)) from error

    def _happen(self, kind: str, event: ScenarioEvent) -> None:
        what = getattr(event, kind)
        if isinstance(what, NodeSelection):
            names = self._select(what)
            act = getattr(self, f"_{kind}")
            for name in names:
                act(name, what)
            message = f"{counted(len(names), 'node')}: {_some(names)}" if names else "no nodes"
        else:
            message = getattr(self, f"_{kind}")(what)
        self._simulation.recorder.note_event(self._simulation.heap.now, kind, message)

    # -- nodes

    def _cordon(self, name: str, _: NodeSelection) -> None:
        cluster = self._simulation.cluster
        cluster.change_node(name, lambda obj: obj["spec"].update(unschedulable=True))

    def _uncordon(self, name: str, _: NodeSelection) -> None:
        cluster = self._simulation.cluster
        cluster.change_node(name, lambda obj: obj["spec"].pop("unschedulable", None))

    def _drain(self, name: str, selection: NodeSelection) -> None:
        self._cordon(name, selection)
        self._simulation.evictions.drain(name)

    def _fail(self, name: str, _: NodeSelection) -> None:
        self._simulation.failures.fail(name)

    def _recover(self, name: str, _: NodeSelection) -> None:
        self._simulation.failures.recover(name)

    def _remove(self, name: str, _: NodeSelection) -> None:
        self._simulation.remove_node(name)

    def _taint(self, name: str, event: NodeSelection) -> None:
        assert isinstance(event, TaintEvent)  # noqa: S101 - the schema says so
        self._change_taints(name, event, lambda others: [*others, _taint_of(event)])

    def _untaint(self, name: str, event: NodeSelection) -> None:
        assert isinstance(event, TaintEvent)  # noqa: S101 - the schema says so
        self._change_taints(name, event, lambda others: others)

    def _change_taints(
        self, name: str, event: TaintEvent, make: Callable[[list[Obj]], list[Obj]]
    ) -> None:
        def change(obj: Obj) -> None:
            others = [
                one
                for one in obj["spec"].get("taints") or ()
                if (one["key"], one["effect"]) != (event.key, event.effect)
            ]
            obj["spec"]["taints"] = make(others)

        self._simulation.cluster.change_node(name, change)

    def _add(self, event: AddNodes) -> str:
        try:
            names = self._groups.add(event.group, event.count)
        except StatusError as error:
            return str(error)
        return f"{counted(len(names), 'node')}: {_some(names)}"

    def _select(self, selection: NodeSelection) -> list[str]:
        found = []
        for name, node in self._simulation.state.nodes.items():
            fits = not selection.node or name == selection.node
            fits = fits and (not selection.zone or node.labels.get(ZONE) == selection.zone)
            fits = fits and (not selection.group or self._groups.of(name) == selection.group)
            if fits and all(node.labels.get(k) == v for k, v in selection.labels.items()):
                found.append(name)
        return sorted(found, key=natural_key)[: selection.count]

    # -- workloads

    def _scale(self, event: ScaleEvent) -> str:
        run = self._workloads[event.workload]
        replicas = event.replicas
        problem = run.scale(replicas)
        return problem or f"{run.workload.name} to {counted(replicas, 'replica')}"

    def _update(self, event: UpdateEvent) -> str:
        run = self._workloads[event.workload]
        return run.change_pods(event.pod) or run.workload.name

    def _priority(self, event: PriorityEvent) -> str:
        run = self._workloads[event.workload]
        name = event.priority_class_name
        return run.change_priority(name) or f"{run.workload.name} to {name}"

    def _apply(self, obj: Obj) -> str:
        api = self._simulation.cluster.api
        _, resource, space, name = whole_object(obj, ())
        if api.store.get(resource, space, name) is None:
            act = partial(api.create, resource, dict(obj), space)
        else:
            act = partial(api.update, resource, dict(obj), space, name)
        return self._simulation.try_to(act) or f"{resource.kind} {name}"


def _taint_of(event: TaintEvent) -> Obj:
    return {"key": event.key, "value": event.value, "effect": event.effect}


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
