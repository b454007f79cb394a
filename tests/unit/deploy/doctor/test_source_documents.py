"""The doctor finds the mistakes of five ways of deployment that people have published.

The examples have manifests of our own that make the same mistakes.
"""

import dataclasses
from pathlib import Path

import pytest

from mooring.cli.doctor.doctor import _migrated, _read_files
from mooring.deploy.doctor.evidence import ExtenderProbe, VerbProbe
from mooring.deploy.doctor.fixes import fixed_texts
from mooring.deploy.doctor.gathering import evidence_of
from mooring.deploy.doctor.registry import run_checks

EXAMPLES = Path(__file__).parents[4] / "examples"
DOCUMENTS = {
    "000": EXAMPLES / "01-random" / "old-static-pod",
    "001": EXAMPLES / "01-random" / "old-configmap",
    "002": EXAMPLES / "02-always-true" / "old",
    "003": EXAMPLES / "07-allocatable" / "old",
    "004": EXAMPLES / "03-image-score" / "old",
}

FOUND = {
    # The ConfigMap has another name and another key than the pod expects, and is a Policy; a second
    # default-scheduler works without election.
    "000": {
        "config-path", "config-version", "configmap-name", "image-version", "node-cache-scores",
        "policy-say", "probe-port", "scheduler-twice", "static-pod-references",
    },
    # kubectl makes the ConfigMap of files, in a namespace that nobody named.
    "001": {
        "config-version", "configmap-name", "image-version", "node-cache-scores", "policy-say",
        "static-pod-references",
    },
    # cluster-admin, hyperkube, an update with two schedulers; the verb preemption answers 404.
    "002": {
        "config-version", "image-version", "node-cache-scores", "policy-say", "probe-port",
        "rbac-wide", "scheduler-twice",
    },
    # A static pod with a ConfigMap, two documents, a backup beside it; no pod asks for it.
    "003": {
        "config-version", "image-version", "scheduler-twice", "scheduler-unused",
        "static-pod-backup", "static-pod-parses", "static-pod-references",
    },
    # --kubeconfig beside --config, a kubeconfig in a ConfigMap, a weight that decides nothing.
    "004": {
        "config-version", "configmap-name", "image-version", "policy-say", "scheduler-name",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FOUND))
def test_the_mistakes_are_found(name: str) -> None:
    files = _read_files(None, [DOCUMENTS[name]])
    results = run_checks(evidence_of(files.items()))
    assert {one.check.id for one in results if one.findings} == FOUND[name]


#: What has to be decided by people, and is still there when everything safe was corrected.
LEFT = {
    "000": {
        "image-version", "node-cache-scores", "policy-say", "scheduler-twice",
        "static-pod-references",
    },
    "001": {
        "configmap-name", "image-version", "node-cache-scores", "policy-say",
        "static-pod-references",
    },
    "002": {
        "image-version", "node-cache-scores", "policy-say", "rbac-wide", "scheduler-twice",
    },
    "003": {
        "image-version", "scheduler-twice", "scheduler-unused", "static-pod-backup",
        "static-pod-parses", "static-pod-references",
    },
    "004": {"configmap-name", "image-version", "scheduler-name"},
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(LEFT))
def test_what_is_safe_is_corrected_and_migrated(name: str) -> None:
    files = _read_files(None, [DOCUMENTS[name]])
    for _ in range(4):
        results = run_checks(evidence_of(files.items()))
        findings = [one for result in results for one in result.findings]
        changed = fixed_texts(files, findings, _migrated)
        if not changed:
            break
        files |= changed
    assert {one.check.id for one in results if one.findings} == LEFT[name]


def test_the_verb_that_nobody_serves_is_found() -> None:
    files = _read_files(None, [DOCUMENTS["002"]])
    evidence = evidence_of(files.items())
    [extender] = evidence.extenders
    answer = VerbProbe("preempt", status=404)
    asked = dataclasses.replace(evidence, probes=(ExtenderProbe(extender, (answer,)),))
    [found] = [one for one in run_checks(asked) if one.check.id == "extender-verb"]
    assert "The extender answers 404 to preemption" in found.findings[0].what
