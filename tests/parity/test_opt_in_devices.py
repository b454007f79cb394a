"""What is opt-in about devices changes which node is best and who makes room, and nothing else.

Every other recorded case with devices, decided with these arguments: a pod fits on the same nodes.
"""

import copy
import gzip
from typing import Any

import msgspec
import pytest

from mooring.explaining.explainer import Explainer
from mooring.framework.decisions.record import Record
from tools.parity import NOW_NS, VECTORS

CASES = [
    msgspec.json.decode(line)["case"]
    for line in gzip.decompress((VECTORS / "dra.ndjson.gz").read_bytes()).splitlines()[::2]
]


def with_arguments(config: dict[str, Any] | None, **args: bool) -> dict[str, Any]:
    """A configuration with more arguments for DynamicResources in every profile."""
    made: dict[str, Any] = copy.deepcopy(config or {})
    for profile in made.setdefault("profiles", [{}]):
        listed = profile.setdefault("pluginConfig", [])
        found = next((one for one in listed if one["name"] == "DynamicResources"), None)
        if found is None:
            found = {"name": "DynamicResources", "args": {}}
            listed.append(found)
        found["args"] = {**(found.get("args") or {}), **args}
    return made


def records(case: dict[str, Any], config: dict[str, Any] | None) -> list[Record]:
    explainer = Explainer(case["objects"], config, pending=case["pending"], now_ns=lambda: NOW_NS)
    return [explainer.record(pod) for pod in case["pending"]]


@pytest.mark.parametrize("part", range(4))
def test_pods_fit_on_the_same_nodes(part: int) -> None:
    placed = differently = 0
    for case in CASES[part::4]:
        config = case.get("config")
        plain = records(case, config)
        opted = records(case, with_arguments(config, bestFit=True, preemption=True))
        for before, after in zip(plain, opted, strict=True):
            assert after.feasible == before.feasible or before.error, case["id"]
            scoring = after.scoring
            for one in scoring.scores if scoring is not None else ():
                if one.name == "DynamicResources" and one.normalized is not None:
                    placed += 1
                    assert 0 <= one.normalized.min() <= one.normalized.max() <= 100
            differently += after.to_dict().get("total") != before.to_dict().get("total")
    assert placed > 10
    assert differently > 5
