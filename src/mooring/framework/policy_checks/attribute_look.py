"""A static look at the attributes that functions read of pods, nodes and what belongs to them.

Conservative: only parameters that are plainly such an object are followed (a policy's function gets
them by position, others say so in an annotation), what such an object holds according to the model,
and variables that are bound once to one of these. Nothing is run, and whatever is not plain is
taken for right: a false alarm would keep a good policy from running. So is what may never run
(`reachability`), and what the policy's files look for or add themselves.
"""

# ruff: noqa: D102 - ast names the methods

import ast
import contextlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from mooring.framework.policy_checks import scopes
from mooring.framework.policy_checks.attribute_types import (
    KnownType,
    attribute_type,
    element_type,
    exists,
    known_type,
    unknown_attribute,
)
from mooring.framework.policy_checks.reachability import hides_the_rest, may_never_run
from mooring.framework.policy_checks.scopes import FunctionNode
from mooring.framework.policy_checks.sources import OUR_MODULES, Problem, Source

#: What the parameters of a function hold, for functions whose caller is known.
Roles = Mapping[ast.AST, Mapping[str, KnownType]]


def attribute_problems(
    source: Source,
    roles: Roles,
    names: Mapping[str, Any],
    added: AbstractSet[str] = frozenset(),
) -> list[Problem]:
    """The attributes in a file that do not exist.

    Args:
        source: the file.
        roles: what its policy's functions get.
        names: the names of the module, for its annotations.
        added: attributes that may be there although no class of the model has them.
    """
    look = AttributeLook(roles, names, added)
    # An expression may have thousands of parts; what was found before it is right.
    with contextlib.suppress(RecursionError):
        look.visit(source.tree)
    return [Problem(source.file, line, text) for line, text in look.found]


