"""What ``moor simulate`` reads: scenarios and the files they name, policies, configurations."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from mooring.cli.input_files import read_mapping, read_snapshot
from mooring.cli.policy_loading import load_quietly
from mooring.errors import InputError
from mooring.framework.loading import forget, source_files

if TYPE_CHECKING:
    from mooring.model.meta import KubeObject
    from mooring.simulator.scenario.reader import ReadScenario
    from mooring.simulator.scenario.scenario_run import ScenarioFiles
    from mooring.simulator.scheduler_setup import SchedulerSetup


def load_scenario(file: Path) -> "ReadScenario":
    """Read a scenario file.

    Raises:
        InputError: it cannot be read, or something in it is wrong.
    """
    from mooring.simulator.scenario.reader import read_scenario

    try:
        text = _read(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8: {error}") from error
    return read_scenario(text, str(file))


def sources_of(file: Path) -> "ScenarioFiles":
    """How the files that a scenario names are read: relative to the scenario."""
    from mooring.embedded.fleet import read_fleet
    from mooring.model.kinds import KINDS
    from mooring.simulator.scenario.scenario_run import ScenarioFiles

    def objects(name: str) -> Iterable["KubeObject"]:
        snapshot = read_snapshot(str(file.parent / name), keep_source=True)
        return [thing for kind in KINDS for thing in snapshot.all(kind.type)]

    return ScenarioFiles(
        lambda name: _read(file.parent / name),
        objects,
        lambda name: read_fleet(file.parent / name),
    )


def scheduler_of(
    read: "ReadScenario", file: Path, config: Path | None, policy: str | None
) -> "SchedulerSetup":
    """The scheduler to simulate: what options say, else the first one of the scenario.

    Raises:
        InputError: a file cannot be read, or they do not fit each other.
    """
    name = ""
    if config is None and policy is None and read.scenario.schedulers:
        first = read.scenario.schedulers[0]
        name = first.name
        config = file.parent / first.config if first.config else None
        policy = place_of(first.policy, file.parent) if first.policy else None
    return set_up(config, policy, name)


def set_up(config: Path | None, policy: str | None, name: str = "") -> "SchedulerSetup":
    """A scheduler of these files; without a name, theirs is its name.

    Raises:
        InputError: a file cannot be read, or they do not fit each other.
    """
    from mooring.simulator.scheduler_setup import set_up_scheduler

    if policy:
        # What its modules keep from one run must not be seen by the next one.
        forget(source_files(policy))
    policies = (load_quietly(policy),) if policy else ()
    mapping = read_mapping(config) if config is not None else None
    try:
        return set_up_scheduler(mapping, policies, name or _name(config, policy))
    except InputError as error:
        if config is None:
            raise
        raise InputError(f"{config}: {error}") from error


def end_of(until: str | None) -> float | None:
    """The virtual time to end at, as ``--until`` says it.

    Raises:
        InputError: it is no duration.
    """
    from mooring.simulator.scenario.values import seconds
    from mooring.typed_yaml import FieldMistake

    try:
        return seconds(until, ()) if until is not None else None
    except FieldMistake as problem:
        raise InputError(f"--until: {problem.message}") from None


def place_of(policy: str, folder: Path) -> str:
    """A policy file is named relative to the scenario; a module is named as it is."""
    return str(folder / policy) if policy.partition(":")[0].endswith(".py") else policy


def _name(config: Path | None, policy: str | None) -> str:
    names = [config.name] if config is not None else []
    if policy:
        names.append(Path(policy).name)
    return " + ".join(names)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{file} does not exist; specify a file") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a name with a character that no name may have
        raise InputError(f"{str(file)!r} cannot be read: {error}") from error
