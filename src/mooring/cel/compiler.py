"""Turns a checked expression into closures.

Called once per expression. Parts that are the same for every device are computed here, which
finds errors in them as Kubernetes does; everything else is a function of a frame (see `plan`).
"""

from typing import Any, Final

from mooring.cel.ast import (
    AstNode,
    Call,
    Comprehension,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Select,
)
from mooring.cel.calls import call_plan
from mooring.cel.comprehensions import Loop, loop_run
from mooring.cel.cost import LIST, MAP
from mooring.cel.errors import CelValueError
from mooring.cel.libraries.operators import show_key
from mooring.cel.macros import ACCUMULATOR
from mooring.cel.plan import (
    COST,
    DEVICE,
    WORK,
    Compiled,
    Frame,
    Qualifier,
    Run,
    check_cost,
    constant,
    is_key,
    selection,
    tested,
    without_own_cost,
)
from mooring.cel.values import MISSING, CelMap, Optional, Value, inner_key, type_name


class PlanError(Exception):
    """A constant part of an expression is wrong."""


def compile_node(root: AstNode) -> tuple[Run, int]:
    """A function of a frame, and how many places the frame needs.

    Raises:
        PlanError: a constant part is wrong.
    """
    compiler = _Compiler()
    run = compiler.plan(root).run
    return run, compiler.size


class _Compiler:
    def __init__(self) -> None:
        self.size = WORK + 1
        self._scopes: list[dict[str, Run]] = [{"device": _slot(DEVICE)}]
        self._plans: dict[int, Compiled] = {}

    def plan(self, node: AstNode) -> Compiled:
        """How to evaluate a node; a node at two places is compiled once, as its scope is one."""
        found = self._plans.get(id(node))
        if found is None:
            found = self._plans[id(node)] = self._plan(node)
        return found

    def _plan(self, node: AstNode) -> Compiled:
        if isinstance(node, Literal):
            return constant(node.value)
        if isinstance(node, Ident):
            if node.constant is not None:
                return constant(node.constant)
            return selection(self._variable(node.name), (), 1)
        if isinstance(node, Select):
            return self._select(node)
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, ListNode):
            return self._list(node)
        if isinstance(node, MapNode):
            return self._map(node)
        assert isinstance(node, Comprehension)  # noqa: S101 (messages were rejected)
        return self._comprehension(node)

    def _variable(self, name: str) -> Run:
        return next(scope[name] for scope in reversed(self._scopes) if name in scope)

    def _new_slot(self) -> int:
        self.size += 1
        return self.size - 1

    # Selections

    def _select(self, node: Select) -> Compiled:
        if node.constant is not None:
            return constant(node.constant)
        qualifier = Qualifier(node.field, test_only=node.test_only)
        plan = _extended(self.plan(node.operand), qualifier)
        if not node.test_only:
            return plan
        # parity: Kubernetes takes one unit back, of a condition even more than it cost.
        base = plan.base or plan.run
        # Inside of a condition it is not even seen as a test.
        branch = selection(base, plan.qualifiers, 0).run
        run = selection(base, plan.qualifiers, plan.own_cost - 1).run
        return Compiled(tested(run), branch=branch)

    def _index(self, node: Call, *, optional: bool) -> Compiled:
        operand, index = (self.plan(arg) for arg in node.args)
        if index.constant is not MISSING:
            if not is_key(index.constant):
                kind = type_name(index.constant)
                raise PlanError(f"invalid qualifier type: {kind}")
            qualifier = Qualifier(index.constant, optional=optional)
        else:
            qualifier = Qualifier(None, without_own_cost(index), optional=optional)
        return _extended(operand, qualifier)

    # Calls

    def _call(self, node: Call) -> Compiled:
        function = node.function
        if function == "_[_]":
            return self._index(node, optional=False)
        if function in ("_[?_]", "_?._"):
            return self._index(node, optional=True)
        plans = [self.plan(operand) for operand in node.operands]
        if function in ("_&&_", "_||_"):
            return Compiled(_logical([plan.run for plan in plans], decisive=function == "_||_"))
        if function == "_?_:_":
            return _conditional(plans)
        if function in ("or", "orValue"):
            return Compiled(
                _first_present(plans[0].run, plans[1].run, unwrap=function == "orValue")
            )
        try:
            return call_plan(node, plans)
        except (CelValueError, ValueError) as error:
            raise PlanError(str(error)) from error

    # Literals

    def _list(self, node: ListNode) -> Compiled:
        plans = [self.plan(element) for element in node.elements]
        if all(plan.constant is not MISSING for plan in plans) and not node.optional:
            return constant([plan.constant for plan in plans])
        parts = [(plan.run, i in node.optional) for i, plan in enumerate(plans)]

        def make(frame: Frame) -> Value:
            values: list[Value] = []
            frame[COST] += LIST
            for run, optional in parts:
                value = run(frame)
                if optional:
                    value = _part(value)
                    if value is MISSING:
                        continue
                values.append(value)
            return values

        return Compiled(make)

    def _map(self, node: MapNode) -> Compiled:
        parts = [(self.plan(key), self.plan(value), opt) for key, value, opt in node.entries]

        def build(frame: Frame) -> Value:
            entries: dict[Any, Value] = {}
            for key_plan, value_plan, optional in parts:
                key = inner_key(key_plan.run(frame))
                value = value_plan.run(frame)
                if optional:
                    value = _part(value)
                    if value is MISSING:
                        entries.pop(key, None)
                        continue
                entries[key] = value
            return CelMap(entries)

        if all(k.constant is not MISSING and v.constant is not MISSING for k, v, _ in parts):
            if any(optional for _, _, optional in parts):
                return Compiled(build)
            for key_plan, _, _ in parts:
                try:
                    inner_key(key_plan.constant)
                except Exception as error:
                    raise PlanError(str(error)) from error
            return constant(build([0]))

        def make(frame: Frame) -> Value:
            frame[COST] += MAP
            return build(frame)

        return Compiled(make)

    # Comprehensions

    def _comprehension(self, node: Comprehension) -> Compiled:
        if node.accu_var != ACCUMULATOR:
            return self._binding(node)
        loop = Loop(node, self.plan(node.iter_range).run, self._new_slot(), self._new_slot())
        names = {node.iter_var: _slot(loop.first)}
        if node.iter_var2:
            names[node.iter_var2] = _slot(loop.second)
        self._scopes.append(names)
        try:
            return Compiled(loop_run(loop, self.plan))
        finally:
            self._scopes.pop()

    def _binding(self, node: Comprehension) -> Compiled:
        """``cel.bind``: the value is computed when it is first used."""
        slot = self._new_slot()
        init = self.plan(node.accu_init).run

        def bound(frame: Frame) -> Value:
            value = frame[slot]
            if value is MISSING:
                try:
                    value = init(frame)
                except CelValueError as error:
                    value = error
                frame[slot] = value
            if isinstance(value, CelValueError):
                raise value
            return value

        self._scopes.append({node.accu_var: bound})
        result = self.plan(node.result).run
        self._scopes.pop()

        def run(frame: Frame) -> Value:
            frame[slot] = MISSING
            return result(frame)

        return Compiled(run)


