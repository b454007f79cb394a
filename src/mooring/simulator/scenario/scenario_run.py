"""A scenario as a simulation that is ready to run; `moor simulate` and others call it.

Everything a scenario refers to is read here, through a function of the caller, and everything the
API would reject is found here: before any virtual time passes.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from mooring import yaml_text
from mooring.embedded.api import WriteOptions
from mooring.embedded.resources import RESOURCES, Obj
from mooring.embedded.status_errors import StatusError
from mooring.errors import InputError
from mooring.model.meta import KubeObject
from mooring.simulator.engine.scheduler_shell import Latencies
from mooring.simulator.engine.simulation import GoOn, Simulation
from mooring.simulator.random_source import Streams
from mooring.simulator.result import SimulationResult
from mooring.simulator.scenario import values
from mooring.simulator.scenario.autoscaler import Autoscaler
from mooring.simulator.scenario.csv_trace import TracePod, read_trace
from mooring.simulator.scenario.event_run import EventRun
from mooring.simulator.scenario.reader import ReadScenario
from mooring.simulator.scenario.scalable_node_groups import ScalableNodeGroups
from mooring.simulator.scenario.scenario_error import ScenarioError, located
from mooring.simulator.scenario.schema import Scenario, WorkloadForm
from mooring.simulator.scenario.whole_objects import items_of, whole_object
from mooring.simulator.scenario.workload_run import WorkloadRun
from mooring.simulator.scheduler_setup import SchedulerSetup
from mooring.typed_yaml import FieldMistake, Path, field_name

#: The content of a file that a scenario names, by what it says.
ReadFile = Callable[[str], bytes]
#: The objects of a snapshot file that a scenario names.
ReadSnapshot = Callable[[str], Iterable[KubeObject]]
#: The manifests of the nodes in a file that a scenario names.
ReadNodes = Callable[[str], Iterable[Obj]]
_CONFLICT: Final = 409
#: What people write: a field that does not exist is a mistake.
_STRICT: Final = WriteOptions(validation="Strict")


class ScenarioFiles:
    """How a scenario's files are read.

    Args:
        file: reads a file.
        snapshot: reads a snapshot.
        nodes: reads a file with nodes.
    """

    def __init__(self, file: ReadFile, snapshot: ReadSnapshot, nodes: ReadNodes) -> None:
        self.file = file
        self.snapshot = snapshot
        self.nodes = nodes


class ScenarioRun:
    """A scenario that is being played.

    Args:
        read: the scenario.
        setup: the scheduler.
        streams: where numbers are drawn from.
        sources: how its files are read.

    Attributes:
        simulation: what it is played on.

    Raises:
        ScenarioError: the API rejects something in it, or a file is wrong.
        InputError: a file cannot be read, or a plugin cannot be made.
    """

    def __init__(
        self, read: ReadScenario, setup: SchedulerSetup, streams: Streams, sources: ScenarioFiles
    ) -> None:
        scenario = self._scenario = read.scenario
        self._setup = setup
        self.simulation = Simulation(setup, streams, _latencies(scenario))
        try:
            self._fill(scenario, streams, sources)
        except FieldMistake as problem:
            raise located(read.document, problem) from None

    def run(self, until: float | None = None, go_on: GoOn = lambda _: True) -> bool:
        """Let time pass; whether it came to its end.

        Args:
            until: the virtual time to end at; None for what the scenario says.
            go_on: asked now and then with the virtual time.
        """
        if until is None and self._scenario.until:
            until = values.seconds(self._scenario.until, ())
        return self.simulation.run(until, go_on)

    def result(self, name: str, seed: int, *, interrupted: bool = False) -> SimulationResult:
        """What came of it so far.

        Args:
            name: of the scenario, if it has none itself.
            seed: what `streams` were made of.
            interrupted: whether it was broken off.
        """
        found = self.simulation.result()
        return msgspec.structs.replace(
            found,
            scenario=self._scenario.name or name,
            configuration=self._setup.name,
            seed=seed,
            interrupted=interrupted,
        )

    # -- filling

    def _fill(self, scenario: Scenario, streams: Streams, sources: ScenarioFiles) -> None:
        simulation = self.simulation
        path: list[str | int]
        if scenario.cluster.snapshot:
            with _named_at(["cluster", "snapshot"]):
                objects = sources.snapshot(scenario.cluster.snapshot)
            self._load_snapshot(objects)
        if scenario.cluster.nodes:
            with _named_at(["cluster", "nodes"]):
                nodes = list(sources.nodes(scenario.cluster.nodes))
            self._load_nodes(nodes)
        for number, obj in enumerate(scenario.cluster.objects):
            self._create(obj, ["cluster", "objects", number])
        groups = ScalableNodeGroups(simulation, scenario.cluster.node_groups)
        for number, group in enumerate(scenario.cluster.node_groups):
            scaling = group.autoscaling
            count = max(group.count, scaling.min) if scaling is not None else group.count
            try:
                groups.add(group.name, count)
                groups.check(group.name)
            except StatusError as error:
                raise FieldMistake(["cluster", "nodeGroups", number], str(error)) from error
        runs = {}
        for number, workload in enumerate(scenario.workloads):
            path = ["workloads", number]
            trace = _trace(workload, sources, path)
            runs[workload.name] = WorkloadRun(simulation, workload, streams, path, trace)
        for number, file in enumerate(scenario.manifests):
            path = ["manifests", number]
            with _named_at(path):
                data = sources.file(file)
            self._load_manifests(file, data, path)
        later = [one.apply for one in scenario.events if one.apply is not None]
        for run in runs.values():
            run.start(later)
        events = EventRun(simulation, groups, runs)
        for number, event in enumerate(scenario.events):
            events.plan(event, ["events", number])
        if scenario.autoscaler is not None:
            numbers = streams("autoscaler")
            form = scenario.autoscaler
            Autoscaler(simulation, self._setup, groups, form, numbers).start()

    def _load_nodes(self, nodes: Iterable[Obj]) -> None:
        for obj in nodes:
            try:
                self.simulation.add_node(obj)
            except StatusError as error:
                raise FieldMistake(["cluster", "nodes"], str(error)) from error

    def _load_manifests(self, file: str, data: bytes, path: Path) -> None:
        try:
            text = data.decode("utf-8-sig")
            found = [yaml_text.parse(one, line) for line, one in yaml_text.documents(text)]
        except (UnicodeDecodeError, yaml_text.YamlProblem) as error:
            raise FieldMistake(path, f"{file} is not valid YAML: {error}") from error
        for obj in itertools.chain.from_iterable(map(items_of, found)):
            if obj is None:
                continue  # a document with comments only
            try:
                self._create(obj, ())
            except FieldMistake as problem:
                field = field_name(problem.path)
                where = f"{file}: {field}" if field else file
                raise FieldMistake(path, f"{where}: {problem.message}") from problem

    def _create(self, obj: Obj, path: Path) -> None:
        one = whole_object(obj, path)
        try:
            self.simulation.cluster.api.create(one.resource, dict(obj), one.namespace, _STRICT)
        except StatusError as error:
            raise FieldMistake(path, str(error)) from error

    def _load_snapshot(self, things: Iterable[KubeObject]) -> None:
        for obj in map(_manifest, things):
            try:
                self.simulation.cluster.restore(obj)
            except StatusError as error:
                if error.code == _CONFLICT:
                    continue  # every cluster has it, such as the namespace default
                where = f"{obj.get('kind')} {obj['metadata'].get('name')}"
                raise FieldMistake(["cluster", "snapshot"], f"{where}: {error}") from error


def _manifest(thing: KubeObject) -> dict[str, Any]:
    obj = msgspec.json.decode(msgspec.json.encode(thing.raw))
    resource = next((one for one in RESOURCES if one.kind == thing.kind_name), None)
    if resource is not None:
        obj.setdefault("apiVersion", resource.api_version)
        obj.setdefault("kind", resource.kind)
    found: dict[str, Any] = obj
    return found


def _latencies(scenario: Scenario) -> Latencies:
    form = scenario.latencies
    return Latencies(
        **{name: values.seconds(getattr(form, name), ()) for name in form.__struct_fields__}
    )


def _trace(workload: WorkloadForm, sources: ScenarioFiles, path: Path) -> list[TracePod] | None:
    form = workload.arrival.csv
    if form is None:
        return None
    with _named_at([*path, "arrival", "csv", "file"]):
        data = sources.file(form.file)
    return read_trace(data, form, form.file)


@contextmanager
def _named_at(path: Path) -> Iterator[None]:
    """Say where a file is named that cannot be read."""
    try:
        yield
    except ScenarioError:
        raise
    except InputError as error:
        raise FieldMistake(path, str(error)) from error
