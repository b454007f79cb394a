"""A policy served to the real kube-scheduler v1.36.4, every verb, both cache modes."""

import re
import ssl
from pathlib import Path
from typing import Any

import pytest

from mooring.testing.certificates import Authority
from mooring.testing.moor_serve import MoorServe
from mooring.testing.real_kubernetes import ControlPlane, KubeScheduler, free_port
from tests.e2e.pod_helpers import (
    event_of,
    extender_config,
    node_of,
    nodes,
    pod,
    scheduled_message,
    write_policy,
)

pytestmark = pytest.mark.kube

SSD_FILTER = """
@policy.filter
def ssd(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
    return mr.accept_if(node.labels.get("disktype") == "ssd", "node has no SSD")
"""
BY_LABEL = """
@policy.score(max_score=10)
def by_label(pod: mr.Pod, node: mr.Node) -> float:
    return float(node.labels.get("wanted", "0"))
"""


def serve_args(plane: ControlPlane, *, cache: bool) -> list[str | Path]:
    return ["--kubeconfig", plane.kubeconfig] if cache else ["--no-node-cache"]


@pytest.mark.parametrize("cache", [True, False], ids=["node-cache", "whole-nodes"])
def test_a_filter_keeps_pods_off_nodes_and_says_why_in_the_event(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, cache: bool
) -> None:
    policy = write_policy(tmp_path, SSD_FILTER)
    with (
        nodes(control_plane, slow_1={}, slow_2={}, fast={"labels": {"disktype": "ssd"}}),
        MoorServe(policy, serve_args(control_plane, cache=cache)) as server,
        KubeScheduler(
            control_plane,
            extender_config(server, "ssd-scheduler", ["filter"], nodeCacheCapable=cache),
        ),
    ):
        control_plane.create(pod("placed", namespace, "ssd-scheduler"))
        assert node_of(control_plane, "placed", namespace) == "fast"
        message = scheduled_message(control_plane, "placed", namespace, "ssd-scheduler")
        assert message == f"Successfully assigned {namespace}/placed to fast"

        control_plane.request(
            "PATCH",
            "/api/v1/nodes/fast",
            {"metadata": {"labels": {"disktype": None}}},
            content_type="application/merge-patch+json",
        )
        control_plane.wait_for(
            lambda: not cache or _filter_fails(server), "the node cache to see the label go"
        )
        control_plane.create(pod("rejected", namespace, "ssd-scheduler"))
        event = event_of(control_plane, "rejected", namespace, "FailedScheduling")
        assert "0/3 nodes are available: 3 node has no SSD." in event["message"]


def _filter_fails(server: MoorServe) -> bool:
    reply = server.post("/filter", {"Pod": {"metadata": {"name": "x"}}, "NodeNames": ["fast"]})
    return not reply.json()["NodeNames"]


@pytest.mark.parametrize("cache", [True, False], ids=["node-cache", "whole-nodes"])
def test_a_score_decides_the_node(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, cache: bool
) -> None:
    policy = write_policy(tmp_path, BY_LABEL)
    wanted: dict[str, dict[str, Any]] = {
        "low": {"labels": {"wanted": "1"}},
        "high": {"labels": {"wanted": "9"}},
        "none": {},
    }
    with (
        nodes(control_plane, **wanted),
        MoorServe(policy, serve_args(control_plane, cache=cache)) as server,
        KubeScheduler(
            control_plane,
            extender_config(server, "label-scheduler", ["prioritize"], nodeCacheCapable=cache),
        ),
    ):
        for number in range(3):
            control_plane.create(pod(f"p{number}", namespace, "label-scheduler"))
        for number in range(3):
            assert node_of(control_plane, f"p{number}", namespace) == "high"


