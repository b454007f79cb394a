"""The compiled form of a part of an expression.

Made by the compiler. A frame is a list: the cost so far, the device, the work that has no
cost in Kubernetes, and a slot for each variable of a comprehension. Costs only grow, so they are
compared with the limit in loops and at the end.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from mooring.cel.cost import LIMIT
from mooring.cel.errors import CelCostError, CelValueError
from mooring.cel.libraries.operators import find, select
from mooring.cel.limits import COST_EXCEEDED
from mooring.cel.values import MISSING, NONE, CelMap, Optional, Uint, Value, type_name

Frame: TypeAlias = list[Value]
Run: TypeAlias = Callable[[Frame], Value]

#: Places in a frame.
COST: Final = 0
DEVICE: Final = 1
WORK: Final = 2


class Qualifier(NamedTuple):
    """One ``.field`` or ``[index]``: its constant key, or how to find the key."""

    key: Value
    run: Run | None = None
    optional: bool = False
    test_only: bool = False


class Compiled(NamedTuple):
    """How to evaluate a part of an expression.

    Attributes:
        run: evaluates it.
        constant: its value, if it has the same for all devices.
        base: for a selection, what it selects from.
        qualifiers: for a selection, the path.
        own_cost: for a selection, what it costs beside its base and qualifiers.
        branch: how to evaluate it as a branch of a condition or as an index, if that differs.
    """

    run: Run
    constant: Value = MISSING
    base: Run | None = None
    qualifiers: tuple[Qualifier, ...] = ()
    own_cost: int = 0
    branch: Run | None = None


def constant(value: Value) -> Compiled:
    """A value that is known before any device is."""
    return Compiled(lambda _: value, value)


def selection(base: Run, qualifiers: tuple[Qualifier, ...], own_cost: int) -> Compiled:
    """A name, or what follows a value, with its path."""
    return Compiled(_path(base, qualifiers, own_cost), MISSING, base, qualifiers, own_cost)


def without_own_cost(plan: Compiled) -> Run:
    """A selection as a branch of a condition or an index, where it costs one less."""
    if plan.branch is not None:
        return plan.branch
    if plan.base is None or not plan.own_cost:
        return plan.run
    return _path(plan.base, plan.qualifiers, 0)


def check_cost(frame: Frame) -> None:
    """Stop an evaluation that costs too much.

    Raises:
        CelCostError: it does.
    """
    if frame[COST] > LIMIT:
        raise CelCostError(COST_EXCEEDED)


def charge(frame: Frame, work: int) -> None:
    """Count work that Kubernetes does fast or lazily, and so has no cost there.

    Raises:
        CelCostError: it is too much.
    """
    frame[WORK] += work
    if frame[WORK] > _MAX_WORK:
        raise CelCostError(COST_EXCEEDED)


_MAX_WORK: Final = 2_000_000


def _path(base: Run, qualifiers: tuple[Qualifier, ...], own_cost: int) -> Run:
    if not qualifiers:
        if not own_cost:
            return base

        def name(frame: Frame) -> Value:
            frame[COST] += own_cost
            return base(frame)

        return name
    if all(type(q.key) is str and not q.optional and not q.test_only for q in qualifiers):
        return _plain_path(base, tuple(q.key for q in qualifiers), own_cost)
    return _any_path(base, qualifiers, own_cost)


def _plain_path(base: Run, keys: tuple[str, ...], own_cost: int) -> Run:
    """A path of constant names, by far the most frequent one."""
    qualifiers = tuple(Qualifier(key) for key in keys)
    cost = own_cost + len(keys)

    def path(frame: Frame) -> Value:
        value = base(frame)
        if type(value) is Optional:
            frame[COST] += own_cost
            return _follow(frame, value, qualifiers)
        frame[COST] += cost
        for key in keys:
            if type(value) is CelMap:
                inner = value.entries.get(key, value.default)
                if inner is MISSING:
                    raise CelValueError(f"no such key: {key}")
                value = inner
            else:
                value = select(value, key)
        return value

    return path


def _any_path(base: Run, qualifiers: tuple[Qualifier, ...], own_cost: int) -> Run:
    def path(frame: Frame) -> Value:
        frame[COST] += own_cost
        return _follow(frame, base(frame), qualifiers)

    return path


def tested(run: Run) -> Run:
    """``has(a.?b.c)`` asks whether the optional has a value."""

    def test(frame: Frame) -> Value:
        value = run(frame)
        return value.value is not MISSING if type(value) is Optional else value

    return test


def _follow(frame: Frame, value: Value, qualifiers: tuple[Qualifier, ...]) -> Value:
    is_optional = type(value) is Optional
    if is_optional:
        if value.value is MISSING:
            return value
        value = value.value
    for qualifier in qualifiers:
        key = qualifier.key
        if qualifier.run is not None:
            key = qualifier.run(frame)
            if type(key) not in _KEYS:
                frame[COST] += 1
                raise CelValueError(f"invalid qualifier type: {type_name(key)}")
        is_optional = is_optional or qualifier.optional
        if is_optional:
            value = find(value, key)
            if value is MISSING:
                return NONE
            frame[COST] += 1
            continue
        frame[COST] += 1
        value = find(value, key) is not MISSING if qualifier.test_only else select(value, key)
    return Optional(value) if is_optional else value


_KEYS: Final = frozenset({str, int, Uint, bool, float})


def is_key(value: Value) -> bool:
    """Whether a constant may be an index."""
    return type(value) in _KEYS
