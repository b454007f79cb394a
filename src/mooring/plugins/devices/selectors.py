"""Which devices satisfy a request's selectors, worked out once for each slice.

Owns `DeviceSelectors`: compiled expressions and, for each slice and combination of expressions, the
devices that match. Nothing here depends on what is allocated, so an answer holds as long as the
slice does. A selector that fails is an answer, too: it is an error only if the search gets to that
device.
"""

# parity v1.36.4: dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go
# isSelectable, selectorsMatch

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from mooring.errors import MooringError
from mooring.plugins.devices.pooled_device import PooledDevice, PreparedSlice
from mooring.state.lru_cache import LruCache

#: Expressions of the class, then those of the request.
Selection = tuple[tuple[str, ...], tuple[str, ...]]
#: Whether a device matches; raises `MooringError` if the expression fails for it.
Matches = Callable[[PooledDevice], bool]
#: Makes a function of an expression; raises `MooringError` if it does not compile.
Compile = Callable[[str], Matches]

#: So many expressions and so many slices' answers are remembered.
_MOST_EXPRESSIONS: Final = 4096
_MOST_ANSWERS: Final = 65_536
_MOST_BEGUN: Final = 64


class SelectorFailure(NamedTuple):
    """Why a selector has no answer for a device.

    Attributes:
        of_class: whether the class has the selector, and not the request.
        number: the selector's number in the class or request.
        problem: what is wrong, such as ``CEL runtime error: no such key: model``.
    """

    of_class: bool
    number: int
    problem: str


class DeviceCandidate(NamedTuple):
    """A device that matches, or for which a selector fails."""

    device: PooledDevice
    failure: SelectorFailure | None


class DeviceSelectors:
    """The answers of selectors to all devices.

    Args:
        compile: makes a function of an expression.
    """

    def __init__(self, compile: Compile) -> None:  # noqa: A002
        self._compile = compile
        self._compiled: LruCache[str, Matches | str] = LruCache(_MOST_EXPRESSIONS)
        self._answers: LruCache[tuple[PreparedSlice, Selection], list[DeviceCandidate]] = LruCache(
            _MOST_ANSWERS
        )
        #: Candidates among the first devices of a slice, and how many of them were asked about.
        self._begun: LruCache[
            tuple[PreparedSlice, Selection], tuple[tuple[DeviceCandidate, ...], int]
        ] = LruCache(_MOST_BEGUN)

    def candidates(
        self,
        one: PreparedSlice,
        selection: Selection,
        check_time: Callable[[], object] = lambda: None,
    ) -> list[DeviceCandidate]:
        """The devices of a slice that match all expressions, in the order of the slice.

        Args:
            one: the slice.
            selection: the expressions.
            check_time: called before each device is asked about; if it raises an error, who asks
                next goes on where this one stopped.
        """
        key = (one, selection)
        found = self._answers.get(key)
        if found is None:
            begun, n_asked = self._begun.get(key) or ((), 0)
            found = list(begun)
            for number, device in enumerate(one.devices[n_asked:], n_asked):
                try:
                    check_time()
                except MooringError:
                    self._begun.put(key, (tuple(found), number))
                    raise
                answer = self._answer(device, selection)
                if answer is not False:
                    found.append(DeviceCandidate(device, answer))
            self._answers.put(key, found)
        return found

    def known(self, one: PreparedSlice, selection: Selection) -> list[DeviceCandidate] | None:
        """The same if it was found out before; this asks about no device."""
        return self._answers.get((one, selection))

    def _answer(
        self, device: PooledDevice, selection: Selection
    ) -> SelectorFailure | Literal[False] | None:
        """None if all expressions match, False if one does not, or the first that fails."""
        for of_class, expressions in zip((True, False), selection, strict=True):
            for number, expression in enumerate(expressions):
                matches = self._function(expression)
                if isinstance(matches, str):
                    return SelectorFailure(of_class, number, matches)
                try:
                    if not matches(device):
                        return False
                except MooringError as error:
                    return SelectorFailure(of_class, number, f"CEL runtime error: {error}")
        return None

    def _function(self, expression: str) -> Matches | str:
        """What an expression was compiled to, or why it cannot be compiled."""
        found = self._compiled.get(expression)
        if found is None:
            try:
                found = self._compile(expression)
            except MooringError as error:
                found = f"CEL compile error: {error}"
            self._compiled.put(expression, found)
        return found