@pytest.mark.parametrize("cache", [True, False], ids=["node-cache", "whole-nodes"])
def test_preempt_is_called_and_obeyed(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, cache: bool
) -> None:
    """Both nodes are full; the policy protects the victims that carry a label."""
    policy = write_policy(
        tmp_path,
        """
@policy.preempt
def protect(pod: mr.Pod, node: mr.Node, victims: list[mr.Pod]) -> bool:
    return not any(victim.labels.get("protected") for victim in victims)
""",
    )
    with (
        nodes(control_plane, guarded={"cpu": "1"}, open={"cpu": "1"}),
        MoorServe(policy, serve_args(control_plane, cache=cache)) as server,
        KubeScheduler(
            control_plane,
            extender_config(server, "preempting", ["preempt"], nodeCacheCapable=cache),
        ),
    ):
        for where in ("guarded", "open"):
            low = pod(f"low-{where}", namespace, "nobody", nodeName=where, requests={"cpu": "1"})
            if where == "guarded":
                low["metadata"]["labels"] = {"protected": "yes"}
            control_plane.create(low)
        control_plane.create(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": f"high-{cache}".lower()},
                "value": 1000,
            }
        )
        if cache:
            _wait_for_pods_on(control_plane, server, {"low-guarded", "low-open"}, namespace)
        control_plane.create(
            pod(
                "high",
                namespace,
                "preempting",
                requests={"cpu": "1"},
                priorityClassName=f"high-{cache}".lower(),
            )
        )

        def victim_gone() -> bool:
            pods = control_plane.list_objects("Pod", namespace)
            doomed = [
                one["metadata"]["name"] for one in pods if one["metadata"].get("deletionTimestamp")
            ]
            left = {one["metadata"]["name"] for one in pods}
            assert "low-guarded" in left
            assert "low-guarded" not in doomed
            return "low-open" in doomed or "low-open" not in left

        control_plane.wait_for(victim_gone, "the unprotected pod to be evicted")
        event_of(control_plane, "low-open", namespace, "Preempted")
        requests = server.get("/metrics").body.decode()
        assert 'mooring_extender_requests_total{code="200",verb="preempt"}' in requests


def _wait_for_pods_on(
    plane: ControlPlane, server: MoorServe, names: set[str], namespace: str
) -> None:
    """Until the extender's node cache knows these pods, as shown by its answers."""
    uids = {
        one["metadata"]["uid"]
        for one in plane.list_objects("Pod", namespace)
        if one["metadata"]["name"] in names
    }
    body = {
        "Pod": {"metadata": {"name": "probe"}},
        "NodeNameToMetaVictims": {
            uid: {"Pods": [{"UID": uid}], "NumPDBViolations": 0} for uid in uids
        },
    }

    def known() -> bool:
        server.post("/preempt", body)
        return (
            server.get("/metrics")
            .body.decode()
            .find(f"mooring_node_cache_pods {float(len(plane.list_objects('Pod')))}")
            >= 0
        )

    plane.wait_for(known, "the node cache to know the pods")


