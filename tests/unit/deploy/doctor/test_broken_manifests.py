"""Whatever people write, the doctor says something about it and never fails."""

import random
from typing import Any

import pytest
import yaml

from mooring.deploy.doctor.fixes import fixed_texts
from mooring.deploy.doctor.gathering import evidence_of
from mooring.deploy.doctor.registry import run_checks
from tests.unit.deploy.doctor.cases import RIGHT, STATIC, STATIC_POD
from tests.unit.deploy.source_documents import DOCUMENTS, texts_of

JUNK: tuple[Any, ...] = (
    None,
    0,
    -1,
    True,
    "",
    "x",
    "http://[",
    [],
    {},
    [None],
    [[]],
    {"x": None},
    1.5,
    "*",
)


def broken(data: Any, chance: random.Random) -> Any:
    """The data with a few values replaced by something else."""
    if chance.random() < 0.04:
        return chance.choice(JUNK)
    if isinstance(data, dict):
        return {key: broken(value, chance) for key, value in data.items()}
    if isinstance(data, list):
        return [broken(value, chance) for value in data]
    if isinstance(data, str) and "\n" in data:
        try:
            return yaml.safe_dump(broken(yaml.safe_load(data), chance))
        except yaml.YAMLError:
            return data
    return data


@pytest.mark.parametrize("seed", range(8))
def test_any_value_may_be_anything(seed: int) -> None:
    chance = random.Random(seed)
    texts = [RIGHT, {STATIC: STATIC_POD}]
    texts += map(texts_of, DOCUMENTS)
    for files in texts:
        wrong = {
            name: "---\n".join(
                yaml.safe_dump(broken(document, chance), default_flow_style=chance.random() < 0.5)
                for document in yaml.safe_load_all(text)
            )
            for name, text in files.items()
        }
        results = run_checks(evidence_of(wrong.items()))
        findings = [one for result in results for one in result.findings]
        assert all(one.what and one.advice for one in findings)
        fixed_texts(wrong, findings, lambda texts: texts)


@pytest.mark.parametrize(
    "text", ["", "---", "a: [", "- 1", "{", "[]", "\x00", "kind: Pod", "&a *a"]
)
def test_any_text_may_be_given(text: str) -> None:
    run_checks(evidence_of([("f.yaml", text), (STATIC, text)]))
