"""What can go wrong between a client and an API server, as values: which requests, what, how often.

`fault_script` decides when one happens, `FaultyProxy` carries it out.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Literal, Self, TypedDict, Unpack, get_args

import msgspec

from mooring.errors import InputError
from mooring.testing.fault_target import EVENTS, METHODS, VERBS, FaultTarget

Kind = Literal["delay", "drop", "cut", "duplicate", "reorder", "refuse"]


class Requests(msgspec.Struct, frozen=True, kw_only=True):
    """The requests that a fault applies to; empty fields match everything.

    Attributes:
        client: the name of the client, as passed to `FaultyProxy.through`.
        method: such as ``POST``.
        path: a pattern such as ``/api/v1/namespaces/*/pods/web-*``, without the query.
        verb: the Kubernetes verb: get, list, watch, create, update, patch, delete,
        deletecollection.
        resource: such as ``pods`` or ``pods/binding``; may be a pattern.
        user_agent: a pattern such as ``kubectl/*``.
    """

    client: str = ""
    method: str = ""
    path: str = ""
    verb: str = ""
    resource: str = ""
    user_agent: str = ""

    def __post_init__(self) -> None:
        """Reject what no request can have.

        Raises:
            InputError: which value is wrong, and what it can be.
        """
        _check_texts(self)
        _check_resource(self.resource)
        _check_known("method", self.method, METHODS)
        _check_known("verb", self.verb, VERBS)

    def match(self, target: FaultTarget) -> bool:
        """Whether a request matches; watch events never do."""
        return not target.event and all(
            not wanted or fnmatchcase(found, wanted)
            for wanted, found in (
                (self.client, target.client),
                (self.method, target.method),
                (self.path, target.path),
                (self.verb, target.verb),
                (self.resource, target.resource),
                (self.user_agent, target.user_agent),
            )
        )


class WatchEvents(msgspec.Struct, frozen=True, kw_only=True):
    """The watch events that a fault applies to; empty fields match everything.

    Attributes:
        client: the name of the client, as passed to `FaultyProxy.through`.
        resource: what is watched, such as ``pods``; a pattern.
        type: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR; known only for watches in JSON, and ``?``
        for others.
    """

    client: str = ""
    resource: str = ""
    type: str = ""

    def __post_init__(self) -> None:
        """Reject what no event can have.

        Raises:
            InputError: which value is wrong, and what it can be.
        """
        _check_texts(self)
        _check_resource(self.resource)
        _check_known("type", self.type, EVENTS)

    def match(self, target: FaultTarget) -> bool:
        """Whether an event matches."""
        return bool(target.event) and all(
            not wanted or fnmatchcase(found, wanted)
            for wanted, found in (
                (self.client, target.client),
                (self.resource, target.resource),
                (self.type, target.event),
            )
        )


def _check_texts(on: Requests | WatchEvents) -> None:
    for name, value in msgspec.structs.asdict(on).items():
        if not isinstance(value, str):
            raise InputError(f"A fault's {name} is {value!r}; it must be one string.")


def _check_known(name: str, wanted: str, known: Sequence[str]) -> None:
    """Reject a word, or a pattern, that is none of the known ones."""
    if wanted and not any(fnmatchcase(one, wanted) for one in known):
        words = ", ".join(one for one in known if one != "?")
        raise InputError(f"A fault's {name} is {wanted!r}; it must be one of {words}.")


def _check_resource(wanted: str) -> None:
    """Reject a kind, and capitals: requests name resources in the plural and in small letters."""
    from mooring.embedded.resources import RESOURCES  # noqa: PLC0415 - only if there are faults

    name, slash, rest = wanted.partition("/")
    small = name.lower()
    right = next((one.plural for one in RESOURCES if one.singular == small), small)
    if name != right:
        raise InputError(f"A fault's resource is {wanted!r}; it must be {right}{slash}{rest}.")


class FaultOptions(TypedDict, total=False):
    """What every kind of fault can be told: for what, and how often."""

    on: Requests | WatchEvents
    chance: float
    times: int | None
    skip: int


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """A fault to inject; create one with `delay`, `drop`, `cut`, and so on.

    Attributes:
        kind: what goes wrong.
        on: which requests, or which watch events; all requests if omitted.
        chance: the probability for each of them, from 0 to 1.
        times: how often it happens at most; None for no limit.
        skip: how many of them are spared at the beginning.
        seconds: the minimum and maximum number of seconds it takes.
        status: the HTTP status of a refusal; 0 closes the connection instead.
        retry_after: the value of the Retry-After header in seconds; None for no header.
        later: how many other events come before the second copy of an event.
        lost: no part of the response arrives.
    """

    kind: Kind
    on: Requests | WatchEvents = Requests()
    chance: float = 1.0
    times: int | None = None
    skip: int = 0
    seconds: tuple[float, float] = (0.0, 0.0)
    status: int = 0
    retry_after: int | None = None
    later: int = 0
    lost: bool = False

    def __post_init__(self) -> None:
        """Reject what cannot be meant.

        Raises:
            InputError: which value is wrong.
        """
        if self.kind not in get_args(Kind):
            raise InputError(
                f"A fault's kind is {self.kind!r}; it must be one of {', '.join(get_args(Kind))}."
            )
        if not isinstance(self.on, Requests | WatchEvents):
            raise InputError(
                f"A fault's on is {self.on!r}; it must be Requests(...) or WatchEvents(...)."
            )
        if not 0 <= self.chance <= 1:
            raise InputError(f"The chance of a fault is {self.chance:g}; it must be from 0 to 1.")
        least, most = self.seconds
        if not 0 <= least <= most:
            raise InputError(f"A fault takes {least:g} to {most:g}s; the least must come first.")
        if min(self.skip, self.later, self.times or 0, self.retry_after or 0) < 0:
            raise InputError("A fault's skip, later, times and retry_after must not be negative.")
        if self.later and not (self.kind == "duplicate" and isinstance(self.on, WatchEvents)):
            raise InputError(
                "A fault's later is for duplicates of watch events; use on=WatchEvents(...)."
            )
        if self.retry_after is not None and not (self.status and isinstance(self.on, Requests)):
            raise InputError(
                "A fault's retry_after is for requests that are refused with a status, such as 429."
            )
        if self.status and not 400 <= self.status <= 599:
            raise InputError(f"A refusal has a status from 400 to 599, not {self.status}.")

    @classmethod
    def delay(
        cls, least: float, most: float | None = None, **options: Unpack[FaultOptions]
    ) -> Self:
        """Delay a request on its way to the API server, or an event and those behind it.

        Args:
            least: seconds.
            most: seconds; the same as `least` if omitted. The seed determines the value in between.
            options: `on`, `chance`, `times`, `skip`.
        """
        return cls(kind="delay", seconds=(least, least if most is None else most), **options)

    @classmethod
    def drop(cls, **options: Unpack[FaultOptions]) -> Self:
        """Drop a request: it is never answered, and the connection stays open.

        Dropping a watch event silences the watch: neither that event nor any later one arrives.
        """
        return cls(kind="drop", **options)

    @classmethod
    def cut(cls, *, lost: bool = False, **options: Unpack[FaultOptions]) -> Self:
        """Close the connection in the middle of a response or of a watch event.

        Args:
            lost: close it before the first byte: the request took effect, but the client does not
            know.
            options: `on`, `chance`, `times`, `skip`.
        """
        return cls(kind="cut", lost=lost, **options)

    @classmethod
    def duplicate(cls, *, later: int = 0, **options: Unpack[FaultOptions]) -> Self:
        """Send a request twice and return the second response, or deliver an event twice.

        Args:
            later: how many other events come before the second copy of an event.
            options: `on`, `chance`, `times`, `skip`.
        """
        return cls(kind="duplicate", later=later, **options)

    @classmethod
    def reorder(cls, most: float = 1.0, **options: Unpack[FaultOptions]) -> Self:
        """Delay a request until the next one of its kind is answered, or an event until the next.

        Args:
            most: the maximum number of seconds to wait for another one.
            options: `on`, `chance`, `times`, `skip`.
        """
        return cls(kind="reorder", seconds=(most, most), **options)

    @classmethod
    def refuse(
        cls, status: int = 0, *, retry_after: int | None = None, **options: Unpack[FaultOptions]
    ) -> Self:
        """Refuse a request: return an error, or close the connection.

        For watch events, the watch ends with an ERROR event with this status, such as 410.

        Args:
            status: such as 429, 500 or 503; 0 closes the connection without a response.
            retry_after: the value of the Retry-After header in seconds.
            options: `on`, `chance`, `times`, `skip`.
        """
        return cls(kind="refuse", status=status, retry_after=retry_after, **options)
