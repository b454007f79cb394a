"""On the vectors' clusters: every suggestion holds on a cluster built anew, and asking is harmless.

Some of the cases of each area, as they have every kind of trouble a pod can have.
"""

from pathlib import Path

import pytest

from mooring.explaining.explainer import Explainer
from mooring.model.pod import Pod
from tests.unit.explaining.suggested import carried_out
from tools.parity import VECTORS, read_cases

FILES = sorted(VECTORS.glob("*.ndjson.gz"))
EVERY = 15


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.partition(".")[0])
def test_suggestions_hold(file: Path) -> None:
    for number, case in enumerate(read_cases(file)):
        if number % EVERY:
            continue
        given = case["case"]
        config, pending = given.get("config"), given["pending"]
        explainer = Explainer(given["objects"], config, pending=pending)
        objects = [one for things in explainer.snapshot._things.values() for one in things]
        for one in pending:
            before = explainer.record(one).to_dict()
            found = explainer.explain(one)
            assert explainer.record(one).to_dict() == before
            assert bool(found.record.selected) or len(found.suggestions) > 0
            for suggestion in found.suggestions:
                changed, pod = carried_out(suggestion.combination, objects, explainer.pod(one))
                others = [other for other in map(Pod.from_dict, pending) if other.key != pod.key]
                record = Explainer(changed, config, pending=others).record(pod)
                assert tuple(record.feasible) == suggestion.nodes
                assert record.selected
