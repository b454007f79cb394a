"""Decoding JSON that is nested as deeply as an API server accepts.

Whoever may create a pod may nest `managedFields` ten thousand levels deep; Python's limit for
nested calls, which msgspec keeps to, is a tenth of it. Such an object is rare, so the limit is
raised only where it is in the way. Used for everything that comes from an API server.
"""

import sys
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

T = TypeVar("T")
Data = TypeVar("Data", bound=bytes | memoryview | msgspec.Raw)

#: The depth at which Go's decoder gives up is 10,000; a level costs msgspec a small frame in C.
_LIMIT: Final = 12_000


def decode_deep(decode: Callable[[Data], T], data: Data) -> T:
    """Decode, however deep it is nested.

    Raises:
        msgspec.DecodeError: it is nested even deeper, or whatever else the decoder raises.
    """
    try:
        return decode(data)
    except RecursionError:
        pass
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _LIMIT))
    try:
        return decode(data)
    except RecursionError as error:
        raise msgspec.DecodeError("it is nested too deeply") from error
    finally:
        sys.setrecursionlimit(limit)
