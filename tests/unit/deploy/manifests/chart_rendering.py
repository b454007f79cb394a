"""Renders the part of Helm's templates that our charts use, where there is no Helm.

`make release-check` compares with the real one.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

import yaml

_DEFAULT_NAME = re.compile(
    r"\.Values\.(\S+) \| default \(ternary \(printf `(\S+)` \.Release\.Namespace\) "
    r"`` \.Values\.(\S+)\)"
)
_EXPRESSION = re.compile(r"\{\{-? (.*?) \}\}")


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
            text = yaml.safe_dump(dot) if found[1] == "toYaml ." else self._evaluate(found[1], dot)
            lines += [" " * int(found[2]) + one for one in text.splitlines()]
        else:
            lines.append(_EXPRESSION.sub(lambda one: self._evaluate(one[1], dot), line))

    def _evaluate(self, expression: str, dot: Any) -> str:
        what, _, filtered = expression.partition(" | ")
        if what == ".":
            value = dot
        elif what == '"{{"':
            value = "{{"
        elif what.startswith("tpl "):
            return self.render(self._files[what.split('"')[1]])
        elif found := _DEFAULT_NAME.fullmatch(expression):
            created = self._value(found[3]) and found[2].replace("%s", self._namespace)
            return self._value(found[1]) or created or ""
        elif what == ".Release.Namespace":
            value = self._namespace
        elif what.startswith(".Files.Get "):
            value = self._files[what.split()[1].strip('"`')]
        else:
            assert what.startswith(".Values."), expression
            value = self._value(what.removeprefix(".Values."))
        match filtered:
            case "":
                return str(value)
            case "quote":
                return json.dumps(value)
            case "int64":
                return str(int(value))
            case "sha256sum":
                return hashlib.sha256(value.encode()).hexdigest()
        raise AssertionError(expression)

    def _value(self, path: str) -> Any:
        at = self._values
        for part in path.split("."):
            at = at[part]
        return at
