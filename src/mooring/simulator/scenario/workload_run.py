"""Playing the workloads of a scenario: pods and objects come in their time.

Pods that no controller creates and no disruption budget selects live as plain values; all others
live in the API (ADR 32).
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgspec

from mooring.embedded.api import WriteOptions
from mooring.embedded.kubelet.kubelet import RUN_SECONDS
from mooring.embedded.resources import NAMESPACES, POD_DISRUPTION_BUDGETS, PODS, Obj
from mooring.embedded.status_errors import StatusError
from mooring.errors import InputError
from mooring.model.pod import Pod
from mooring.model.workloads import PodDisruptionBudget
from mooring.simulator.engine.api_cluster import resource_of
from mooring.simulator.engine.simulation import Simulation
from mooring.simulator.random_source import Streams
from mooring.simulator.scenario.arrivals import arrival_times, draw_duration
from mooring.simulator.scenario.csv_trace import TracePod
from mooring.simulator.scenario.objects import bare_pod, pod_template, workload_object
from mooring.simulator.scenario.schema import PodForm, WorkloadForm
from mooring.typed_yaml import FieldMistake, Path

#: To see what the API makes of what people write; a field that does not exist is a mistake.
_DRY_RUN = WriteOptions(dry_run=True, validation="Strict")


class WorkloadRun:
    """One workload while it is played.

    Args:
        simulation: where.
        workload: what.
        streams: where numbers are drawn from.
        path: where it is in the scenario.
        trace: the pods of its CSV file, if it has one.

    Raises:
        FieldMistake: the API rejects its objects.
    """

    def __init__(
        self,
        simulation: Simulation,
        workload: WorkloadForm,
        streams: Streams,
        path: Path,
        trace: list[TracePod] | None = None,
    ) -> None:
        self._simulation = simulation
        self.workload = workload
        self._pod = workload.pod
        self._trace = trace
        self._number = 0
        self._templates: dict[tuple[tuple[str, str], ...], tuple[Pod, Obj]] = {}
        self._names: list[str] = []
        self._draw = draw_duration(workload, streams(f"durations/{workload.name}"))
        self._times = arrival_times(workload, streams(f"arrivals/{workload.name}"))
        try:
            self._make_namespace()
        except StatusError as error:
            raise FieldMistake([*path, "namespace"], str(error)) from error
        try:
            self._check()
        except StatusError as error:
            raise FieldMistake([*path, "pod"], str(error)) from error
        if trace:
            self._check_resources(trace[0], [*path, "arrival", "csv"])
        self._light = True

    def start(self, later: Sequence[Obj] = ()) -> None:
        """Have the first pod or object come in its time.

        Args:
            later: the objects that events create; budgets among them protect pods from the start.
        """
        self._light = not self._selected_by_budget(later)
        if self.workload.kind == "Pod":
            if self._trace is not None:
                self._next_of_trace(iter(self._trace))
            else:
                self._next(self._times, self._pod_comes)
            return
        if self._draw is not None and not isinstance(self.workload.duration, str):
            self._simulation.draw_durations(self.workload.name, self._draw)
        self._next(self._times, self._object_comes)

    # -- what events do

    def change_pods(self, pod: PodForm) -> str:
        """Have pods be like this from now on; why that is not possible, empty if it is."""
        before, self._pod = self._pod, pod
        self._templates.clear()
        problem = self._simulation.try_to(partial(self._template, ()))
        if problem:
            self._pod = before
            self._templates.clear()
        if problem or self.workload.kind == "Pod":
            return problem
        template = self._object("-")["spec"]["template"]
        return self._change_objects(lambda obj: obj["spec"].update(template=template))

    def change_priority(self, name: str) -> str:
        """Give pods another PriorityClass from now on."""
        return self.change_pods(msgspec.structs.replace(self._pod, priority_class_name=name))

    def scale(self, replicas: int) -> str:
        """Have another number of replicas."""
        return self._change_objects(lambda obj: obj["spec"].update(replicas=replicas))

    def _change_objects(self, change: Callable[[Obj], None]) -> str:
        api = self._simulation.cluster.api
        resource = resource_of(self._object("-"))
        assert resource is not None  # noqa: S101 - its kind is one of a few
        for name in self._names:
            item = api.store.get(resource, self.workload.namespace, name)
            if item is None:
                continue
            obj = item.obj
            change(obj)
            space = self.workload.namespace
            problem = self._simulation.try_to(partial(api.update, resource, obj, space, name))
            if problem:
                return problem
        return ""

    # -- arrivals

    def _next(self, times: Iterator[float], comes: Callable[[], None]) -> None:
        time = next(times, None)
        if time is not None:
            self._simulation.heap.at(time, partial(self._arrive, times, comes))

    def _arrive(self, times: Iterator[float], comes: Callable[[], None]) -> None:
        comes()
        self._next(times, comes)

    def _next_of_trace(self, pods: Iterator[TracePod]) -> None:
        one = next(pods, None)
        if one is not None:
            self._simulation.heap.at(one.arrival, partial(self._traced, pods, one))

    def _traced(self, pods: Iterator[TracePod], one: TracePod) -> None:
        duration = one.duration
        if duration is None and self._draw is not None:
            duration = self._draw()
        self._create_pod(one.requests, duration)
        self._next_of_trace(pods)

    def _pod_comes(self) -> None:
        self._create_pod((), self._draw() if self._draw is not None else None)

    def _create_pod(self, requests: tuple[tuple[str, str], ...], duration: float | None) -> None:
        simulation, workload = self._simulation, self.workload
        self._number += 1
        name = f"{workload.name}-{self._number}"
        try:
            template, obj = self._template(requests)
        except StatusError as error:
            simulation.recorder.note_event(simulation.heap.now, "rejected", str(error))
            return
        if self._light:
            uid = simulation.cluster.ids.new_id()
            simulation.pods.light.create(template, name, uid, workload.name, duration)
            return
        pod = bare_pod(workload, obj, name)
        if duration is not None:
            annotations = {**pod["metadata"]["annotations"], RUN_SECONDS: repr(duration)}
            pod["metadata"]["annotations"] = annotations
        api = simulation.cluster.api
        problem = simulation.try_to(partial(api.create, PODS, pod, workload.namespace))
        if problem:
            simulation.recorder.note_event(simulation.heap.now, "rejected", problem)

    def _object_comes(self) -> None:
        simulation = self._simulation
        self._number += 1
        one = self.workload.count is None
        name = self.workload.name if one else f"{self.workload.name}-{self._number}"
        obj = self._object(name)
        resource = resource_of(obj)
        assert resource is not None  # noqa: S101 - its kind is one of a few
        create = partial(simulation.cluster.api.create, resource, obj, self.workload.namespace)
        problem = simulation.try_to(create)
        if problem:
            simulation.recorder.note_event(simulation.heap.now, "rejected", problem)
        else:
            self._names.append(name)

    # -- objects

    def _object(self, name: str) -> Obj:
        fixed = isinstance(self.workload.duration, str) and self._draw is not None
        seconds = self._draw() if fixed and self._draw is not None else None
        return workload_object(self.workload, self._pod, name, seconds)

    def _template(self, requests: tuple[tuple[str, str], ...]) -> tuple[Pod, Obj]:
        """A pod as the API stores it, and what it is made of."""
        found = self._templates.get(requests)
        if found is None:
            obj = pod_template(self.workload, self._pod, dict(requests))
            pod = bare_pod(self.workload, obj, f"{self.workload.name}-1")
            api, space = self._simulation.cluster.api, self.workload.namespace
            source = msgspec.json.decode(msgspec.json.encode(pod))
            stored = api.create(PODS, source, space, _DRY_RUN)
            found = (Pod.from_json(stored.body, keep_source=False), obj)
            self._templates[requests] = found
        return found

    def _check(self) -> None:
        """See what the API says of the workload's objects.

        Raises:
            StatusError: it rejects one.
        """
        self._template(())
        if self.workload.kind != "Pod":
            obj = self._object(self.workload.name)
            resource = resource_of(obj)
            assert resource is not None  # noqa: S101 - its kind is one of a few
            api = self._simulation.cluster.api
            api.create(resource, obj, self.workload.namespace, _DRY_RUN)

    def _check_resources(self, pod: TracePod, path: Path) -> None:
        """See that the API knows what a trace's pods request; how much was checked before."""
        try:
            self._template(tuple((name, "0") for name, _ in pod.requests))
        except StatusError as error:
            raise FieldMistake(path, str(error)) from error

    def _make_namespace(self) -> None:
        api, name = self._simulation.cluster.api, self.workload.namespace
        if api.store.get(NAMESPACES, "", name) is None:
            metadata = {"name": name}
            api.create(NAMESPACES, {"kind": "Namespace", "apiVersion": "v1", "metadata": metadata})

    def _selected_by_budget(self, later: Sequence[Obj]) -> bool:
        pod = self._template(())[0]
        store = self._simulation.cluster.api.store
        objects = [item.obj for item in store.all(POD_DISRUPTION_BUDGETS)]
        objects += [one for one in later if resource_of(one) is POD_DISRUPTION_BUDGETS]
        return any(_selects(obj, pod) for obj in objects)


def _selects(obj: Obj, pod: Pod) -> bool:
    try:
        budget = PodDisruptionBudget.from_dict(obj)
    except InputError:
        return False  # the event that creates it will say so
    selector = budget.spec.selector
    return (
        budget.namespace == pod.namespace and selector is not None and selector.matches(pod.labels)
    )
