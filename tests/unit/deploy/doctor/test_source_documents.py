"""The doctor finds the mistakes of five ways of deployment that people have published.

The examples have manifests of our own that make the same mistakes.
"""

import dataclasses
import re

import pytest

from mooring.cli.doctor.fixes import migrated_texts
from mooring.deploy.doctor.evidence import ExtenderProbe, VerbProbe
from mooring.deploy.doctor.fixes import fixed_texts
from mooring.deploy.doctor.gathering import evidence_of
from mooring.deploy.doctor.registry import run_checks
from tests.unit.deploy.source_documents import EXAMPLES, LEFT, texts_of

OLD_TAG = re.compile(r":v1\.\d+\.\d+")
GUIDE = EXAMPLES.parent / "docs" / "guide" / "migrate.md"

FOUND = {
    # The ConfigMap has another name and another key than the pod expects, and is a Policy; a second
    # default-scheduler works without election.
    "000": {
        "config-path", "config-version", "configmap-name", "image-version", "node-cache-scores",
        "probe-port", "scheduler-twice", "static-pod-references",
    },
    # kubectl makes the ConfigMap of files, in a namespace that nobody named.
    "001": {
        "config-version", "configmap-name", "image-version", "node-cache-scores", "policy-say",
        "static-pod-references",
    },
    # cluster-admin, hyperkube, an update with two schedulers; the verb preemption answers 404.
    "002": {
        "config-version", "image-version", "node-cache-scores", "probe-port", "rbac-wide",
        "scheduler-twice",
    },
    # A static pod with a ConfigMap, two documents, a backup beside it; no pod asks for it.
    "003": {
        "config-version", "image-version", "scheduler-twice", "scheduler-unused",
        "static-pod-backup", "static-pod-parses", "static-pod-references",
    },
    # --kubeconfig beside --config, a kubeconfig in a ConfigMap, a name that nobody serves.
    "004": {"config-version", "configmap-name", "image-version", "scheduler-name"},
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FOUND))
def test_the_mistakes_are_found(name: str) -> None:
    files = texts_of(name)
    results = run_checks(evidence_of(files.items()))
    assert {one.check.id for one in results if one.findings} == FOUND[name]


@pytest.mark.parametrize("name", sorted(LEFT))
def test_what_is_safe_is_corrected_and_migrated(name: str) -> None:
    of_today = {file: OLD_TAG.sub(":v1.36.4", text) for file, text in texts_of(name).items()}
    image = {"image-version"}  # its registry may still be old
    assert left_by_fixes(of_today) - image == LEFT[name] - image


@pytest.mark.parametrize("name", sorted(LEFT))
def test_what_an_old_image_reads_stays(name: str) -> None:
    assert "config-version" in left_by_fixes(texts_of(name))


def left_by_fixes(files: dict[str, str]) -> set[str]:
    """The checks that still find something when everything safe is corrected."""
    for _ in range(4):
        results = run_checks(evidence_of(files.items()))
        findings = [one for result in results for one in result.findings]
        changed = fixed_texts(files, findings, lambda texts: migrated_texts(texts)[0])
        if not changed:
            break
        after = {**files, **changed}
        files = {file: text for file, text in after.items() if text is not None}
    return {one.check.id for one in results if one.findings}


def test_the_guide_says_what_is_left() -> None:
    section = GUIDE.read_text().partition("## What is left for you")[2]
    rows = "".join(line for line in section.splitlines() if line.startswith("| ["))
    assert set(re.findall(r"\(doctor\.md#([a-z-]+)\)", rows)) == set().union(*LEFT.values())


def test_the_verb_that_nobody_serves_is_found() -> None:
    files = texts_of("002")
    evidence = evidence_of(files.items())
    [extender] = evidence.extenders
    answer = VerbProbe("preempt", status=404)
    asked = dataclasses.replace(evidence, probes=(ExtenderProbe(extender, (answer,)),))
    [found] = [one for one in run_checks(asked) if one.check.id == "extender-verb"]
    assert "The extender answers 404 to preemption" in found.findings[0].what
