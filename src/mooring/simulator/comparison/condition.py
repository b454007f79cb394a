"""``--fail-if``: a metric, a comparison and a number, such as ``waiting.p99 > 5m``.

That is the whole grammar: nothing is evaluated but one comparison.
"""

import operator
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Final, NamedTuple

from mooring.errors import InputError
from mooring.simulator.comparison.metrics import (
    BY_RESOURCE,
    METRICS,
    MetricUnit,
    ResultMetric,
    metric_named,
)

_LONGEST: Final = 300
_COMPARISONS: Final[dict[str, Callable[[float, float], bool]]] = {
    "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_FORM: Final = re.compile(
    r"\s*(?P<metric>[A-Za-z][\w./-]*)\s*(?P<comparison><=|>=|==|!=|<|>)"
    r"\s*(?P<number>-?\d{1,15}(?:\.\d{1,9})?)\s*(?P<unit>%|ms|s|m|h|d)?\s*",
    re.ASCII,
)
_FACTORS: Final = {"": 1.0, "%": 0.01, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


class FailCondition(NamedTuple):
    """A comparison of a metric with a number.

    Attributes:
        text: as it was written.
        metric: the metric's name.
        comparison: the sign, such as ``>``.
        number: what it is compared with, in seconds if it is a time and as a share if in percent.
    """

    text: str
    metric: str
    comparison: str
    number: float

    def holds(self, value: float) -> bool:
        """Whether it is true of a value of the metric."""
        return _COMPARISONS[self.comparison](value, self.number)

    def value(self, metrics: Mapping[str, float]) -> float:
        """The metric's value.

        Raises:
            InputError: these results have no such metric.
        """
        found = metrics.get(self.metric)
        if found is None:
            why = (
                "no node group of the scenario has a price"
                if self.metric == "cost"
                else f"no pod requests {self.metric.partition('.')[2]}"
            )
            raise InputError(f"--fail-if {self.text!r}: there is no {self.metric}, because {why}")
        return found


def parse_condition(text: str) -> FailCondition:
    """Read a condition.

    Raises:
        InputError: it is none.
    """
    found = _FORM.fullmatch(text) if len(text) <= _LONGEST else None
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    if found is None:
        raise InputError(
            f"--fail-if {shown!r} is no condition; expected a metric, a comparison and a number, "
            "such as 'pending > 0' or 'waiting.p99 >= 5m'"
        )
    name, unit = found["metric"], found["unit"] or ""
    metric = metric_named(name)
    if metric is None:
        raise InputError(f"--fail-if {shown!r}: there is no metric {name}; {_known(name)}")
    if not _fits(metric, unit):
        raise InputError(f"--fail-if {shown!r}: {name} is no number of the unit {unit}")
    number = float(found["number"]) * _FACTORS[unit]
    return FailCondition(text.strip(), name, found["comparison"], number)


def _fits(metric: ResultMetric, unit: str) -> bool:
    if unit == "%":
        return metric.unit is MetricUnit.SHARE
    return not unit or metric.unit is MetricUnit.SECONDS


def _known(name: str) -> str:
    near = get_close_matches(name, METRICS, 1)
    if near:
        return f"did you mean {near[0]}?"
    resources = (f"{prefix}RESOURCE" for prefix in BY_RESOURCE)
    return f"there are {', '.join((*METRICS, *resources))}"
