"""Renders the part of Helm's templates that our charts use, where there is no Helm.

`make release-check` compares with the real one.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import yaml

_TOKEN = re.compile(r'"[^"]*"|`[^`]*`|[()|]|[^\s()|]+')
_DEFINED = re.compile(r'\{\{- define "(\S+)" -\}\}\n(.*?)\n\{\{- end \}\}', re.DOTALL)
_EXPRESSION = re.compile(r"\{\{-? (.*?) \}\}")


class _Function(NamedTuple):
    name: str


class ChartRenderer:
    """A chart that is rendered with its default values, or with others on top.

    Args:
        files: the chart's files.
        namespace: where it is installed.
        values: by path, on top of the defaults.
    """

    def __init__(
        self, files: Mapping[str, str], namespace: str, values: Mapping[str, Any] | None = None
    ) -> None:
        self._files = files
        self._namespace = namespace
        self._defined = dict(_DEFINED.findall(files["templates/_helpers.tpl"]))
        self._values = yaml.safe_load(files["values.yaml"])
        for path, value in (values or {}).items():
            *parents, last = path.split(".")
            at = self._values
            for parent in parents:
                at = at[parent]
            at[last] = value

    def objects(self) -> list[dict[str, Any]]:
        """All objects."""
        texts = [text for name, text in self._files.items() if name.startswith("templates/")]
        texts.remove(self._files["templates/_helpers.tpl"])
        found = [one for text in texts for one in yaml.safe_load_all(self.render(text))]
        return [one for one in found if one]

    def render(self, template: str) -> str:
        """What becomes of one template."""
        lines: list[str] = []
        conditions: list[Any] = []
        for line in template.splitlines():
            if found := re.fullmatch(r"\s*\{\{- (?:with|if) \.Values\.(\S+) \}\}", line):
                conditions.append(self._value(found[1]))
            elif re.fullmatch(r"\s*\{\{- end \}\}", line):
                conditions.pop()
            elif all(conditions):
                self._add(line, lines, conditions[-1] if conditions else None)
        assert not conditions
        return "".join(f"{line}\n" for line in lines)

    def _add(self, line: str, lines: list[str], dot: Any) -> None:
        if found := re.fullmatch(r"\s*\{\{- (.*) \| nindent (\d+) \}\}", line):
            text = str(self._evaluate(found[1], dot))
            lines += [" " * int(found[2]) + one for one in text.splitlines()]
        else:
            lines.append(_EXPRESSION.sub(lambda one: str(self._evaluate(one[1], dot)), line))

    def _evaluate(self, expression: str, dot: Any) -> Any:
        tokens = _TOKEN.findall(expression)
        value = self._pipeline(tokens, dot)
        assert not tokens, expression
        return value

    def _pipeline(self, tokens: list[str], dot: Any) -> Any:
        piped: list[Any] = []
        while True:
            words = []
            while tokens and tokens[0] not in ("|", ")"):
                words.append(self._word(tokens, dot))
            piped = [self._called(words + piped)]
            if not tokens or tokens.pop(0) == ")":
                return piped[0]

    def _word(self, tokens: list[str], dot: Any) -> Any:
        token = tokens.pop(0)
        if token == "(":
            return self._pipeline(tokens, dot)
        if token[0] in '"`':
            return token[1:-1]
        if token.startswith(".Values."):
            return self._value(token.removeprefix(".Values."))
        known = {".": dot, "$": None, ".Release.Namespace": self._namespace}
        return known[token] if token in known else _Function(token)

    def _called(self, words: list[Any]) -> Any:
        function, *values = words
        if not isinstance(function, _Function):
            assert not values
            return function
        match function.name, values:
            case ".Files.Get", [name]:
                return self._files[name]
            case "include", [name, _]:
                return self.render(self._defined[name]).removesuffix("\n")
            case "tpl", [text, _]:
                return self.render(text)
            case "toYaml", [value]:
                return yaml.safe_dump(value)
            case "default", [usual, value]:
                return value or usual
            case "ternary", [one, other, condition]:
                return one if condition else other
            case "printf", [text, *parts]:
                return text % tuple(parts)
            case "quote", [value]:
                return json.dumps(value)
            case "int64", [value]:
                return int(value)
            case "sha256sum", [text]:
                return hashlib.sha256(text.encode()).hexdigest()
        raise AssertionError(words)

    def _value(self, path: str) -> Any:
        at = self._values
        for part in path.split("."):
            at = at[part]
        return at
