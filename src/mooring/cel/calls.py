"""Compiles calls of functions: picks the implementation, checks types, counts costs.

Called by the compiler for every call that is not lazy.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from mooring.cel.ast import Call
from mooring.cel.cost import CallCost, call_cost, is_of_result, is_one
from mooring.cel.declarations import FUNCTIONS, OVERLOADS
from mooring.cel.equality import NO_OVERLOAD
from mooring.cel.errors import CelRuntimeError, CelValueError
from mooring.cel.libraries.quantities import CelQuantity
from mooring.cel.libraries.semver import Version
from mooring.cel.limits import Effort
from mooring.cel.overloads import Overload
from mooring.cel.plan import COST, Compiled, Frame, Run, charge, check_cost, constant
from mooring.cel.regex import PATTERN_CALLS, Regex
from mooring.cel.values import MISSING, Uint, Value, fits, inner_key

_CONVERSIONS: Final = frozenset(
    ["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"]
)
_PATTERNS: Final = frozenset(PATTERN_CALLS)
_LONG: Final = 1000
#: What compiling a pattern takes beside a step of matching, for each character.
_PATTERN_WORK: Final = 20
#: Types of values that one look at the value tells.
PYTHON_TYPES: Final[dict[str, type]] = {
    "bool": bool,
    "bytes": bytes,
    "double": float,
    "int": int,
    "kubernetes.Quantity": CelQuantity,
    "kubernetes.Semver": Version,
    "string": str,
    "uint": Uint,
}
_SCALARS: Final = frozenset(["bool", "bytes", "double", "int", "null_type", "string", "uint"])
_SET_TYPES: Final = (bool, int, Uint, float, str)


def call_plan(node: Call, plans: list[Compiled]) -> Compiled:
    """The plan of a call.

    Raises:
        CelValueError, ValueError: its arguments are constant and wrong.
    """
    function = node.function
    overload = node.overloads[0] if len(node.overloads) == 1 else ""
    if function in _CONVERSIONS and len(plans) == 1 and plans[0].constant is not MISSING:
        return constant(_implementation(node)(plans[0].constant))
    if overload == "in_list" and plans[1].constant is not MISSING:
        members = _members(plans[1].constant)
        if members is not None:
            return _membership(plans[0].run, members)
    cost = call_cost(function, overload)
    runs = [plan.run for plan in plans]
    if function in _PATTERNS:
        pattern = plans[1].constant
        regex = Regex(pattern) if type(pattern) is str else None
        return Compiled(_pattern_call(PATTERN_CALLS[function], regex, runs, cost))
    effort = Effort() if _compares(node) else None
    run = _counted(_implementation(node, effort), runs, cost)
    return Compiled(run if effort is None else _charged(run, effort))


def _compares(node: Call) -> bool:
    """Whether what lists and maps hold may be compared."""
    compares = any(OVERLOADS[one].compares for one in node.overloads)
    return compares and not any(one.type.name in _SCALARS for one in node.operands)


def _members(values: list[Value]) -> set[object] | None:
    """The keys of a constant list, if all its elements are simple."""
    if any(type(value) not in _SET_TYPES for value in values):
        return None
    members: set[object] = set()
    for value in values:
        members.add(inner_key(value))
        if type(value) is not bool and not isinstance(value, str):
            members.update(_same_number(value))
    return members


def _same_number(value: int | float) -> list[object]:
    """The keys of the number as other types."""
    if isinstance(value, float):
        if not value.is_integer():
            return []
        whole = int(value)
        keys: list[object] = [("int", whole)] if -(2**63) < whole < 2**63 else []
        return [*keys, ("uint", Uint(whole))] if 0 <= whole < 2**64 else keys
    keys = [("double", float(value))]
    if isinstance(value, Uint):
        return [*keys, ("int", int(value))] if value < 2**63 else keys
    return [*keys, ("uint", Uint(value))] if value >= 0 else keys


def _membership(value: Run, members: set[object]) -> Compiled:
    if not members:
        return constant(False)
    return Compiled(lambda frame: inner_key(value(frame)) in members)


def _pattern_call(
    call: Callable[..., Value], regex: Regex | None, runs: list[Run], cost: CallCost
) -> Run:
    """Calls with regular expressions; a constant one is compiled once, and its work is counted."""

    def matching(frame: Frame) -> Value:
        args = _evaluated(frame, runs, cost)
        if type(args[0]) is not str or type(args[1]) is not str:
            frame[COST] += 1
            raise CelValueError(NO_OVERLOAD)
        if len(args) > 2 and type(args[2]) is not int:
            raise CelValueError(NO_OVERLOAD)
        used = regex
        if used is None:
            charge(frame, _PATTERN_WORK * len(args[1]))
            used = Regex(args[1])
        result = call(used, args[0], *args[2:])
        charge(frame, used.steps)
        frame[COST] += cost(args, result)
        return result

    return matching


# Implementations


def _implementation(node: Call, effort: Effort | None = None) -> Callable[..., Value]:
    if len(node.overloads) == 1:
        overload = _with_effort(OVERLOADS[node.overloads[0]], effort)
        return _guarded(overload) if overload.is_guarded else overload.call
    overloads = [_with_effort(overload, effort) for overload in FUNCTIONS[node.function]]
    if not overloads[0].is_guarded:
        return overloads[0].call
    return _dispatching(overloads)


def _with_effort(overload: Overload, effort: Effort | None) -> Overload:
    if effort is None or not overload.compares:
        return overload
    return overload._replace(call=partial(overload.call, effort=effort))


def _charged(run: Run, effort: Effort) -> Run:
    """A call that compares; its comparisons are work of the evaluation."""

    def charged(frame: Frame) -> Value:
        try:
            return run(frame)
        finally:
            spent, effort.spent = effort.spent, 0
            charge(frame, spent)

    return charged


def _guarded(overload: Overload) -> Callable[..., Value]:
    types, call = overload.args, overload.call
    if all(type_.kind in ("dyn", "any", "param") for type_ in types):
        return call
    kinds = tuple(PYTHON_TYPES.get(type_.name) for type_ in types)
    if None not in kinds:

        def quickly_guarded(*args: Value) -> Value:
            for arg, kind in zip(args, kinds, strict=True):
                if type(arg) is not kind:
                    raise CelValueError(NO_OVERLOAD)
            return call(*args)

        return quickly_guarded

    def guarded(*args: Value) -> Value:
        if not all(map(fits, types, args)):
            raise CelValueError(NO_OVERLOAD)
        return call(*args)

    return guarded


def _dispatching(overloads: list[Overload]) -> Callable[..., Value]:
    def dispatch(*args: Value) -> Value:
        for overload in overloads:
            if len(overload.args) == len(args) and all(map(fits, overload.args, args)):
                return overload.call(*args)
        raise CelValueError(NO_OVERLOAD)

    return dispatch


# Evaluation


def _counted(call: Callable[..., Value], runs: list[Run], cost: CallCost) -> Run:
    if len(runs) == 1:
        return _unary(call, runs[0], cost)
    if len(runs) == 2:
        return _binary(call, runs[0], runs[1], cost)

    counted = _costly(call, cost)
    return lambda frame: counted(frame, *_evaluated(frame, runs, cost))


def _costly(call: Callable[..., Value], cost: CallCost) -> Callable[..., Value]:
    """A call that is counted: before it is made, if the arguments tell what it costs."""
    by_result = is_of_result(cost)

    def counted(frame: Frame, *args: Value) -> Value:
        if not by_result:
            try:
                frame[COST] += cost(args, None)
            except (TypeError, AttributeError):
                return _miscounted(frame, call, args, cost)
            check_cost(frame)
            return call(*args)
        try:
            result = call(*args)
        except CelValueError:
            frame[COST] += cost(args, None)
            raise
        frame[COST] += cost(args, result)
        check_cost(frame)
        return result

    return counted


def _miscounted(
    frame: Frame, call: Callable[..., Value], args: tuple[Value, ...], cost: CallCost
) -> Value:
    """A call with arguments of types that it is not for."""
    try:
        return call(*args)
    except CelValueError as error:
        _count_failed(frame, cost, args, error)
        raise


def _unary(call: Callable[..., Value], operand: Run, cost: CallCost) -> Run:
    if is_one(cost):

        def cheap(frame: Frame) -> Value:
            frame[COST] += 1
            return call(operand(frame))

        return cheap

    counted = _costly(call, cost)

    def unary(frame: Frame) -> Value:
        try:
            arg = operand(frame)
        except CelValueError as error:
            _count_failed(frame, cost, (_FAILED,), error)
            raise
        return counted(frame, arg)

    return unary


def _binary(call: Callable[..., Value], left: Run, right: Run, cost: CallCost) -> Run:
    always_one = is_one(cost)
    counted = _costly(call, cost)

    def binary(frame: Frame) -> Value:
        try:
            first = left(frame)
        except CelValueError as error:
            second = _evaluated_anyway(right, frame)
            _count_failed(frame, cost, (_FAILED, second), error)
            raise
        try:
            second = right(frame)
        except CelValueError as error:
            _count_failed(frame, cost, (first, _FAILED), error)
            raise
        if always_one:
            frame[COST] += 1
            result = call(first, second)
            if type(result) is list and len(result) > _LONG:
                charge(frame, len(result) // 10)
            return result
        return counted(frame, first, second)

    return binary


_FAILED: Final = object()


def _count_failed(
    frame: Frame, cost: CallCost, args: tuple[Value, ...], error: CelValueError
) -> None:
    """Count a call one of whose arguments is an error.

    Raises:
        CelRuntimeError: in Kubernetes, counting panics, which nothing forgives.
    """
    try:
        frame[COST] += cost(args, None)
    except TypeError:
        raise CelRuntimeError(f"internal error: {error}") from error
    except AttributeError:
        frame[COST] += 1


def _evaluated_anyway(run: Run, frame: Frame) -> Value:
    """Evaluate the second of two operands although the first one failed, because it costs."""
    try:
        return run(frame)
    except CelValueError:
        return _FAILED


def _evaluated(frame: Frame, runs: list[Run], cost: CallCost) -> tuple[Value, ...]:
    """The arguments of a call.

    Raises:
        CelValueError: one failed. Of two, the other one is evaluated nevertheless.
    """
    args: list[Value] = []
    problem: CelValueError | None = None
    for run in runs:
        try:
            args.append(run(frame))
        except CelValueError as error:
            problem = problem or error
            args.append(_FAILED)
            if len(runs) > 2:
                break
    if problem is not None:
        if len(args) == len(runs):
            _count_failed(frame, cost, tuple(args), problem)
        raise problem
    return tuple(args)
