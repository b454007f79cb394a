"""Selectors of devices: what they say of a device, and what they say of themselves if wrong."""

import inspect
import sys

import pytest

from mooring.cel.device_selector import (
    CelCompileError,
    CelCostError,
    CelRuntimeError,
    CompiledSelector,
    DeviceInput,
    InvalidAttribute,
    Version,
    compile_selector,
)
from mooring.model.quantity import parse_quantity

DRIVER = "dra.example.com"


def device(**attributes: int | bool | str | Version | InvalidAttribute) -> DeviceInput:
    return DeviceInput(DRIVER, attributes=attributes, capacity={"memory": parse_quantity("1Mi")})


ALL = """
device.capacity["dra.example.com"].memory.isGreaterThan(quantity("1Ki")) &&
device.attributes["dra.example.com"].bool &&
device.attributes["dra.example.com"].int > 0 &&
device.attributes["dra.example.com"].string == "fish" &&
device.attributes["dra.example.com"].version.isGreaterThan(semver("0.0.1")) &&
device.capacity["dra.example.com"]["memory"].isGreaterThan(quantity("1Ki")) &&
device.attributes["dra.example.com"]["bool"] &&
device.attributes["dra.example.com"]["int"] > 0 &&
device.attributes["dra.example.com"]["string"] == "fish" &&
device.attributes["dra.example.com"]["version"].isGreaterThan(semver("0.0.1"))
"""


@pytest.mark.parametrize(
    ("expression", "matches"),
    [
        ("true", True),
        ("false", False),
        ('device.driver == "dra.example.com"', True),
        ('device.driver == ""', False),
        ('device.attributes["dra.example.com"].bool', True),
        ('device.attributes["dra.example.com"]["bool"]', True),
        ('device.attributes["dra.example.com"].int > 0', True),
        ('device.attributes["dra.example.com"].string == "fish"', True),
        ('device.attributes["other.example.com"].size() == 0', True),
        ('"other.example.com" in device.attributes', False),
        ('"dra.example.com" in device.attributes', True),
        ('cel.bind(dra, device.attributes["dra.example.com"], dra.bool && dra.int == 1)', True),
        ('device.attributes["dra.example.com"].version.isLessThan(semver("v2", true))', True),
        ('device.attributes.exists_one(x, x == "dra.example.com")', True),
        ('device.attributes["dra.example.com"].exists_one(x, x == "string")', True),
        ('device.attributes["dra.example.com"].string.split("i").size() >= 2', True),
        ('device.attributes["dra.example.com"].string.matches("^[^a]?ish$")', True),
        ('device.capacity.exists_one(x, x == "dra.example.com")', True),
        ('"name" in device.capacity["dra.example.com"]', False),
        ("device.allowMultipleAllocations == false", True),
        ('device.attributes["dra.example.com"].?zip.orValue("x") == "x"', True),
        (ALL, True),
    ],
)
def test_selectors_read_devices(expression: str, matches: bool) -> None:
    fish = device(bool=True, int=1, string="fish", version=Version("1.0.0"))
    assert compile_selector(expression).error is None
    assert compile_selector(expression).matches(fish) is matches


def test_a_qualified_name_belongs_to_its_domain() -> None:
    shared = DeviceInput(DRIVER, attributes={"other.example.com/x": 1}, capacity={"x": "2Gi"})
    assert compile_selector('device.attributes["other.example.com"].x == 1').matches(shared)
    assert compile_selector('!("dra.example.com" in device.attributes)').matches(shared)
    assert compile_selector('device.capacity["dra.example.com"].x == quantity("2Gi")').matches(
        shared
    )


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ('device.attributes["no-such-domain"].noSuchAttr', "no such key: noSuchAttr"),
        ('device.attributes["dra.example.com"].int', "CEL result of type int"),
        ("1 / (device.driver == '' ? 1 : 0) == 1", "division by zero"),
        ("9223372036854775807 + 1 == 0", "integer overflow"),
    ],
)
def test_an_expression_may_fail_for_a_device(expression: str, message: str) -> None:
    with pytest.raises(CelRuntimeError, match=message):
        compile_selector(expression).matches(device(int=1))


