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
    return yaml.safe_dump_all(documents)


def test_permissions_are_asked_of_the_api_server(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    plane = control_plane
    user = f"system:serviceaccount:{namespace}:{namespace}"
    roles = renamed_roles(namespace)
    election = f"leaderElection: {{resourceName: {namespace}}}"
    config = CONFIG.replace("leaderElection:\n  leaderElect: false", election)
    (tmp_path / "config.yaml").write_text(config)
    files = ["--config", "config.yaml"]
    try:
        asked = checks(tmp_path, plane.kubeconfig, *files, "--as", user)
        [before] = said(asked["permissions"])
        needed = before.removeprefix(f"{user} lacks 41 permissions that moor run needs: ")
        assert needed.startswith("list, watch namespaces, nodes, ")
        plane.kubectl("apply", "-f", "-", stdin=roles)

        def allowed() -> bool | None:
            again = checks(tmp_path, plane.kubeconfig, *files, "--as", user)["permissions"]
            return again["severity"] == "ok" or None

        # The authorizer learns of roles by watching them.
        plane.wait_for(allowed, "the API server to know the roles")
        # Who may not ask about others hears so; about itself everybody may ask.
        token = plane.kubeconfig_with_token(namespace, namespace)
        asked = checks(tmp_path, token, *files, "--as", "joe")
        assert "subjectaccessreviews" in asked["permissions"]["reason"]
        assert checks(tmp_path, token, *files)["permissions"]["severity"] == "ok"
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
