"""Compiles the loops that macros expand to.

Called by the compiler. An error inside a loop does not end it: what follows is still evaluated and
counted, as in Kubernetes, and `all` and `exists` may forgive it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import repeat

from mooring.cel.ast import AstNode, Call, Comprehension, Ident, ListNode, Literal, MapNode
from mooring.cel.cost import LIST
from mooring.cel.errors import CelValueError
from mooring.cel.libraries.optionals import insert
from mooring.cel.macros import ACCUMULATOR
from mooring.cel.plan import COST, Compiled, Frame, Run, check_cost
from mooring.cel.values import MISSING, CelMap, Value, inner_key, type_name

_NO_OVERLOAD = "no such overload"
PlanNode = Callable[[AstNode], Compiled]


@dataclass(frozen=True, slots=True)
class Loop:
    """A comprehension, how to evaluate its range, and the places of its variables."""

    node: Comprehension
    range: Run
    first: int
    second: int

    def items(self, frame: Frame) -> Iterable[tuple[Value, Value]]:
        """The values of both variables (of one, the second is None).

        Raises:
            CelValueError: the range is neither list nor map.
        """
        values = self.range(frame)
        two = bool(self.node.iter_var2)
        if type(values) is list:
            return enumerate(values) if two else zip(values, repeat(None), strict=False)
        if type(values) is CelMap:
            return [(key, values.find(key) if two else None) for key in values.key_values()]
        raise CelValueError(f"got '{type_name(values)}', expected iterable type")


def loop_run(loop: Loop, plan: PlanNode) -> Run:
    """The function that runs a loop; `plan` compiles what is inside."""
    node = loop.node
    step = node.step
    if isinstance(node.accu_init, Literal):
        if isinstance(step, Call) and step.function in ("_&&_", "_||_"):
            return _quantifier(loop, plan(step.args[1]).run, decisive=step.function == "_||_")
        assert isinstance(step, Call)  # noqa: S101 (the macro made it)
        return _exactly_one(loop, plan(step.args[0]).run)
    accept = None
    if isinstance(step, Call) and step.function == "_?_:_":
        accept = plan(step.args[0]).run
        step = step.args[1]
    assert isinstance(step, Call)  # noqa: S101 (the macro made it)
    assert isinstance(step.args[0], Ident)  # noqa: S101 (the macro made it)
    assert step.args[0].name == ACCUMULATOR  # noqa: S101 (the macro made it)
    if isinstance(node.accu_init, MapNode):
        return _gathered(loop, accept, *_map_step(loop, step, plan), CelMap)
    added = step.args[1]
    assert isinstance(added, ListNode)  # noqa: S101 (the macro made it)
    element = plan(added.elements[0])
    fixed = 2 if element.constant is not MISSING else 2 + LIST

    def append(frame: Frame, values: list[Value]) -> None:
        values.append(element.run(frame))

    return _gathered(loop, accept, append, fixed, lambda _: [])


def _map_step(
    loop: Loop, step: Call, plan: PlanNode
) -> tuple[Callable[[Frame, CelMap], None], int]:
    value = plan(step.args[-1]).run
    if len(step.args) == 2:

        def update(frame: Frame, target: CelMap) -> None:
            entries = value(frame)
            if type(entries) is not CelMap:
                raise CelValueError(_NO_OVERLOAD)
            target.entries = insert(target, entries).entries

        return update, 2

    def put(frame: Frame, target: CelMap) -> None:
        frame[COST] += 1
        key = frame[loop.first]
        new = value(frame)
        if target.find(key) is not MISSING:
            raise CelValueError(f"insert failed: key {key} already exists")
        target.entries[inner_key(key)] = new

    return put, 2


def _quantifier(loop: Loop, predicate: Run, *, decisive: bool) -> Run:
    """``all`` (decided by false) and ``exists`` (decided by true)."""
    condition_cost = 3 if decisive else 2
    first, second = loop.first, loop.second

    def run(frame: Frame) -> bool:
        problem: CelValueError | None = None
        decided = False
        items = loop.items(frame)
        for frame[first], frame[second] in items:
            frame[COST] += condition_cost
            if decided:
                break
            frame[COST] += 1
            try:
                value = predicate(frame)
                if value is decisive:
                    decided = True
                elif type(value) is not bool:
                    problem = problem or CelValueError(_NO_OVERLOAD)
            except CelValueError as error:
                problem = problem or error
            check_cost(frame)
        frame[COST] += 1
        if decided:
            return decisive
        if problem is not None:
            raise problem
        return not decisive

    return run


def _exactly_one(loop: Loop, predicate: Run) -> Run:
    first, second = loop.first, loop.second

    def run(frame: Frame) -> bool:
        problem: CelValueError | None = None
        count = 0
        items = loop.items(frame)
        for frame[first], frame[second] in items:
            try:
                value = predicate(frame)
                if value is True:
                    count += 1
                    frame[COST] += 2
                elif value is not False:
                    problem = CelValueError(_NO_OVERLOAD)
            except CelValueError as error:
                problem = error
            check_cost(frame)
        frame[COST] += 2
        if problem is not None:
            raise problem
        return count == 1

    return run


def _gathered(
    loop: Loop,
    accept: Run | None,
    add: Callable[[Frame, Value], None],
    fixed_cost: int,
    new: Callable[[dict[object, Value]], Value],
) -> Run:
    """Loops that make a list or a map."""
    first, second = loop.first, loop.second

    def run(frame: Frame) -> Value:
        problem: CelValueError | None = None
        gathered = new({})
        items = loop.items(frame)
        for frame[first], frame[second] in items:
            try:
                accepted = True if accept is None else accept(frame)
                if accepted is True:
                    frame[COST] += fixed_cost
                    add(frame, gathered)
                elif accepted is not False:
                    problem = problem or CelValueError(_NO_OVERLOAD)
            except CelValueError as error:
                problem = problem or error
            check_cost(frame)
        frame[COST] += 1
        if problem is not None:
            raise problem
        return gathered

    return run
