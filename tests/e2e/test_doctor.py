"""``moor doctor`` against a real kube-apiserver with RBAC."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.testing.real_kubernetes import ControlPlane
from tests.e2e.pod_helpers import nodes
from tests.e2e.test_bind_snapshot import moor
from tests.unit.deploy.doctor.cases import CONFIG, POD

pytestmark = pytest.mark.kube

ROLES = Path(__file__).parents[2] / "docs" / "samples" / "scheduler-rbac.yaml"


def checks(folder: Path, kubeconfig: Path, *arguments: str) -> dict[str, Any]:
    """What each check says."""
    done = moor(folder, kubeconfig, "doctor", "-o", "json", *arguments)
    assert done.err == ""
    return {one["id"]: one for one in json.loads(done.out)["checks"]}


def said(check: dict[str, Any]) -> list[str]:
    return [one["what"] for one in check["findings"]]


def renamed_roles(namespace: str) -> str:
    """The documented role for a service account of this test; its Lease is in kube-system."""
    text = ROLES.read_text().replace("mooring-scheduler", namespace)
    documents = list(yaml.safe_load_all(text))
    for document in documents:
        if document["kind"] == "ServiceAccount":
            document["metadata"]["namespace"] = namespace
        for subject in document.get("subjects", ()):
            subject["namespace"] = namespace
        for rule in document.get("rules", ()):
            rule.pop("resourceNames", None)  # reviews ask about all Leases of the namespace
    return yaml.safe_dump_all(documents)


def test_permissions_are_asked_of_the_api_server(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    plane = control_plane
    user = f"system:serviceaccount:{namespace}:{namespace}"
    roles = renamed_roles(namespace)
    try:
        [before] = said(checks(tmp_path, plane.kubeconfig, "--as", user)["permissions"])
        assert before.startswith(f"{user} lacks 65 permissions that moor run needs: get nodes, ")
        plane.kubectl("apply", "-f", "-", stdin=roles)
        asked = checks(tmp_path, plane.kubeconfig, "--as", user)
        assert asked["permissions"]["severity"] == "ok"
        # Who may not ask about others hears so; about itself everybody may ask.
        token = plane.kubeconfig_with_token(namespace, namespace)
        assert (
            "subjectaccessreviews"
            in checks(tmp_path, token, "--as", "joe")["permissions"]["reason"]
        )
        assert checks(tmp_path, token)["permissions"]["severity"] == "ok"
    finally:
        plane.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=roles)


def test_a_cluster_with_one_node_and_a_pod_that_nobody_places(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    plane = control_plane
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "pod.yaml").write_text(POD.replace("shop", namespace))
    lost = POD.replace("shop", namespace).replace("packer", f"lost-{namespace}")
    with nodes(plane, only={}):
        plane.kubectl("apply", "-f", "-", stdin=lost)
        files = ["--config", "config.yaml", "--manifest", "pod.yaml"]
        found = checks(tmp_path, plane.kubeconfig, *files)
    assert any(f"schedulerName lost-{namespace}" in one for one in said(found["scheduler-name"]))
    assert any("fits on one node alone (of 1)" in one for one in said(found["one-feasible-node"]))
    right = "cluster-reachable", "versions", "clock-skew", "permissions", "second-scheduler"
    assert [found[one]["severity"] for one in right] == ["ok"] * len(right)


def test_credentials_that_are_rejected(control_plane: ControlPlane, tmp_path: Path) -> None:
    nobody = control_plane.kubeconfig_for("nobody-at-all")
    [why] = said(checks(tmp_path, nobody)["cluster-reachable"])
    assert 'cannot list resource "nodes"' in why
