"""What server-side apply does with values: merge, compare, take fields out, say which there are.

`server_side_apply` calls it. Nothing that is given is changed; what is returned may share parts of
it. None is JSON's null; a value that is not there is `MISSING`.
"""

from typing import Final, NamedTuple

from mooring.embedded.patches.field_sets import FieldSet, Path, field_step
from mooring.embedded.patches.json_values import Value
from mooring.embedded.patches.typed_schema import TypeSchema

#: In place of a value that is not there.
MISSING: Final = object()

# parity v1.36.4: structured-merge-diff/v6 typed/merge.go, compare.go, remove.go, tofieldset.go


class Comparison(NamedTuple):
    """The fields in which two objects differ."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet

    def without_trees(self, ignored: FieldSet) -> "Comparison":
        """The same without some fields and what is below them."""
        return Comparison(*(one.without_trees(ignored) for one in self))


def field_set(value: Value, schema: TypeSchema) -> FieldSet:
    """The fields that a value has."""
    found = FieldSet()
    _collect(value, schema, (), found)
    return found


def _collect(value: Value, schema: TypeSchema, path: Path, found: FieldSet) -> None:
    if schema.leaf:
        found.insert(path)
    elif schema.base == "list":
        steps = [schema.step(element) for element in value or ()]
        for step, element in zip(steps, value or (), strict=True):
            here = (*path, step)
            if steps.count(step) == 1:
                _collect(element, schema.element, here, found)
            found.insert(here)
    else:
        for name, one in (value or {}).items():
            child = schema.child(name)
            if child is None:
                continue
            here = (*path, field_step(name))
            _collect(one, child, here, found)
            if one is None or one == {} or schema.base == "map":
                found.insert(here)


def compared(old: Value, new: Value, schema: TypeSchema) -> Comparison:
    """In what a new object differs from an old one."""
    found = Comparison(FieldSet(), FieldSet(), FieldSet())
    _compare(old, new, schema, (), found)
    return found


def _compare(old: Value, new: Value, schema: TypeSchema, path: Path, found: Comparison) -> None:
    if old is new:
        return
    if schema.leaf or (_is_void(old) and _is_void(new)):
        if old is MISSING:
            found.added.insert(path)
        elif new is MISSING:
            found.removed.insert(path)
        elif old != new:
            found.modified.insert(path)
        return
    if schema.base == "list":
        _compare_lists(_or(old, []), _or(new, []), schema, path, found)
    else:
        before, after = _or(old, {}), _or(new, {})
        for name in {**before, **after}:
            child = schema.child(name)
            if child is not None:
                here = (*path, field_step(name))
                _compare(before.get(name, MISSING), after.get(name, MISSING), child, here, found)
    if old is MISSING:
        found.added.insert(path)
    elif new is MISSING:
        found.removed.insert(path)


def _compare_lists(
    old: list[Value], new: list[Value], schema: TypeSchema, path: Path, found: Comparison
) -> None:
    before, after = _by_step(old, schema), _by_step(new, schema)
    for step in {**before, **after}:
        here = (*path, step)
        left, right = before.get(step, []), after.get(step, [])
        if len(left) > 1 and len(right) > 1:
            if left != right:
                found.modified.insert(here)
        elif len(left) > 1:
            if right:
                _compare(MISSING, right[0], schema.element, here, found)
            found.removed.insert(here)
        elif len(right) > 1:
            if left:
                _compare(left[0], MISSING, schema.element, here, found)
            found.added.insert(here)
        else:
            pair = (left[0] if left else MISSING, right[0] if right else MISSING)
            _compare(*pair, schema.element, here, found)


def _by_step(elements: list[Value], schema: TypeSchema) -> dict[str, list[Value]]:
    found: dict[str, list[Value]] = {}
    for element in elements:
        found.setdefault(schema.step(element), []).append(element)
    return found


def merged(live: Value, config: Value, schema: TypeSchema) -> Value:
    """What is there, with what is wanted put over it; `MISSING` if nothing is left."""
    if schema.leaf or (_is_void(live) and _is_void(config)):
        return live if config is MISSING else config
    if schema.base == "list":
        elements = _merged_lists(_or(live, []), _or(config, []), schema)
        return elements or MISSING
    before, after = _or(live, {}), _or(config, {})
    made = {}
    for name in {**before, **after}:
        child = schema.child(name)
        if child is None:
            continue
        value = merged(before.get(name, MISSING), after.get(name, MISSING), child)
        if value is not MISSING:
            made[name] = value
    return made or MISSING


def _merged_lists(live: list[Value], config: list[Value], schema: TypeSchema) -> list[Value]:
    """The elements of both: in the order of the config, with the others between them."""
    before, after = [schema.step(one) for one in live], [schema.step(one) for one in config]
    wanted = dict(zip(after, config, strict=True))
    # Several elements of one key cannot be merged with anything.
    there: dict[str, Value] = {}
    for step, element in zip(before, live, strict=True):
        there[step] = None if step in there else element
    shared = [step for step in after if step in there]
    made: list[Value] = []
    done: set[str] = set()
    left = right = 0

    def take(step: str, old: Value, new: Value) -> None:
        value = merged(old, new, schema.element)
        if value is not MISSING:
            made.append(value)
        if new is not MISSING:
            done.add(step)
            if shared and shared[0] == step:
                del shared[0]

    while left < len(before) or right < len(after):
        if left < len(before):
            step = before[left]
            if right < len(after):
                if step == after[right]:
                    take(step, there[step], wanted[step])
                    left += 1
                    right += 1
                    continue
                if step in wanted and shared and shared[0] != step:
                    left += 1  # it comes later in the config
                    continue
            if step not in wanted:
                take(step, live[left], MISSING)
                left += 1
                continue
            if step in done:
                left += 1
        if right < len(after):
            step = after[right]
            take(step, there.get(step, MISSING), wanted[step])
            right += 1
    return made


def without(value: Value, gone: FieldSet, schema: TypeSchema) -> Value:
    """A value without some fields; None if nothing is left of it."""
    if not gone or schema.base in ("string", "number", "boolean", "scalar"):
        return value
    if schema.leaf or not value:
        return None
    if schema.base == "list":
        elements = []
        for element in value:
            step = schema.step(element)
            if step not in gone.members:
                below = gone.children.get(step)
                elements.append(without(element, below, schema.element) if below else element)
        return [element for element in elements if element is not None] or None
    made = {}
    for name, one in value.items():
        step = field_step(name)
        if step in gone.members:
            continue
        below = gone.children.get(step)
        child = schema.child(name)
        made[name] = without(one, below, child) if below and child is not None else one
    return made or None


def with_named_fields(fields: FieldSet, schema: TypeSchema | None) -> FieldSet:
    """A set, with all fields of objects that something in the set is below of."""
    members = set(fields.members)
    children = {}
    for step, below in fields.children.items():
        child: TypeSchema | None = None
        if schema is not None and schema.base == "struct" and step.startswith("f:"):
            child = schema.fields.get(step[2:])
            if child is not None:
                members.add(step)
        elif schema is not None and (
            (schema.base == "map" and step.startswith("f:"))
            or (schema.base == "list" and step.startswith("k:"))
        ):
            child = schema.element
        children[step] = with_named_fields(below, child)
    return FieldSet(frozenset(members), children)


def _is_void(value: Value) -> bool:
    return value is MISSING or not value


def _or(value: Value, empty: Value) -> Value:
    return empty if value is MISSING or value is None else value