def test_the_extender_binds_and_adds_annotations(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    policy = write_policy(
        tmp_path,
        """
@policy.bind
def number(binding: mr.Binding) -> mr.Binding:
    assert binding.pod is not None and binding.node is not None
    return binding.annotate({"example.com/slot": str(len(binding.node.pods))})
""",
    )
    with (
        nodes(control_plane, only={}),
        MoorServe(policy, serve_args(control_plane, cache=True)) as server,
        KubeScheduler(
            control_plane,
            extender_config(server, "binding", ["bind"], nodeCacheCapable=True),
        ),
    ):
        for name in ("a", "b"):
            control_plane.create(pod(name, namespace, "binding"))
            assert node_of(control_plane, name, namespace) == "only"
            message = scheduled_message(control_plane, name, namespace, "binding")
            assert message == f"Successfully assigned {namespace}/{name} to only"
        slots = [
            control_plane.get("Pod", name, namespace)["metadata"]["annotations"]["example.com/slot"]
            for name in ("a", "b")
        ]
        assert slots == ["0", "1"]
        metrics = server.get("/metrics").body.decode()
        # kube-scheduler asks again when an answer took too long on a busy machine.
        counted = re.search(r'requests_total\{code="200",verb="bind"\} (\d+)', metrics)
        assert counted is not None
        assert int(counted[1]) >= 2


def test_a_function_that_raises_is_named_in_the_event(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    policy = write_policy(
        tmp_path,
        """
@policy.filter
def broken(pod: mr.Pod, node: mr.Node) -> bool:
    return bool(node.labels["absent"])
""",
    )
    with (
        nodes(control_plane, one={}),
        MoorServe(policy, ["--no-node-cache"]) as server,
        KubeScheduler(control_plane, extender_config(server, "broken-scheduler", ["filter"])),
    ):
        control_plane.create(pod("p", namespace, "broken-scheduler"))
        event = event_of(control_plane, "p", namespace, "FailedScheduling")
        assert "filter 'broken' failed on node one: KeyError: 'absent'" in event["message"]
        assert "Traceback" in server.log()


def test_tls_with_client_certificates(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    policy = write_policy(tmp_path, BY_LABEL)
    authority = Authority(tmp_path)
    serving = authority.server("extender")
    client = authority.client("scheduler", "kube-scheduler", [])
    context = ssl.create_default_context(cafile=authority.file)
    context.load_cert_chain(client.certificate, client.key)
    args: list[str | Path] = ["--no-node-cache", "--tls-cert", serving.certificate]
    args += ["--tls-key", serving.key, "--client-ca", authority.file]
    with (
        nodes(control_plane, low={}, high={"labels": {"wanted": "9"}}),
        MoorServe(policy, args, tls=context) as server,
        KubeScheduler(
            control_plane,
            extender_config(
                server,
                "tls-scheduler",
                ["prioritize"],
                enableHTTPS=True,
                tlsConfig={
                    "caFile": str(authority.file),
                    "certFile": str(client.certificate),
                    "keyFile": str(client.key),
                },
            ),
        ),
    ):
        control_plane.create(pod("p", namespace, "tls-scheduler"))
        assert node_of(control_plane, "p", namespace) == "high"
        metrics = server.get("/metrics").body.decode()
        assert 'mooring_extender_requests_total{code="200",verb="prioritize"} 1.0' in metrics


@pytest.mark.parametrize("ignorable", [True, False])
def test_an_extender_that_is_down_blocks_unless_it_is_ignorable(
    control_plane: ControlPlane, namespace: str, ignorable: bool
) -> None:
    scheduler = f"down-{ignorable}".lower()
    config = {
        "profiles": [{"schedulerName": scheduler}],
        "extenders": [
            {
                "urlPrefix": f"http://127.0.0.1:{free_port()}",
                "filterVerb": "filter",
                "nodeCacheCapable": True,
                "ignorable": ignorable,
            }
        ],
    }
    with nodes(control_plane, one={}), KubeScheduler(control_plane, config):
        control_plane.create(pod("p", namespace, scheduler))
        if ignorable:
            assert node_of(control_plane, "p", namespace) == "one"
        else:
            event = event_of(control_plane, "p", namespace, "FailedScheduling")
            assert "connection refused" in event["message"]
            assert "nodeName" not in control_plane.get("Pod", "p", namespace)["spec"]


def test_every_function_has_its_own_route(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """The URLs of the older guides: a prefix, and one verb for one function."""
    policy = write_policy(tmp_path, SSD_FILTER + BY_LABEL)
    with (
        nodes(control_plane, slow={}, fast={"labels": {"disktype": "ssd", "wanted": "5"}}),
        MoorServe(policy, ["--no-node-cache", "--prefix", "/scheduler"]) as server,
    ):
        config = extender_config(server, "routes", [])
        config["extenders"][0] |= {
            "urlPrefix": f"{server.url}/scheduler",
            "filterVerb": "predicates/ssd",
            "prioritizeVerb": "priorities/by_label",
        }
        with KubeScheduler(control_plane, config):
            control_plane.create(pod("p", namespace, "routes"))
            assert node_of(control_plane, "p", namespace) == "fast"


def test_the_node_cache_survives_an_api_server_that_goes_away(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    policy = write_policy(tmp_path, SSD_FILTER)

    def verdicts(server: MoorServe) -> dict[str, str]:
        body = {"Pod": {"metadata": {"name": "p"}}, "NodeNames": ["before", "after"]}
        reply = server.post("/filter", body).json()
        return {**dict.fromkeys(reply["NodeNames"], "kept"), **reply["FailedNodes"]}

    unknown = "node is not known to the extender yet"
    ssd = {"labels": {"disktype": "ssd"}}
    args: list[str | Path] = ["--kubeconfig", control_plane.kubeconfig]
    with nodes(control_plane, before=ssd), MoorServe(policy, args) as server:
        assert verdicts(server) == {"before": "kept", "after": unknown}
        control_plane.stop_apiserver()
        try:
            assert verdicts(server) == {"before": "kept", "after": unknown}
            assert server.get("/readyz").status == 200
        finally:
            control_plane.start_apiserver()
        control_plane.create_node("after")
        control_plane.wait_for(
            lambda: verdicts(server)["after"] == "node has no SSD", "the new node to be known"
        )


def test_missing_permissions_are_named_and_keep_it_unready(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    policy = write_policy(tmp_path, SSD_FILTER)
    kubeconfig = control_plane.kubeconfig_for("nobody-at-all")
    with MoorServe(policy, ["--kubeconfig", kubeconfig], wait=False) as server:

        def explained() -> bool:
            reply = server.get("/readyz")
            assert reply.status == 503
            return b'cannot list resource "nodes"' in reply.body

        control_plane.wait_for(explained, "/readyz to name the missing permission")
