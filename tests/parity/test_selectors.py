"""Thousands of device selectors give the answers, and cost what they cost, in kube-scheduler.

The corpus is recorded with `python -m tools.cel.compare --record`.
"""

import gzip
import json
from collections import Counter

from tools.cel.compare import CORPUS, answer
from tools.cel.devices import DEVICES, device_input


def test_every_selector_of_the_corpus_agrees() -> None:
    devices = {name: device_input(described) for name, described in DEVICES.items()}
    cases = [json.loads(line) for line in gzip.decompress(CORPUS.read_bytes()).splitlines()]
    wrong = []
    wrong_costs = []
    outcomes: Counter[str] = Counter()
    for case in cases:
        outcome, cost, _ = answer(case["expression"], devices[case["device"]])
        outcomes[outcome] += 1
        if outcome != case["outcome"]:
            wrong.append((case["expression"], case["device"], case["outcome"], outcome))
        if cost is not None and cost != case["cost"]:
            wrong_costs.append((case["expression"], case["device"], case["cost"], cost))
    assert not wrong
    assert not wrong_costs
    assert len(cases) > 3900
    assert min(outcomes[kind] for kind in ("true", "false", "compile", "runtime")) > 500
