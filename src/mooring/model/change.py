"""What happened in the cluster, as values: the input of everything that keeps cluster state.

Informers make changes; `state` takes them. A change carries the typed object and nothing else.
"""

from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")


class Put(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """An object was created, or replaces the one of the same name."""

    object: T


class Gone(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """An object does not exist any more; it is given as last seen."""

    object: T


Change = Put[T] | Gone[T]
