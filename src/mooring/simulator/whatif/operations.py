"""What can be asked about, and how it is typed.

    operations  =  operation { "then" operation }
    operation   =  drain NODE...  |  remove NODE...  |  remove-zone ZONE...  |  add N
                |  scale WORKLOAD N  |  restart WORKLOAD...  |  priority WORKLOAD VALUE|CLASS
                |  policy POLICY

``add`` takes the next node of those that are given with ``--like``. `FORMS` is what help and
completion show. Nothing is looked up in a cluster here.
"""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import groupby, pairwise
from typing import Final, NamedTuple

from mooring.errors import InputError
from mooring.simulator.pod_owners import PodOwner, read_workload

THEN: Final = "then"
_MOST_NODES: Final = 10_000
_MOST_REPLICAS: Final = 200_000
_MOST_OPERATIONS: Final = 50
_LOWEST, _HIGHEST = -(1 << 31), (1 << 31) - 1


class Drain(NamedTuple):
    """Cordon nodes and evict their pods."""

    nodes: tuple[str, ...]

    def __str__(self) -> str:
        return f"drain {' '.join(self.nodes)}"


class Remove(NamedTuple):
    """Take nodes away at once, with everything on them."""

    nodes: tuple[str, ...]

    def __str__(self) -> str:
        return f"remove {' '.join(self.nodes)}"


class RemoveZones(NamedTuple):
    """Take all nodes of zones away at once."""

    zones: tuple[str, ...]

    def __str__(self) -> str:
        return f"remove-zone {' '.join(self.zones)}"


class Add(NamedTuple):
    """Add new nodes like another one."""

    number: int
    like: str

    def __str__(self) -> str:
        return f"add {self.number} --like {self.like}"


class Scale(NamedTuple):
    """Let a workload have so many pods."""

    workload: PodOwner
    replicas: int

    def __str__(self) -> str:
        return f"scale {self.workload} {self.replicas}"


class Restart(NamedTuple):
    """Evict all pods of workloads, so that each is scheduled anew."""

    workloads: tuple[PodOwner, ...]

    def __str__(self) -> str:
        return f"restart {' '.join(map(str, self.workloads))}"


class SetPriority(NamedTuple):
    """Give the pods of a workload another priority; those that run stay where they are.

    Attributes:
        workload: whose pods.
        value: the priority, or the name of a PriorityClass.
    """

    workload: PodOwner
    value: int | str

    def __str__(self) -> str:
        return f"priority {self.workload} {self.value}"


class UsePolicy(NamedTuple):
    """Schedule with a policy from now on; pods that run stay where they are."""

    place: str

    def __str__(self) -> str:
        return f"policy {self.place}"


Operation = Drain | Remove | RemoveZones | Add | Scale | Restart | SetPriority | UsePolicy


class Form(NamedTuple):
    """How an operation is typed: what follows its name, and what it means."""

    arguments: str
    about: str


FORMS: Final = {
    "drain": Form("NODE...", "cordon nodes and evict their pods"),
    "remove": Form("NODE...", "remove nodes at once, as when they fail"),
    "remove-zone": Form("ZONE...", "remove all nodes of zones at once"),
    "add": Form("N --like NODE", "add new nodes like another one"),
    "scale": Form("WORKLOAD N", "scale a workload, such as deployment/web"),
    "restart": Form("WORKLOAD...", "evict all pods of workloads"),
    "priority": Form("WORKLOAD VALUE", "a number or the name of a PriorityClass"),
    "policy": Form("POLICY", "schedule with another policy from now on"),
}


def read_operations(
    words: Sequence[str], likes: Sequence[str] = (), namespace: str = "default"
) -> list[Operation]:
    """The operations that were typed.

    Args:
        words: the words, without options.
        likes: the nodes given with ``--like``, one for each ``add``.
        namespace: that of workloads which are named without one.

    Raises:
        InputError: they are not understood.
    """
    parts = [list(part) for is_then, part in groupby(words, THEN.__eq__) if not is_then]
    if not parts:
        raise InputError(f"specify what to try: {', '.join(FORMS)}; see --help")
    if words[-1] == THEN or words[0] == THEN or _doubled(words):
        raise InputError('an operation is missing before or after "then"')
    if len(parts) > _MOST_OPERATIONS:
        raise InputError(f"{len(parts)} operations are too many; use {_MOST_OPERATIONS} at most")
    models = iter(likes)
    found = [_read(name, arguments, models, namespace) for name, *arguments in parts]
    adds = sum(isinstance(one, Add) for one in found)
    if adds < len(likes):
        raise InputError(f"--like {likes[adds]} belongs to no operation; use it with add N")
    return found


def _doubled(words: Sequence[str]) -> bool:
    return any(one == other == THEN for one, other in pairwise(words))


def _read(name: str, arguments: list[str], models: Iterator[str], namespace: str) -> Operation:
    form = FORMS.get(name)
    if form is None:
        near = get_close_matches(name, FORMS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"use one of {', '.join(FORMS)}"
        raise InputError(f"there is no operation {name!r}; {hint}")
    if not arguments or (not form.arguments.endswith("...") and len(arguments) != _count(form)):
        raise InputError(
            f"{' '.join([name, *arguments])}: write {name} {form.arguments}, and then between "
            "two operations"
        )
    first = arguments[0]
    match name:
        case "drain":
            return Drain(tuple(arguments))
        case "remove":
            return Remove(tuple(arguments))
        case "remove-zone":
            return RemoveZones(tuple(arguments))
        case "add":
            model = next(models, None)
            if model is None:
                raise InputError(f"add {first}: specify --like NODE, which the new nodes resemble")
            return Add(_number(name, first, 1, _MOST_NODES), model)
        case "scale":
            replicas = _number(name, arguments[1], 0, _MOST_REPLICAS)
            return Scale(read_workload(first, namespace), replicas)
        case "restart":
            return Restart(tuple(read_workload(one, namespace) for one in arguments))
        case "priority":
            value: int | str = arguments[1]
            if arguments[1].lstrip("-").isdigit():
                value = _number(name, arguments[1], _LOWEST, _HIGHEST)
            return SetPriority(read_workload(first, namespace), value)
        case _:
            return UsePolicy(first)


def _count(form: Form) -> int:
    return len(form.arguments.partition(" --")[0].split())


def _number(name: str, text: str, least: int, most: int) -> int:
    number = int(text) if text.lstrip("-").isdecimal() and len(text) <= 12 else None
    if number is None or not least <= number <= most:
        raise InputError(f"{name}: {text!r} is not a number from {least} to {most}")
    return number
