"""How schedulers elect a leader: whether, with which Lease, and what to write to change it.

Checks and `permissions` ask it. An argument counts before the field of the configuration. No I/O.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from mooring.config.lease_name import default_lease_name
from mooring.config.types import KUBE_SCHEDULER_LEASE
from mooring.deploy.container_programs import KUBE_SCHEDULER, MOOR_RUN
from mooring.deploy.doctor.evidence import Evidence, FoundConfiguration, mapping
from mooring.deploy.doctor.findings import Edit, FindingPlace
from mooring.deploy.doctor.schedulers import SchedulerProcess, configuration_of, scheduler_names

_ELECT, _NOT_ELECT = "leader-elect", "no-leader-elect"
#: How the parts of a Lease are set: an argument, a field, and the field of older versions.
_LEASE_SETTINGS: Final = (
    ("leader-elect-resource-namespace", "resourceNamespace", "lockObjectNamespace"),
    ("leader-elect-resource-name", "resourceName", "lockObjectName"),
)
_FIELD: Final = "leaderElection"


class ElectionChange(NamedTuple):
    """What to write so that a scheduler elects its leader with some Lease.

    Attributes:
        words: what to write and where, as the object of "Write".
        place: where it is, or belongs.
        edits: the changes of files; none if nobody knows where to write it.
    """

    words: str
    place: FindingPlace
    edits: tuple[Edit, ...]


def elects(evidence: Evidence, process: SchedulerProcess) -> bool:
    """Whether a scheduler takes part in leader election."""
    flag = process.flag(_ELECT)
    if _NOT_ELECT in process.flags:
        return False
    if flag is not None:
        return flag != "false"
    return says_to_elect(configuration_of(evidence, process))


def says_to_elect(configuration: FoundConfiguration | None) -> bool:
    """Whether a scheduler takes part in leader election, as far as its configuration says."""
    return _election(configuration).get("leaderElect") is not False


def lease_of(
    process: SchedulerProcess | None,
    configuration: FoundConfiguration | None,
    program: str = KUBE_SCHEDULER,
) -> tuple[str, str]:
    """Namespace and name of the Lease with which a scheduler elects a leader.

    Args:
        process: the scheduler; None if nobody knows how it is started.
        configuration: what it reads, if it is known.
        program: what it is, without a process.
    """
    election = _election(configuration)
    default = KUBE_SCHEDULER_LEASE
    if (process.program if process is not None else program) == MOOR_RUN:
        named = process.flag("scheduler-name") if process is not None else None
        names = [named] if named else scheduler_names(configuration)
        default = (default[0], default_lease_name(names))
    found = []
    for place, (flag, field, old) in enumerate(_LEASE_SETTINGS):
        given = process.flag(flag) if process is not None else None
        fields = election.get(field) or election.get(old)
        found.append(str(given or fields or default[place]))
    return found[0], found[1]


def electing(
    evidence: Evidence, process: SchedulerProcess, lease: tuple[str, str]
) -> ElectionChange:
    """What to write so that a scheduler elects its leader with a Lease; all that is to be changed.

    Args:
        evidence: what there is.
        process: the scheduler.
        lease: namespace and name of the Lease.
    """
    configuration = configuration_of(evidence, process)
    now = lease_of(process, configuration)
    wanted = {} if elects(evidence, process) else {(_ELECT, "leaderElect"): "true"}
    for place in (1, 0):  # people write the name first
        if now[place] != lease[place]:
            flag, field, _ = _LEASE_SETTINGS[place]
            wanted[flag, field] = lease[place]
    flags: dict[str, str] = {}
    fields: dict[str, str] = {}
    for (flag, field), value in wanted.items():
        given = flag in process.flags or (flag == _ELECT and _NOT_ELECT in process.flags)
        no_fields = configuration is None and process.program == KUBE_SCHEDULER
        if given or no_fields:
            flags[flag] = value
        else:
            fields[field] = value
    words = [_flag_word(process, flag, value) for flag, value in flags.items()]
    if fields:
        which = "the configuration" if configuration is not None else "a file for --config"
        words.append(f"{_as_field(fields)} in {which}")
    given_flags = [process.flags[one][1] for one in (*flags, _NOT_ELECT) if one in process.flags]
    if configuration is not None and not given_flags:
        place_of = configuration.place((_FIELD, *fields))
    else:
        place_of = process.place(given_flags[0] if given_flags else ())
    edits = (*_flag_edits(process, flags), *written(configuration, fields))
    return ElectionChange(" and ".join(words), place_of, edits)


def written(
    configuration: FoundConfiguration | None, fields: Mapping[str, str]
) -> tuple[Edit, ...]:
    """The edits that write fields of ``leaderElection`` into a configuration."""
    if configuration is None or configuration.document is None or not fields:
        return ()
    document, election = configuration.document, _election(configuration)
    if not election:
        if _FIELD in configuration.data:
            return ()
        first = next(iter(configuration.data))
        return document.inserted((first,), f"{_FIELD}: {_flow(fields)}")
    edits: tuple[Edit, ...] = ()
    older = {field: old for _, field, old in _LEASE_SETTINGS if old in election}
    for field, value in fields.items():
        name = field if field in election else older.get(field, field)
        if name in election:
            edits += document.replaced((_FIELD, name), value)
        else:
            edits += document.inserted((_FIELD, next(iter(election))), f"{name}: {value}")
    return edits


def _election(configuration: FoundConfiguration | None) -> Mapping[str, object]:
    return mapping(configuration.data.get(_FIELD)) if configuration is not None else {}


def _as_field(fields: Mapping[str, str]) -> str:
    if len(fields) > 1:
        return f"{_FIELD}: {_flow(fields)}"
    [(name, value)] = fields.items()
    return f"{_FIELD}.{name}: {value}"


def _flow(fields: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{name}: {value}' for name, value in fields.items())}}}"


def _flag_word(process: SchedulerProcess, flag: str, value: str) -> str:
    """An argument as it is written; `moor run` has a flag without a value."""
    if flag == _ELECT and process.program != KUBE_SCHEDULER:
        return f"--{flag}"
    return f"--{flag}={value}"


def _flag_edits(process: SchedulerProcess, flags: Mapping[str, str]) -> tuple[Edit, ...]:
    edits: tuple[Edit, ...] = ()
    added = []
    for flag, value in flags.items():
        word = _flag_word(process, flag, value)
        if _NOT_ELECT in process.flags and flag == _ELECT:
            edits += process.replaced_flag(_NOT_ELECT, word)
        elif flag in process.flags:
            edits += process.replaced_flag(flag, word)
        else:
            added.append(word)
    document = process.template.owner.document
    if not added or document is None or process.in_shell:
        return edits
    # Before another argument, which is certainly after the program's name.
    before = next((path for _, path in process.flags.values()), None)
    return edits + (document.items_before(before, added) if before is not None else ())
