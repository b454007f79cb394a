"""No write by a replica after the first write of another under a newer Lease, made precise.

A *term* begins when a write of the Lease that makes a replica its holder is answered with success,
and another was its holder before. Within its term a replica may write. The rules, for every write
other than that of the Lease itself:

1. It belongs to a replica that has a term that began before the write was sent.
2. When it was sent, no other replica had sent a write in a newer term.

*Sent* is when the proxy had received the whole request from the replica: no later than that, the
replica had decided to write. A request may come to the API server later, because the network held
it back (the proxy does, on purpose); no client can prevent that, and such writes are counted, not
rejected. Neither can a process prevent that it is stopped between its last look at the Lease and
the write: what it sends in the first moment after it goes on (`MOMENT_SECONDS`) is counted as well.
Both kinds are rare, and what they do is still checked: no pod is bound twice, no node is overfull.
All times are those of one machine.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from tools.soak.audit import Write

#: One turn of a process's event loop: requests that were under way when it was stopped.
MOMENT_SECONDS: Final = 0.5


class Term(NamedTuple):
    """A time in which one replica may write.

    Attributes:
        user: the replica's.
        began: when its first write of the Lease came to the API server.
        wrote: when it sent its first other write; infinity if it has not.
    """

    user: str
    began: float
    wrote: float


class Fencing(NamedTuple):
    """What came of the check.

    Attributes:
        terms: in their order.
        violations: sentences about writes that should not have been sent.
        held_back: writes that were sent in time and came to the API server too late.
        at_wakeup: writes of the first moment after a pause.
    """

    terms: list[Term]
    violations: list[str]
    held_back: int
    at_wakeup: int


def terms(writes: Sequence[Write]) -> list[Term]:
    """The terms, from all writes in the order in which they came."""
    found: list[Term] = []
    holder = ""
    for write in writes:
        if not (write.of_lease and write.done):
            continue
        if write.holder and write.holder != holder:
            found.append(Term(write.user, write.came, float("inf")))
        holder = write.holder
    return [
        term._replace(wrote=_first(writes, term, found[number + 1 :]))
        for number, term in enumerate(found)
    ]


def _first(writes: Sequence[Write], term: Term, later: Sequence[Term]) -> float:
    end = later[0].began if later else float("inf")
    return min(
        (
            write.sent
            for write in writes
            if write.user == term.user and not write.of_lease and term.began <= write.sent < end
        ),
        default=float("inf"),
    )


def check(
    writes: Sequence[Write], continued: Mapping[str, Sequence[float]], since: float = 0.0
) -> Fencing:
    """Check all writes that came after a time.

    Args:
        writes: in the order in which they came to the API server, from the beginning on.
        continued: when the replicas were told to go on after a pause, by user.
        since: in seconds since 1970.
    """
    found = terms(writes)
    began = [term.began for term in found]
    violations, held_back, at_wakeup = [], 0, 0
    for write in writes:
        if write.of_lease or write.came < since:
            continue
        own = [n for n, term in enumerate(found) if term.user == write.user]
        before = [n for n in own if found[n].began <= write.sent]
        if not before:
            violations.append(f"{_named(write)}, without ever having held the Lease")
            continue
        newer = [term for term in found[before[-1] + 1 :] if term.user != write.user]
        late = next((term for term in newer if term.wrote < write.sent), None)
        if late is not None:
            if any(0 <= write.sent - at <= MOMENT_SECONDS for at in continued.get(write.user, ())):
                at_wakeup += 1
            else:
                violations.append(
                    f"{_named(write)}, {write.sent - late.wrote:.3f} s after the first write of "
                    f"{late.user} under a newer Lease"
                )
        elif bisect_right(began, write.came) - 1 > before[-1] and any(
            term.wrote < write.came for term in newer
        ):
            held_back += 1
    return Fencing(found, violations, held_back, at_wakeup)


def _named(write: Write) -> str:
    return f"{write.user} sent {write.verb} {write.resource} {write.name} at {write.sent:.3f}"
