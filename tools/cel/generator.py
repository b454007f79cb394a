"""Random expressions, most of them well typed, from a seed."""

import random
from collections.abc import Callable, Iterator
from typing import Final

from tools.cel.devices import DEVICES

_STRINGS: Final = [
    '""', '"a"', '"A100"', "'model'", '"gpu.example.com"', '"1.2.3"', '"v1.2"', '"2Gi"', '"500m"',
    '"10.0.0.1"', '"::1"', '"10.0.0.0/8"', '"https://a.example:8080/p?q=1#f"', '"abcabc"',
    '"a,b,c"', '" x "', '"Ünï✓"', 'r"\\d+"', '"^a"', '"[0-9]+"', '"\\u00e9"', '"1"', '"true"',
    '"2024-02-29T12:00:00Z"', '"1h30m"', '"""triple "q" """', '"-5"', '"3.5"', '"aXbXc"', '"X"',
]  # fmt: skip
_INTS: Final = [
    "0",
    "1",
    "2",
    "3",
    "-1",
    "7",
    "42",
    "100",
    "0x1F",
    "9223372036854775807",
    "-9223372036854775808",
]
_UINTS: Final = ["0u", "1u", "2u", "3u", "18446744073709551615u", "0xFFu"]
_DOUBLES: Final = ["0.0", "1.0", "1.5", "-2.25", "1e3", "3.0", ".5", "1e300", "100000000.0"]
_BYTES: Final = ['b""', 'b"a"', "b'abc'", 'b"\\xff"', 'b"\\101"']
_DURATIONS: Final = ['duration("1h")', 'duration("90s")', 'duration("-1.5s")', 'duration("0")']
_TIMESTAMPS: Final = [
    'timestamp("2024-02-29T12:00:00Z")', 'timestamp("1970-01-01T00:00:00.5+01:00")',
    "timestamp(0)",
]  # fmt: skip
_QUANTITIES: Final = [
    'quantity("2Gi")', 'quantity("500m")', 'quantity("80Gi")', 'quantity("0")', 'quantity("-1")',
    'device.capacity["gpu.example.com"].memory', 'device.capacity["gpu.example.com"].cores',
    'device.capacity["other.example.com"].share', 'device.capacity["nic.example.com"].bandwidth',
]  # fmt: skip
_SEMVERS: Final = [
    'semver("1.2.3")',
    'semver("1.2.3-rc.1")',
    'semver("535.104.6")',
    'semver("v1.2", true)',
]
_ATTRIBUTES: Final = [
    'device.attributes["gpu.example.com"].model', 'device.attributes["gpu.example.com"].index',
    'device.attributes["gpu.example.com"].healthy', 'device.attributes["gpu.example.com"]["uuid"]',
    'device.attributes["gpu.example.com"].driverVersion',
    'device.attributes["nic.example.com"].firmware', 'device.attributes["nic.example.com"].speed',
    'device.attributes["other.example.com"].numa', 'device.attributes["nope.example.com"].x',
    'device.attributes[device.driver].model', 'device.attributes[device.driver].missing',
    'device.attributes["gpu.example.com"].empty',
]  # fmt: skip
SCALARS: Final = ("int", "uint", "double", "string", "bool")


