"""The doctor finds the mistakes of five ways of deployment that people have published.

The folders have manifests of our own that make the same mistakes.
"""

from pathlib import Path

import pytest

from mooring.cli.doctor.doctor import _read_files
from mooring.deploy.doctor.gathering import evidence_of
from mooring.deploy.doctor.registry import run_checks

DOCUMENTS = Path(__file__).with_name("documents")

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
    files = _read_files(None, [DOCUMENTS / name])
    results = run_checks(evidence_of(files.items()))
    assert {one.check.id for one in results if one.findings} == FOUND[name]