def _slot(place: int) -> Run:
    def variable(frame: Frame) -> Value:
        return frame[place]

    return variable


def _extended(plan: Compiled, qualifier: Qualifier) -> Compiled:
    """A selection from what another part is."""
    if plan.base is not None:
        return selection(plan.base, (*plan.qualifiers, qualifier), plan.own_cost)
    return selection(plan.run, (qualifier,), 1)


def _part(value: Value) -> Value:
    """The value of a ``?`` element or entry, or MISSING."""
    if type(value) is not Optional:
        shown = show_key(value)
        raise CelValueError(f"cannot initialize optional element from non-optional value {shown}")
    return value.value


_NO_OVERLOAD: Final = "no such overload"


def _logical(terms: list[Run], *, decisive: bool) -> Run:
    """``||`` (decided by true) and ``&&`` (decided by false), which forgive errors in others."""

    def logical(frame: Frame) -> bool:
        problem: CelValueError | None = None
        for term in terms:
            try:
                value = term(frame)
            except CelValueError as error:
                problem = problem or error
                continue
            if value is decisive:
                return bool(decisive)
            if type(value) is not bool:
                problem = problem or CelValueError(_NO_OVERLOAD)
        if problem is not None:
            raise problem
        return not decisive

    return logical


def _conditional(plans: list[Compiled]) -> Compiled:
    condition = plans[0].run
    if_true, if_false = without_own_cost(plans[1]), without_own_cost(plans[2])

    def choose(frame: Frame) -> Value:
        value = condition(frame)
        check_cost(frame)
        if value is True:
            return if_true(frame)
        if value is False:
            return if_false(frame)
        raise CelValueError(_NO_OVERLOAD)

    return selection(choose, (), 0)


def _first_present(first: Run, second: Run, *, unwrap: bool) -> Run:
    def run(frame: Frame) -> Value:
        optional = first(frame)
        if type(optional) is not Optional:
            return optional
        if optional.value is MISSING:
            return second(frame)
        return optional.value if unwrap else optional

    return run