def test_errors_are_forgiven_by_logic() -> None:
    for expression in (
        "1 / 0 == 1 || true",
        "!(1 / 0 == 1 && false)",
        "[0, 1].exists(x, 1 / x == 1)",
    ):
        assert compile_selector(expression).matches(device())


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("?!", "ERROR: <input>:1:1: Syntax error: mismatched input '?'\n | ?!\n | ^"),
        ("true &&\n  nope", "ERROR: <input>:2:3: undeclared reference to 'nope' (in container '')"),
        ("device.nope", "ERROR: <input>:1:7: undefined field 'nope'"),
        (
            'device.driver == 1',
            ("ERROR: <input>:1:15: found no matching overload for '_==_' applied to '(string, int)'"
             "\n | device.driver == 1\n | ..............^"),
        ),
        ("1", "must evaluate to bool or the unknown type, not int"),
        ('"x".matches("[")', "ERROR: <input>:1:13: invalid matches argument"),
        ("[1, 'a'] == []", "ERROR: <input>:1:5: expected type 'int' but found 'string'"),
        ("Foo{a: 1} == null", "ERROR: <input>:1:4: undeclared reference to 'Foo'"),
        ("has(1)", "ERROR: <input>:1:5: invalid argument to has() macro"),
        ("int('x') == 1", "type conversion error from 'string' to 'int'"),
    ],
)  # fmt: skip
def test_a_wrong_expression_says_where_and_why(expression: str, message: str) -> None:
    selector = compile_selector(expression)
    assert selector.error is not None
    assert message in selector.error
    with pytest.raises(CelCompileError):
        selector.matches(device())


def test_an_invalid_attribute_makes_every_selector_fail() -> None:
    with pytest.raises(CelRuntimeError, match="attribute model: unsupported attribute value"):
        compile_selector("true").matches(device(model=InvalidAttribute()))


LOOP = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
NESTED = "true"
for depth in range(7):
    NESTED = f"{LOOP}.all(x{depth}, {NESTED})"


def doubled(times: int, step: str, first: str, last: str) -> str:
    """An expression whose variables follow each other: P is the one before, V the last one."""
    expression = last.replace("V", f"v{times}")
    for number in range(times, 0, -1):
        made = step.replace("P", f"v{number - 1}")
        expression = f"cel.bind(v{number}, {made}, {expression})"
    return f"cel.bind(v0, {first}, {expression})"


