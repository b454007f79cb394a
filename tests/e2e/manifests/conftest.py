"""The control plane and the policy of the tests of `moor manifests`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.testing.real_kubernetes import ControlPlane
from tests.e2e.manifests.generated_manifests import NAME
from tests.e2e.manifests.manifest_installations import AUDIT, POLICIES, crd


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """An API server that writes down what service accounts of the namespace do."""
    with ControlPlane(audit_policy=AUDIT) as running:
        for group, kind, plural in (
            ("monitoring.coreos.com", "ServiceMonitor", "servicemonitors"),
            ("cert-manager.io", "Issuer", "issuers"),
            ("cert-manager.io", "Certificate", "certificates"),
        ):
            running.create(crd(group, kind, plural))
            running.wait_for(
                lambda plural=plural: plural in running.kubectl("api-resources", "-o", "name"),  # type: ignore[misc]
                f"{plural} to be served",
            )
        running.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}})
        yield running


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "policy.py"
    file.write_text(POLICIES["every hook"].lstrip())
    return file
