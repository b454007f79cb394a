"""``--fail-if``: one comparison, and sentences about everything else."""

import pytest

from mooring.errors import InputError
from mooring.simulator.comparison.condition import parse_condition


@pytest.mark.parametrize(
    ("text", "value", "holds"),
    [
        ("pending > 0", 1, True),
        ("pending > 0", 0, False),
        ("pending>=1", 1, True),
        (" waiting.p99 > 5m ", 300.0, False),
        ("waiting.p99 > 5m", 300.1, True),
        ("waiting.max <= 250ms", 0.25, True),
        ("utilization.cpu < 40%", 0.39, True),
        ("utilization.nvidia.com/gpu < 0.4", 0.41, False),
        ("cost == 12.50", 12.5, True),
        ("placed != 3", 3, False),
    ],
)
def test_conditions(text: str, value: float, holds: bool) -> None:
    assert parse_condition(text).holds(value) is holds


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "'' is no condition; expected a metric, a comparison and a number"),
        ("pending", "is no condition"),
        ("pending > 0 or cost > 3", "is no condition"),
        ("__import__('os') > 0", "is no condition"),
        ("pending > 1e9", "is no condition"),
        ("pending > nan", "is no condition"),
        ("pending > ٣", "is no condition"),
        ("pending > 0" + " " * 1000, "…' is no condition"),
        ("pendig > 0", "there is no metric pendig; did you mean pending?"),
        ("x > 0", "there is no metric x; there are created, placed"),
        ("utilization. > 0", "there is no metric utilization."),
        ("pending > 5%", "pending is no number of the unit %"),
        ("cost > 5m", "cost is no number of the unit m"),
    ],
)
def test_what_is_none_is_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_condition(text)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("cost > 3", "no node group of the scenario has a price"),
        ("utilization.x > 3", "requests x"),
    ],
)
def test_a_metric_that_results_do_not_have(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        parse_condition(text).value({"pending": 0.0})