class Generator:
    """Makes expressions of wanted types; sometimes on purpose of another one."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._variables: list[tuple[str, str]] = []

    def cases(self) -> Iterator[dict[str, str]]:
        """Expressions, each with the name of a device, without end."""
        pick = self._random
        while True:
            self._variables = []
            text = self._make("bool", pick.randint(1, 4))
            if pick.random() < 0.05:
                text = self._make(pick.choice(["any", "int", "list:int", "type"]), 2)
            if pick.random() < 0.06:
                text = self._broken(text)
            names = [*["gpu"] * 6, *["nic"] * 3, *DEVICES]
            yield {"expression": text, "device": pick.choice(names)}

    def _broken(self, text: str) -> str:
        pick = self._random
        at = pick.randrange(len(text))
        return pick.choice([
            text[:at] + text[at + 1 :],
            text[:at] + pick.choice("()[]{}.,:?'\"\\+-*/!=<>&|x1 \n") + text[at:],
            text[:at],
        ])  # fmt: skip

    def _name(self) -> str:
        return f"v{len(self._variables)}"

    def _make(self, kind: str, depth: int) -> str:
        pick = self._random
        if pick.random() < 0.02:
            kind = pick.choice(
                [*SCALARS, "any", "list:int", "map", "null", "optional:int", "bytes"]
            )
        known = [name for name, of in self._variables if of == kind]
        if known and pick.random() < 0.4:
            return pick.choice(known)
        if pick.random() < 0.04 and depth > 0:
            return f"({self._make('bool', depth - 1)} ? {self._make(kind, depth - 1)} : {self._make(kind, depth - 1)})"
        if pick.random() < 0.03 and depth > 0:
            return self._bind(kind, depth - 1)
        if pick.random() < 0.03:
            return f"dyn({self._make(kind, depth - 1)})"
        kind, _, inner = kind.partition(":")
        maker: Callable[[int, str], str] = getattr(self, f"_{kind}")
        return maker(depth, inner)

    def _bind(self, kind: str, depth: int) -> str:
        of = self._random.choice(["int", "string", "any", "list:int", "map"])
        name = self._name()
        value = self._make(of, depth)
        self._variables.append((name, of))
        body = self._make(kind, depth)
        self._variables.pop()
        return f"cel.bind({name}, {value}, {body})"

    def _with(self, names: list[tuple[str, str]], kind: str, depth: int) -> str:
        self._variables += names
        body = self._make(kind, depth)
        del self._variables[len(self._variables) - len(names) :]
        return body

    def _choose(self, depth: int, plain: list[str], forms: list[Callable[[], str]]) -> str:
        pick = self._random
        if plain and (depth <= 0 or pick.random() < 0.25):
            return pick.choice(plain)
        return pick.choice(forms)()

    def _bool(self, depth: int, _: str = "") -> str:
        d = depth - 1
        make, pick = self._make, self._random
        comparison = pick.choice(["<", "<=", ">", ">=", "==", "!="])

        def compared() -> str:
            of = pick.choice(
                [
                    "int",
                    "uint",
                    "double",
                    "string",
                    "bytes",
                    "duration",
                    "timestamp",
                    "int",
                    "string",
                ]
            )
            other = (
                pick.choice(["int", "uint", "double"])
                if of in ("int", "uint", "double") and comparison not in ("==", "!=")
                else of
            )
            return f"{make(of, d)} {comparison} {make(other, d)}"

        def equal() -> str:
            of = pick.choice([
                "any", "any", "any", "list:int", "map", "null", "optional:int", "type", "quantity",
                "semver", "ip", "cidr", "bool", "list:string", "url",
            ])  # fmt: skip
            other = pick.choice([*SCALARS, "any"]) if of == "any" else of
            return f"{make(of, d)} {pick.choice(['==', '!='])} {make(other, d)}"

        def inside() -> str:
            of = pick.choice(["int", "string", "double", "uint", "any"])
            if pick.random() < 0.3:
                return f"{make('string', d)} in {pick.choice(['device.attributes', 'device.capacity', make('map', d)])}"
            return f"{make(of, d)} in {make('list:' + (of if of != 'any' else 'string'), d)}"

        def quantified() -> str:
            of = pick.choice(["int", "string"])
            name = self._name()
            macro = pick.choice(["all", "exists", "exists_one", "existsOne"])
            items = make(f"list:{of}", d)
            return f"{items}.{macro}({name}, {self._with([(name, of)], 'bool', d)})"

        def quantified_two() -> str:
            macro = pick.choice(["all", "exists", "exists_one", "existsOne"])
            first, second = self._name(), f"{self._name()}b"
            if pick.random() < 0.5:
                items, types = make("list:int", d), ("int", "int")
            else:
                items, types = make("map", d), ("string", "int")
            body = self._with([(first, types[0]), (second, types[1])], "bool", d)
            return f"{items}.{macro}({first}, {second}, {body})"

        def tests() -> str:
            return pick.choice([
                f"has(device.attributes[{make('string', 0)}].{pick.choice(['model', 'index', 'zip'])})",
                f"has({make('map', d)}.{pick.choice('abc')})",
                f"{make('string', d)}.{pick.choice(['startsWith', 'endsWith', 'contains', 'matches'])}({make('string', d)})",
                f"matches({make('string', d)}, {make('string', d)})",
                f"{make('optional:int', d)}.hasValue()",
                f"is{pick.choice(['Quantity', 'Semver', 'IP', 'CIDR', 'URL'])}({make('string', d)})",
                f"ip.isCanonical({make('string', d)})",
                f"{make('list:int', d)}.isSorted()",
                f"{make('list:string', d)}.isSorted()",
                f"sets.{pick.choice(['contains', 'equivalent', 'intersects'])}({make('list:int', d)}, {make('list:int', d)})",
                f"isSemver({make('string', d)}, {make('bool', 0)})",
                f"format.{pick.choice(['dns1123Label', 'qualifiedName', 'uuid', 'date', 'uri', 'byte', 'labelValue', 'dns1035LabelPrefix', 'datetime', 'dns1123Subdomain'])}().validate({make('string', d)}).hasValue()",
            ])  # fmt: skip

        def of_types() -> str:
            return pick.choice([
                f"{make('quantity', d)}.{pick.choice(['isLessThan', 'isGreaterThan'])}({make('quantity', d)})",
                f"{make('semver', d)}.{pick.choice(['isLessThan', 'isGreaterThan'])}({make('semver', d)})",
                f"{make('any', 0)}.{pick.choice(['isLessThan', 'isGreaterThan'])}({make('semver', 0)})",
                f"{make('quantity', d)}.isInteger()",
                f"{make('ip', d)}.{pick.choice(['isLoopback', 'isUnspecified', 'isGlobalUnicast', 'isLinkLocalUnicast', 'isLinkLocalMulticast'])}()",
                f"{make('cidr', d)}.containsIP({make(pick.choice(['ip', 'string']), d)})",
                f"{make('cidr', d)}.containsCIDR({make(pick.choice(['cidr', 'string']), d)})",
                f"type({make('any', d)}) == {pick.choice(['int', 'string', 'bool', 'double', 'list', 'map', 'type', 'null_type'])}",
                f"device.allowMultipleAllocations == {make('bool', 0)}",
                f"bool({make('string', 0)})",
            ])  # fmt: skip

        return self._choose(depth, ["true", "false", "device.allowMultipleAllocations"], [
            compared, compared, compared, equal, equal, inside, inside, quantified,
            quantified_two, tests, tests, tests, of_types, of_types,
            lambda: f"{make('bool', d)} && {make('bool', d)}",
            lambda: f"{make('bool', d)} || {make('bool', d)}",
            lambda: f"!({make('bool', d)})",
            lambda: make("any", d),
        ])  # fmt: skip

    def _int(self, depth: int, _: str = "") -> str:
        d = depth - 1
        make, pick = self._make, self._random
        return self._choose(depth, _INTS, [
            lambda: f"{make('int', d)} {pick.choice('+-*/%')} {make('int', d)}",
            lambda: f"-({make('int', d)})",
            lambda: f"size({make(pick.choice(['string', 'bytes', 'list:int', 'map']), d)})",
            lambda: f"{make(pick.choice(['string', 'list:int']), d)}.size()",
            lambda: f"int({make(pick.choice(['string', 'double', 'uint', 'timestamp', 'duration', 'any']), d)})",
            lambda: f"{make('list:int', d)}[{make('int', 0)}]",
            lambda: f"{make('map', d)}.{pick.choice('abc')}",
            lambda: f"{make('map', d)}[{make('string', 0)}]",
            lambda: f"{make('string', d)}.{pick.choice(['indexOf', 'lastIndexOf'])}({make('string', d)})",
            lambda: f"{make('string', d)}.{pick.choice(['indexOf', 'lastIndexOf'])}({make('string', 0)}, {make('int', 0)})",
            lambda: f"{make('list:int', d)}.{pick.choice(['sum', 'min', 'max'])}()",
            lambda: f"{make('list:int', d)}.{pick.choice(['indexOf', 'lastIndexOf'])}({make('int', d)})",
            lambda: f"{make('optional:int', d)}.orValue({make('int', d)})",
            lambda: f"{make('optional:int', d)}.value()",
            lambda: make("quantity", d) + pick.choice([".asInteger()", '.compareTo(quantity("1Gi"))']),
            lambda: f"sign({make('quantity', d)})",
            lambda: f"{make('semver', d)}.{pick.choice(['major', 'minor', 'patch'])}()",
            lambda: f"{make('semver', d)}.compareTo({make('semver', d)})",
            lambda: f"{make('timestamp', d)}.{pick.choice(['getFullYear', 'getMonth', 'getDate', 'getDayOfMonth', 'getDayOfWeek', 'getDayOfYear', 'getHours', 'getMinutes', 'getSeconds', 'getMilliseconds'])}({pick.choice(['', '', chr(34) + '-08:00' + chr(34), chr(34) + '05:30' + chr(34)])})",
            lambda: f"{make('duration', d)}.{pick.choice(['getHours', 'getMinutes', 'getSeconds', 'getMilliseconds'])}()",
            lambda: f"{make('ip', d)}.family()",
            lambda: f"{make('cidr', d)}.prefixLength()",
        ])  # fmt: skip

    def _uint(self, depth: int, _: str = "") -> str:
        d = depth - 1
        return self._choose(depth, _UINTS, [
            lambda: f"{self._make('uint', d)} {self._random.choice('+-*/%')} {self._make('uint', d)}",
            lambda: f"uint({self._make(self._random.choice(['string', 'double', 'int']), d)})",
        ])  # fmt: skip

    def _double(self, depth: int, _: str = "") -> str:
        d = depth - 1
        return self._choose(depth, _DOUBLES, [
            lambda: f"{self._make('double', d)} {self._random.choice('+-*/')} {self._make('double', d)}",
            lambda: f"double({self._make(self._random.choice(['string', 'uint', 'int']), d)})",
            lambda: f"{self._make('quantity', d)}.asApproximateFloat()",
            lambda: f"-({self._make('double', d)})",
        ])  # fmt: skip

    def _string(self, depth: int, _: str = "") -> str:
        d = depth - 1
        make, pick = self._make, self._random
        return self._choose(depth, [*_STRINGS, "device.driver"], [
            lambda: f"{make('string', d)} + {make('string', d)}",
            lambda: f"string({make(pick.choice(['int', 'uint', 'double', 'bool', 'bytes', 'duration', 'timestamp', 'any', 'ip', 'cidr']), d)})",
            lambda: f"{make('string', d)}.{pick.choice(['lowerAscii', 'upperAscii', 'trim'])}()",
            lambda: f"{make('string', d)}.charAt({make('int', 0)})",
            lambda: f"{make('string', d)}.substring({make('int', 0)})",
            lambda: f"{make('string', d)}.substring({pick.randint(0, 2)}, {make('int', 0)})",
            lambda: f"{make('string', d)}.replace({make('string', 0)}, {make('string', 0)})",
            lambda: f"{make('string', d)}.replace({make('string', 0)}, {make('string', 0)}, {pick.randint(-1, 3)})",
            lambda: f"{make('list:string', d)}.join({pick.choice(['', make('string', 0)])})",
            lambda: f"{make('string', d)}.find({make('string', 0)})",
            lambda: f"{make('list:string', d)}[{pick.randint(0, 2)}]",
            lambda: f"strings.quote({make('string', d)})",
            lambda: f"{make('url', d)}.{pick.choice(['getScheme', 'getHost', 'getHostname', 'getPort', 'getEscapedPath'])}()",
            lambda: f'"%{pick.choice(["s", "d", "x", "o", "b", "e", "f", ".2f", ".1e", "X"])} %s".format([{make(pick.choice(["int", "double", "string", "any"]), d)}, {make(pick.choice(["int", "double", "string", "list:int", "map", "bool", "duration", "timestamp", "null", "bytes"]), d)}])',
        ])  # fmt: skip

    def _bytes(self, depth: int, _: str = "") -> str:
        return self._choose(depth, _BYTES, [
            lambda: f"bytes({self._make('string', depth - 1)})",
            lambda: f"{self._make('bytes', depth - 1)} + {self._make('bytes', depth - 1)}",
        ])  # fmt: skip

    def _duration(self, depth: int, _: str = "") -> str:
        make, d = self._make, depth - 1
        return self._choose(depth, _DURATIONS, [
            lambda: f"duration({make('string', d)})",
            lambda: f"{make('duration', d)} {self._random.choice('+-')} {make('duration', d)}",
            lambda: f"{make('timestamp', d)} - {make('timestamp', d)}",
        ])  # fmt: skip

    def _timestamp(self, depth: int, _: str = "") -> str:
        make, d = self._make, depth - 1
        return self._choose(depth, _TIMESTAMPS, [
            lambda: f"timestamp({make(self._random.choice(['string', 'int']), d)})",
            lambda: f"{make('timestamp', d)} {self._random.choice('+-')} {make('duration', d)}",
        ])  # fmt: skip

    def _quantity(self, depth: int, _: str = "") -> str:
        make, d = self._make, depth - 1
        return self._choose(depth, _QUANTITIES, [
            lambda: f"quantity({make('string', d)})",
            lambda: f"{make('quantity', d)}.{self._random.choice(['add', 'sub'])}({make(self._random.choice(['quantity', 'int']), d)})",
        ])  # fmt: skip

    def _semver(self, depth: int, _: str = "") -> str:
        return self._choose(depth, _SEMVERS, [
            lambda: f"semver({self._make('string', depth - 1)})",
            lambda: self._make("any", 0),
        ])  # fmt: skip

    def _ip(self, depth: int, _: str = "") -> str:
        return self._choose(depth, ['ip("10.0.0.1")', 'ip("::1")', 'ip("fe80::1")'], [
            lambda: f"ip({self._make('string', depth - 1)})",
            lambda: f"{self._make('cidr', depth - 1)}.ip()",
        ])  # fmt: skip

    def _cidr(self, depth: int, _: str = "") -> str:
        return self._choose(depth, ['cidr("10.0.0.7/8")', 'cidr("::/0")', 'cidr("fd00::/8")'], [
            lambda: f"cidr({self._make('string', depth - 1)})",
            lambda: f"{self._make('cidr', depth - 1)}.masked()",
        ])  # fmt: skip

    def _url(self, depth: int, _: str = "") -> str:
        return self._choose(depth, ['url("https://u:p@a.example:80/p%20q?x=1&y=2#f")', 'url("/a/b")'], [
            lambda: f"url({self._make('string', depth - 1)})",
        ])  # fmt: skip

    def _null(self, _depth: int, _: str = "") -> str:
        return "null"

    def _type(self, depth: int, _: str = "") -> str:
        return self._choose(depth, ["int", "string", "bool", "net.IP", "type", "bytes"], [
            lambda: f"type({self._make(self._random.choice([*SCALARS, 'any', 'list:int', 'map', 'quantity']), depth - 1)})",
        ])  # fmt: skip

    def _any(self, depth: int, _: str = "") -> str:
        return self._choose(depth, _ATTRIBUTES, [
            lambda: self._random.choice(_ATTRIBUTES),
            lambda: f"device.attributes[{self._make('string', 0)}][{self._make('string', 0)}]",
            lambda: f'device.attributes["gpu.example.com"].?{self._random.choice(["model", "index", "zip"])}.orValue({self._make(self._random.choice(SCALARS), depth - 1)})',
        ])  # fmt: skip

    def _optional(self, depth: int, inner: str = "int") -> str:
        make, d = self._make, depth - 1
        name = self._name()
        return self._choose(depth, ["optional.none()", "optional.of(1)"], [
            lambda: f"optional.of({make(inner, d)})",
            lambda: f"optional.ofNonZeroValue({make(inner, d)})",
            lambda: f"{make('map', d)}.?{self._random.choice('abc')}",
            lambda: f"{make('map', d)}[?{make('string', 0)}]",
            lambda: f"{make('list:int', d)}[?{make('int', 0)}]",
            lambda: f"{make('optional:int', d)}.or({make('optional:int', d)})",
            lambda: f"{make('list:int', d)}.{self._random.choice(['first', 'last'])}()",
            lambda: f"{make('optional:int', d)}.optMap({name}, {self._with([(name, 'int')], 'int', d)})",
            lambda: f"{make('optional:int', d)}.optFlatMap({name}, {self._with([(name, 'int')], 'optional:int', d)})",
        ])  # fmt: skip

    def _list(self, depth: int, inner: str = "int") -> str:
        make, d = self._make, depth - 1
        pick = self._random
        inner = inner or "int"
        name, second = self._name(), f"{self._name()}b"

        def literal() -> str:
            parts = [make(inner, d) for _ in range(pick.randint(0, 4))]
            if parts and pick.random() < 0.05:
                parts.append(f"?{make('optional:int', d)}")
            return f"[{', '.join(parts)}]"

        forms: list[Callable[[], str]] = [
            literal, literal, literal,
            lambda: f"{make(f'list:{inner}', d)} + {make(f'list:{inner}', d)}",
            lambda: f"{make(f'list:{inner}', d)}.filter({name}, {self._with([(name, inner)], 'bool', d)})",
            lambda: f"{make('list:int', d)}.map({name}, {self._with([(name, 'int')], inner, d)})",
            lambda: f"{make('list:int', d)}.map({name}, {self._with([(name, 'int')], 'bool', d)}, {self._with([(name, 'int')], inner, d)})",
            lambda: f"{make('list:int', d)}.transformList({name}, {second}, {self._with([(name, 'int'), (second, 'int')], inner, d)})",
            lambda: f"{make('map', d)}.transformList({name}, {second}, {self._with([(name, 'string'), (second, 'int')], 'bool', d)}, {self._with([(name, 'string'), (second, 'int')], inner, d)}).sort()",
            lambda: f"{make(f'list:{inner}', d)}.{pick.choice(['reverse', 'distinct', 'sort'])}()",
            lambda: f"{make(f'list:{inner}', d)}.slice({pick.randint(0, 2)}, {pick.randint(0, 3)})",
            lambda: f"{make(f'list:{inner}', d)}.sortBy({name}, {self._with([(name, inner)], pick.choice(['int', 'string']), d)})",
            lambda: f"[{make(f'list:{inner}', d)}, {make(f'list:{inner}', d)}].flatten()",
        ]  # fmt: skip
        if inner == "string":
            forms += [
                lambda: f"{make('string', d)}.split({make('string', 0)})",
                lambda: f"{make('string', d)}.split({make('string', 0)}, {pick.randint(-1, 3)})",
                lambda: f"{make('string', d)}.findAll({make('string', 0)})",
            ]
        if inner == "int":
            forms.append(lambda: f"lists.range({pick.randint(-1, 5)})")
        return self._choose(depth, ["[]"], forms)

    def _map(self, depth: int, _: str = "") -> str:
        make, d = self._make, depth - 1
        pick = self._random
        name, second = self._name(), f"{self._name()}b"

        def literal() -> str:
            keys = pick.sample("abc", pick.randint(0, 3))
            parts = [f'"{key}": {make("int", d)}' for key in keys]
            if parts and pick.random() < 0.1:
                parts.append(f'?"d": {make("optional:int", d)}')
            return "{" + ", ".join(parts) + "}"

        return self._choose(depth, ["{}", '{"a": 1}'], [
            literal, literal,
            lambda: f"{make('map', d)}.transformMap({name}, {second}, {self._with([(name, 'string'), (second, 'int')], 'int', d)})",
            lambda: f"{make('map', d)}.transformMap({name}, {second}, {self._with([(name, 'string'), (second, 'int')], 'bool', d)}, {self._with([(name, 'string'), (second, 'int')], 'int', d)})",
            lambda: f"{make('map', d)}.transformMapEntry({name}, {second}, {{{name} + \"x\": {second}}})",
        ])  # fmt: skip
