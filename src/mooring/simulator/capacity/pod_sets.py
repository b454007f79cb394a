"""The pods that capacity is asked for: several kinds, so many of each in a set.

Copies are new pods with names of their own. They never preempt others: what fits is what is free.
"""

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from mooring.model.changed_copies import as_new
from mooring.model.pod import Pod


class WantedPod(NamedTuple):
    """A kind of pod.

    Attributes:
        label: as it was typed.
        pod: the pod, as the API server would have stored it.
        number: how many of them are in a set.
    """

    label: str
    pod: Pod
    number: int = 1

    def copy(self, kind: int, count: int) -> Pod:
        """One more such pod.

        Args:
            kind: the place of this kind among those of the set.
            count: a number that no other copy of it has.
        """
        new = as_new(self.pod)
        # Labels that name a single pod would be wrong for another; nothing else would.
        metadata = replace(
            new.metadata,
            name=f"{self.pod.name}-more-{kind}-{count}",
            uid=f"uid--more-{kind}-{count}",
            deletion_timestamp=None,
            creation_timestamp=None,
        )
        spec = replace(new.spec, preemption_policy="Never", scheduling_gates=None)
        return replace(new, metadata=metadata, spec=spec)


def copies(wanted: tuple[WantedPod, ...], sets: int) -> Iterator[tuple[int, Pod]]:
    """The pods of one set after another, each with its kind."""
    for number in range(sets):
        for kind, one in enumerate(wanted):
            for count in range(one.number):
                yield kind, one.copy(kind, number * one.number + count)