class AttributeLook(ast.NodeVisitor):
    """Reads code, and finds the attributes that do not exist.

    Args:
        roles: what functions get whose caller is known.
        names: the names of the module, for its annotations.
        added: attributes that may be there although no class of the model has them.
    """

    def __init__(
        self, roles: Roles, names: Mapping[str, Any], added: AbstractSet[str] = frozenset()
    ) -> None:
        self.found: list[tuple[int, str]] = []
        self._roles = roles
        self._names = names
        self._added = added
        self._known: dict[str, KnownType] = {}
        self._questioned: set[str] = set()
        #: The names that functions around this place bind.
        self._own: set[str] = set()
        #: How many things around this place make it harmless to read what does not exist.
        self._harmless = 0

    # -- reading an attribute

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.visit(node.value)
        owner = self._type(node.value)
        if owner is None or owner.many or self._harmless or not isinstance(node.ctx, ast.Load):
            return
        self.read(owner.kind, node)

    def read(self, kind: type, node: ast.Attribute) -> None:
        """Note an attribute of something of a known class that is read for certain."""
        if node.attr not in self._added and not exists(kind, node.attr):
            text = unknown_attribute(kind, node.attr, ast.unparse(node.value))
            self.found.append((node.lineno, text))

    def _type(self, node: ast.expr) -> KnownType | None:
        """What an expression plainly holds."""
        if isinstance(node, ast.Name):
            return self._known.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self._type(node.value)
            return attribute_type(owner.kind, node.attr) if owner and not owner.many else None
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            many = self._type(node.value)
            return element_type(many) if many and isinstance(node.slice.value, int) else None
        return None

    def _element(self, node: ast.expr) -> KnownType | None:
        many = self._type(node)
        return element_type(many) if many is not None else None

    # -- who catches errors

    def visit_Try(self, node: ast.Try) -> None:
        with self._harmless_if(bool(node.handlers)):
            self._block(node.body)
        self._rest_of_try(node)

    def visit_TryStar(self, node: ast.TryStar) -> None:
        with self._harmless_if(True):
            self._block(node.body)
        self._rest_of_try(node)

    def _rest_of_try(self, node: ast.Try | ast.TryStar) -> None:
        self._visit_all(node.handlers)
        self._block(node.orelse)
        self._block(node.finalbody)

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        # A context manager may catch errors, as `contextlib.suppress` does.
        with self._harmless_if(True):
            self.generic_visit(node)

    visit_AsyncWith = visit_With  # noqa: N815 - ast names it so

    @contextlib.contextmanager
    def _harmless_if(self, harmless: bool) -> Iterator[None]:
        self._harmless += harmless
        yield
        self._harmless -= harmless

    # -- what may never run

    def generic_visit(self, node: ast.AST) -> None:
        for _, part in ast.iter_fields(node):
            if isinstance(part, ast.AST):
                self.visit(part)
            elif isinstance(part, list) and part and isinstance(part[0], ast.stmt):
                self._block(part)
            elif isinstance(part, list):
                self._visit_all([one for one in part if isinstance(one, ast.AST)])

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        hidden = 0
        for statement in statements:
            self.visit(statement)
            hides = not hidden and hides_the_rest(statement, self._own)
            hidden += hides
            self._harmless += hides
        self._harmless -= hidden

    def visit_If(self, node: ast.If | ast.While) -> None:
        self.visit(node.test)
        yes, no = may_never_run(node.test, self._own)
        with self._harmless_if(yes):
            self._block(node.body)
        with self._harmless_if(no):
            self._block(node.orelse)

    visit_While = visit_If  # noqa: N815 - ast names it so

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        yes, no = may_never_run(node.test, self._own)
        with self._harmless_if(yes):
            self.visit(node.body)
        with self._harmless_if(no):
            self.visit(node.orelse)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        first_is = 0 if isinstance(node.op, ast.And) else 1
        with contextlib.ExitStack() as stack:
            for one in node.values:
                self.visit(one)
                hides = may_never_run(one, self._own)[first_is]
                stack.enter_context(self._harmless_if(hides))

    # -- scopes

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._visit_all([*node.decorator_list, *node.args.defaults])
        parameters = self._parameters(node)
        with self._inside(node, node.body, scopes.all_parameters(node), parameters):
            self._block(node.body)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - ast names it so

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_all(node.args.defaults)
        body: list[ast.stmt] = [ast.Expr(node.body)]
        with self._inside(node, body, scopes.all_parameters(node), self._roles.get(node, {})):
            self.visit(node.body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_all([*node.decorator_list, *node.bases])
        with self._inside(node, node.body, [], {}):
            self._block(node.body)

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> None:
        self._comprehension(node.generators, [node.elt])

    visit_SetComp = visit_ListComp  # noqa: N815 - ast names it so
    visit_GeneratorExp = visit_ListComp  # noqa: N815 - ast names it so

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._comprehension(node.generators, [node.key, node.value])

    def _comprehension(self, loops: list[ast.comprehension], parts: list[ast.expr]) -> None:
        before = self._known, self._own, self._harmless
        self._known, self._own = dict(self._known), set(self._own)
        for loop in loops:
            self.visit(loop.iter)
            one = self._element(loop.iter)
            for target in ast.walk(loop.target):
                if isinstance(target, ast.Name):
                    self._known.pop(target.id, None)
                    self._own.add(target.id)
            self._learn(loop.target, one)
            for test in loop.ifs:
                self.visit(test)
                self._harmless += may_never_run(test, self._own)[0]
        self._visit_all(parts)
        self._known, self._own, self._harmless = before

    @contextlib.contextmanager
    def _inside(
        self,
        node: ast.AST,
        body: list[ast.stmt],
        parameters: list[str],
        known: Mapping[str, KnownType],
    ) -> Iterator[None]:
        """What is known in a scope of its own."""
        before = self._known, self._questioned, self._own
        bound = scopes.bound_in(body)
        self._own = self._own | {*bound, *parameters} - scopes.imported_in(body)
        self._questioned = self._questioned | scopes.questioned_in(node)
        taken = {*bound, *parameters, *self._questioned}
        self._known = {name: one for name, one in self._known.items() if name not in taken}
        for name, one in known.items():
            if name not in bound and name not in self._questioned:
                self._known[name] = one
        if not isinstance(node, ast.ClassDef):
            once = {name for name, times in bound.items() if times == 1}
            self._learn_variables(body, once - {*parameters})
        yield
        self._known, self._questioned, self._own = before

    def _learn_variables(self, body: list[ast.stmt], once: set[str]) -> None:
        """Follow the variables that are bound once, in the order in which they are written."""
        binding = [one for one in scopes.own_scope(body) if isinstance(one, ast.For | ast.Assign)]
        for one in sorted(binding, key=lambda node: (node.lineno, node.col_offset)):
            if isinstance(one, ast.For):
                target, value = one.target, self._element(one.iter)
            else:
                target, value = one.targets[0], self._type(one.value)
            if isinstance(target, ast.Name) and target.id in once:
                self._learn(target, value)

    def _learn(self, target: ast.expr, value: KnownType | None) -> None:
        if value is None or not isinstance(target, ast.Name):
            return
        if target.id not in self._questioned:
            self._known[target.id] = value

    # -- parameters

    def _parameters(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, KnownType]:
        found = dict(self._roles.get(node, {}))
        for one in scopes.parameters_of(node):
            value = self._annotated(one.annotation)
            if value is not None and one.arg not in found:
                found[one.arg] = value
        return found

    def _annotated(self, annotation: ast.expr | None) -> KnownType | None:
        """What an annotation plainly names; None if it is anything but a class of the model."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            with contextlib.suppress(SyntaxError, ValueError):
                return self._annotated(ast.parse(annotation.value, mode="eval").body)
            return None
        found = self._value(annotation)
        return known_type(found) if isinstance(found, type) else None

    def _value(self, node: ast.expr | None) -> object:
        if isinstance(node, ast.Name):
            return self._names.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self._value(node.value)
            if inspect.ismodule(owner):
                # Our own modules import their names when they are first read.
                ours = owner.__name__ in OUR_MODULES
                return getattr(owner, node.attr, None) if ours else vars(owner).get(node.attr)
        return None

    def _visit_all(self, nodes: list[Any]) -> None:
        for node in nodes:
            self.visit(node)


def roles_of(
    function: FunctionNode, types: tuple[Any, ...], *, method: bool
) -> dict[str, KnownType]:
    """What the parameters of a function hold whose caller is known.

    Args:
        function: the function.
        types: what it is called with.
        method: whether an object comes first.
    """
    given = scopes.parameters_of(function)[1 if method else 0 :]
    found = {one.arg: known_type(hint) for one, hint in zip(given, types, strict=False)}
    return {name: value for name, value in found.items() if value is not None}