@pytest.mark.parametrize(
    "expression",
    [
        NESTED,
        doubled(40, "P + P", "'ab'", "size(V) > 0"),
        doubled(40, "P + P", "b'ab'", "size(V) > 0"),
        doubled(40, "P + P", "[1]", "size(V) > 0"),
        doubled(40, "[P, P]", "[1]", "V == V"),
        doubled(40, "[P, P]", "[1]", "V != V"),
        doubled(40, "[dyn(1), dyn(P), dyn(P)]", "[dyn(1)]", "V == V"),
        doubled(40, "{1: P, 2: P}", "{1: 1}", "V == V"),
        doubled(40, "[P, P]", "[1]", "V in [V]"),
        doubled(40, "[P, P]", "[1]", "[V].indexOf(V) == 0"),
        doubled(40, "[P, P]", "[1]", "sets.contains([V], [V])"),
        doubled(40, "[P, P]", "[1]", "[V, V].distinct().size() == 1"),
        doubled(40, "[P, P]", "[1]", "'%s'.format([V]) == ''"),
        doubled(40, "{1: P, 2: P}", "{1: 1}", "'%s'.format([V]) == ''"),
        doubled(40, "'%s%s'.format([P, P])", "'ab'", "size(V) > 0"),
        doubled(16, "P + P", "'(a|b)'", "'b'.matches(V)"),
        doubled(16, "[P, P]", "[1]", "lists.range(99).exists(i, V != V)"),
        "optional.of(1)" + ".optMap(x, x)" * 100 + ".hasValue()",
        "sets.contains(lists.range(30000), lists.range(30000).reverse())",
        "lists.range(90000).distinct().size() > 0",
        "lists.range(1000000000).size() > 0",
        "lists.range(100000).map(x, lists.range(100000)).size() > 0",
        "cel.bind(a, lists.range(90000), lists.range(1000).all(x, size(a + a) > 0))",
        "lists.range(40000).all(x, !('aaaaaaaaaaaaaaaab').matches('(a?){200}c' + 'd'))",
        f"'{'a' * 5000}'.replace('', '{'b' * 5000}').size() > 0",
    ],
)  # fmt: skip
def test_what_costs_too_much_is_stopped(expression: str) -> None:
    with pytest.raises(CelCostError):
        compile_selector(expression).matches(device())


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 100_000,
        "(" * 5_000 + "true" + ")" * 5_000,
        "[" * 5_000,
        "a." * 20_000 + "b",
        "!" * 50_000 + "true" + "(",
        "true ? " * 3_000 + "true",
        "dyn(" * 3_000 + "1" + ")" * 3_000,
        "x" * 100_001,
        '"' + "\\" * 9_999,
        "'a'.matches('" + "(" * 3_000 + ")" * 3_000 + "')",
        "'a'.matches('((a{100}){100}){100}')",
        "1" * 10_000 + " == 1",
        doubled(40, "{P: P}", "1", "V == {}"),
        doubled(40, "[{}, {P: P}]", "[]", "V == []"),
        doubled(40, "[{}, {P: P}][0]", "{}", "V == {}"),
        doubled(40, "true ? {} : {P: P}", "{}", "V == {}"),
    ],
)
def test_hostile_expressions_are_rejected(expression: str) -> None:
    assert compile_selector(expression).error is not None


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|a)*$", "(a*)*b", "(a|aa)+$", "(.*a){20}", "a{0,30}a{30}"]
)
def test_no_pattern_makes_matching_explode(pattern: str) -> None:
    text = "a" * 64 + "!"
    assert compile_selector(f"'{text}'.matches('{pattern}') || true").matches(device())
    assert compile_selector(f"'{text}'.find('{pattern}').size() >= 0").matches(device())


@pytest.mark.parametrize(
    "expression",
    [
        "optional.of(1)" + ".optMap(x, x + 1)" * 10 + " == optional.of(11)",
        "{[1]: 1}.map(key, key) == [[1]]",
        "!([1] in {[1]: 1})",
        "!(dyn([1]) in [1, 2])",
        "cel.bind(one, [1], {one: 1} != {one: 2})",
    ],
)
def test_unusual_expressions_that_hold(expression: str) -> None:
    assert compile_selector(expression).matches(device())


@pytest.mark.parametrize(
    "expression",
    [
        "!(" * 240 + "device.driver != ''" + ")" * 240,
        "1 + (" * 120 + "size(device.driver)" + ")" * 120 + " > 0",
        "device.driver == '' || (" * 200 + "true" + ")" * 200,
        "".join(f"[1].all(v{n}, " for n in range(100)) + "true" + ")" * 100,
    ],
)
@pytest.mark.parametrize("frames", [0, 900])
def test_nested_expressions_work_wherever_they_are_called(expression: str, frames: int) -> None:
    selector = compile_selector(expression)

    def called_from(depth: int) -> bool:
        return called_from(depth - 1) if depth else selector.matches(device())

    free = sys.getrecursionlimit() - len(inspect.stack(0))
    assert called_from(max(0, frames - 1000 + free - 20))


def test_whatever_goes_wrong_is_an_error_of_the_expression() -> None:
    def divided(_: object) -> float:
        return 1 / 0

    with pytest.raises(CelRuntimeError, match="internal error: division by zero"):
        CompiledSelector("x", divided, 3, None).matches(device())
