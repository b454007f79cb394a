"""Whether what somebody applies matches the schema of its kind, in the words of server-side apply.

`server_side_apply` calls it. Values are not checked further than server-side apply needs.
"""

from mooring.embedded.patches.field_sets import field_step, path_text
from mooring.embedded.patches.json_values import Value, go_kind, go_quoted, go_text
from mooring.embedded.patches.typed_schema import SchemaMismatch, TypeSchema

# parity v1.36.4: structured-merge-diff/v6 typed/validate.go


def schema_problems(value: Value, schema: TypeSchema, path: str = "") -> list[str]:
    """What is wrong with a value, such as ``.spec.foo: field not declared in schema``."""
    if value is None or schema.base == "any":
        return []
    match schema.base:
        case "struct" | "map":
            if not isinstance(value, dict):
                return [f"{path}: expected map, got &{{{go_text(value)}}}"]
            return _map_problems(value, schema, path)
        case "list":
            if not isinstance(value, list):
                return [f"{path}: expected list, got &{{{go_text(value)}}}"]
            return _list_problems(value, schema, path)
        case "string" if not isinstance(value, str):
            return [
                f"{path}: expected string, got &value.valueUnstructured{{Value:{_syntax(value)}}}"
            ]
        case "number" if isinstance(value, bool) or not isinstance(value, int | float):
            return [f"{path}: expected numeric (int or float), got {go_kind(value)}"]
        case "boolean" if not isinstance(value, bool):
            return [f"{path}: expected boolean, got &{{{go_text(value)}}}"]
        case "scalar" if isinstance(value, dict | list):
            return [f"{path}: expected any scalar, got &{{{go_text(value)}}}"]
    return []


def _map_problems(value: dict[str, Value], schema: TypeSchema, path: str) -> list[str]:
    problems: list[str] = []
    for name, one in value.items():
        here = path + path_text((field_step(name),))
        child = schema.child(name)
        if child is None:
            return [*problems, f"{here}: field not declared in schema"]
        problems += schema_problems(one, child, here)
    return problems


def _list_problems(value: list[Value], schema: TypeSchema, path: str) -> list[str]:
    problems: list[str] = []
    seen: set[str] = set()
    for number, element in enumerate(value):
        here = f"{path}[{number}]"
        if not schema.leaf:
            try:
                step = schema.step(element)
            except SchemaMismatch as error:
                return [*problems, f"{path}: element {number}: {error}"]
            here = path + path_text((step,))
            if step in seen:
                problems.append(f"{path}: duplicate entries for key {path_text((step,))}")
            seen.add(step)
        problems += schema_problems(element, schema.element, here)
    return problems


def problems_text(problems: list[str]) -> str:
    """Problems as one text."""
    if len(problems) == 1:
        return problems[0]
    return "\n".join(["errors:", *(f"  {problem}" for problem in problems)])


def _syntax(value: Value) -> str:
    """A value as it would be written in Go."""
    match value:
        case str():
            return go_quoted(value)
        case list():
            return f"[]interface {{}}{{{', '.join(map(_syntax, value))}}}"
        case dict():
            pairs = (f"{go_quoted(key)}:{_syntax(value[key])}" for key in sorted(value))
            return f"map[string]interface {{}}{{{', '.join(pairs)}}}"
        case None:
            return "interface {}(nil)"
        case _:
            return go_text(value)
