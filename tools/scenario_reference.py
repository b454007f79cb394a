"""The reference of scenario files, from the docstrings of their schema; called by `reference`."""

import inspect
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from mooring.simulator.scenario import schema
from mooring.simulator.scenario.reader import MOST_BYTES

_HEAD: Final = """# Scenarios

A scenario is a YAML file that [`moor simulate`](../guide/simulate.md) plays and
`moor scenario check` checks. Times and durations are texts such as `90s`, `1h30m` or `2d`; amounts
are Kubernetes quantities, such as `500m` or `4Gi`; rates are texts such as `30/s`, `10/m` or
`100/h`. File names are relative to the scenario.
"""
_NOTE: Final = "<!-- Written by `make docs` from the code; edit the docstrings instead. -->"
_ORDER: Final = (
    schema.Scenario, schema.ClusterForm, schema.NodeGroup, schema.GroupScaling, schema.WorkloadForm,
    schema.PodForm, schema.Arrival, schema.CsvArrival, schema.DrawnDuration, schema.LogNormal,
    schema.ScenarioEvent, schema.NodeSelection, schema.TaintEvent, schema.AddNodes,
    schema.ScaleEvent, schema.UpdateEvent, schema.PriorityEvent, schema.AutoscalerForm,
    schema.LatencyForm, schema.SchedulerForm,
)  # fmt: skip
_ENTRY: Final = re.compile(r"^    (\w+): (.*(?:\n        .*)*)", re.MULTILINE)


def scenario_page() -> Iterator[str]:
    """The lines of the page."""
    yield _HEAD
    yield _NOTE
    yield ""
    for kind in _ORDER:
        yield from _struct(kind)
    yield "## Limits"
    yield ""
    size = MOST_BYTES // 2**20
    yield f"- The file has at most {size} MiB; long lists of pods belong into CSV files."
    yield f"- At most {schema.MOST_NODES:,} nodes in {schema.MOST_GROUPS} node groups,"
    yield f"  {schema.MOST_WORKLOADS:,} workloads, {schema.MOST_EVENTS:,} events,"
    yield f"  {schema.MOST_FILES:,} files with manifests,"
    yield f"  and {schema.MOST_PODS:,} pods in a workload."
    yield "- No time is later than 366 days."


def _struct(kind: type[msgspec.Struct]) -> Iterator[str]:
    doc = inspect.cleandoc(kind.__doc__ or "").replace("``", "`")
    about = dict(_descriptions(kind))
    yield f"## {kind.__name__}"
    yield ""
    yield " ".join(doc.partition("\n\n")[0].split())
    yield ""
    yield "| field | type | default | |"
    yield "|---|---|---|---|"
    for field in msgspec.structs.fields(kind):
        text = " ".join(about.get(field.name, "").split()).replace("|", "\\|")
        yield f"| `{field.encode_name}` | {_type(field.type)} | {_default(field)} | {text} |"
    yield ""


def _descriptions(kind: type[Any]) -> Iterator[tuple[str, str]]:
    for base in reversed(kind.__mro__):
        doc = inspect.cleandoc(base.__doc__ or "").replace("``", "`").replace("`self`", "")
        yield from _ENTRY.findall(doc)


def _type(kind: Any) -> str:
    text = str(kind) if not isinstance(kind, type) or "[" in str(kind) else kind.__name__
    text = re.sub(r"(mooring[\w.]*|typing)\.", "", text)
    if text.startswith("Literal["):
        return ", ".join(f"`{one}`" for one in kind.__args__)
    text = text.replace("str | int | float", "quantity").replace(" | None", "")
    text = text.replace("dict[str, Any]", "mapping")
    text = re.sub(r"\bstr\b", "text", text)
    text = re.sub(r"list\[(.*)\]", r"list of \1", text)
    text = re.sub(r"dict\[text, (.*)\]", r"mapping of \1", text)
    text = re.sub(r"tuple\[text, text\]", "two texts", text)
    text = re.sub(r"\b(int|float)\b", "number", text).replace(" | ", " or ")
    return re.sub(r"\b([A-Z]\w+)\b", lambda one: f"[{one[1]}](#{one[1].lower()})", text)


def _default(field: Any) -> str:
    if field.required:
        return "required"
    default = field.default
    if default is msgspec.NODEFAULT or default in ("", None) or isinstance(default, msgspec.Struct):
        return ""
    return f"`{default}`"
