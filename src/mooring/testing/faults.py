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
    """Which requests a fault is for; what is left empty does not matter.

    Attributes:
        client: the name of the client, as `FaultyProxy.through` got it.
        method: such as ``POST``.
        path: a pattern such as ``/api/v1/namespaces/*/pods/web-*``, without the query.
        verb: Kubernetes' word: get, list, watch, create, update, patch, delete, deletecollection.
        resource: such as ``pods`` or ``pods/binding``; a pattern, too.
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
        """Whether a request is one of these; an event of a watch is not."""
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
    """Which events of watches a fault is for; what is left empty does not matter.

    Attributes:
        client: the name of the client, as `FaultyProxy.through` got it.
        resource: what is watched, such as ``pods``; a pattern.
        type: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR; known of watches in JSON only, and ``?``
            in others.
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
        """Whether it is one of these events."""
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
            raise InputError(f"A fault's {name} is {value!r}, give one text.")


def _check_known(name: str, wanted: str, known: Sequence[str]) -> None:
    """Reject a word, or a pattern, that is none of the known ones."""
    if wanted and not any(fnmatchcase(one, wanted) for one in known):
        words = ", ".join(one for one in known if one != "?")
        raise InputError(f"A fault's {name} is {wanted!r}, give one of {words}.")


def _check_resource(wanted: str) -> None:
    """Reject a kind, and capitals: requests name resources in the plural and in small letters."""
    from mooring.embedded.resources import RESOURCES  # noqa: PLC0415 - only if there are faults

    name, slash, rest = wanted.partition("/")
    small = name.lower()
    right = next((one.plural for one in RESOURCES if one.singular == small), small)
    if name != right:
        raise InputError(f"A fault's resource is {wanted!r}, give {right}{slash}{rest}.")


class FaultOptions(TypedDict, total=False):
    """What every kind of fault can be told: for what, and how often."""

    on: Requests | WatchEvents
    chance: float
    times: int | None
    skip: int


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """Something that goes wrong; make one with `delay`, `drop`, `cut`, and so on.

    Attributes:
        kind: what goes wrong.
        on: which requests, or which events of watches; all requests if left out.
        chance: how likely it is for each of them, from 0 to 1.
        times: it happens at most so often; None for no limit.
        skip: so many of them are spared at the beginning.
        seconds: the least and the most seconds it takes.
        status: the HTTP status of a refusal; 0 breaks the connection instead.
        retry_after: what the refusal says in Retry-After, in seconds; None for nothing.
        later: a second copy of an event comes after so many others.
        lost: nothing of the answer arrives.
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
                f"A fault's kind is {self.kind!r}, give one of {', '.join(get_args(Kind))}."
            )
        if not isinstance(self.on, Requests | WatchEvents):
            raise InputError(
                f"A fault's on is {self.on!r}, give Requests(...) or WatchEvents(...)."
            )
        if not 0 <= self.chance <= 1:
            raise InputError(f"The chance of a fault is {self.chance:g}, give one from 0 to 1.")
        least, most = self.seconds
        if not 0 <= least <= most:
            raise InputError(f"A fault takes {least:g} to {most:g} s, give the least first.")
        if min(self.skip, self.later, self.times or 0, self.retry_after or 0) < 0:
            raise InputError(
                "A fault counts from 0 on: skip, later, times and retry_after are not negative."
            )
        if self.later and not (self.kind == "duplicate" and isinstance(self.on, WatchEvents)):
            raise InputError(
                "A fault's later is for duplicates of watch events, give on=WatchEvents(...)."
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
        """A request reaches the API server later; an event, and those behind it, the client.

        Args:
            least: seconds.
            most: seconds; as `least` if left out. The seed draws between the two.
            options: `on`, `chance`, `times`, `skip`.
        """
        return cls(kind="delay", seconds=(least, least if most is None else most), **options)

    @classmethod
    def drop(cls, **options: Unpack[FaultOptions]) -> Self:
        """A request is swallowed and never answered, and the connection stays open.

        Dropping an event of a watch silences the watch: neither that event nor a later one
        arrives.
        """
        return cls(kind="drop", **options)

    @classmethod
    def cut(cls, *, lost: bool = False, **options: Unpack[FaultOptions]) -> Self:
        """The connection breaks in the middle of an answer, or of an event of a watch.

        Args:
            lost: it breaks before the first byte: the request took effect and nobody said so.
            options: `on`, `chance`, `times`, `skip`.
        """
        return cls(kind="cut", lost=lost, **options)

    @classmethod
    def duplicate(cls, *, later: int = 0, **options: Unpack[FaultOptions]) -> Self:
        """A request arrives twice, and the answer is the second's; an event comes twice.

        Args:
            later: so many other events come before the second copy of an event.
            options: `on`, `chance`, `times`, `skip`.
        """
        return cls(kind="duplicate", later=later, **options)

    @classmethod
    def reorder(cls, most: float = 1.0, **options: Unpack[FaultOptions]) -> Self:
        """A request waits until the next one of the kind is answered; an event follows the next.

        Args:
            most: waits no longer than so many seconds for another.
            options: `on`, `chance`, `times`, `skip`.
        """
        return cls(kind="reorder", seconds=(most, most), **options)

    @classmethod
    def refuse(
        cls, status: int = 0, *, retry_after: int | None = None, **options: Unpack[FaultOptions]
    ) -> Self:
        """A request is not carried out: the answer is an error, or the connection breaks.

        On events of a watch, the watch ends with an ERROR event of this status, such as 410.

        Args:
            status: such as 429, 500 or 503; 0 breaks the connection without an answer.
            retry_after: seconds to be named in the header Retry-After.
            options: `on`, `chance`, `times`, `skip`.
        """
        return cls(kind="refuse", status=status, retry_after=retry_after, **options)
