"""Bodies of requests for the tests of `answers`, and a cluster to ask about."""

import json
from collections.abc import Sequence
from typing import Any

from mooring.extender.answers import Answers
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster
from mooring.testing import make_pod
from tests.unit.extender.asgi import compact

WEB = make_pod("web", requests={"cpu": "2"})


def a_cluster(*nodes: Node, pods: Sequence[Pod] = ()) -> Cluster:
    cluster = Cluster()
    for node in nodes:
        cluster.put_node(node)
    for pod in pods:
        cluster.put_pod(pod)
    return cluster


def ask(answers: Answers, verb: str, body: bytes) -> Any:
    return json.loads(getattr(answers, verb)(body))


def victims_body(victims: dict[str, list[Pod] | None], violations: int = 0) -> bytes:
    by_node = {
        name: pods
        if pods is None
        else {"Pods": [pod.raw for pod in pods], "NumPDBViolations": violations}
        for name, pods in victims.items()
    }
    return compact({"Pod": WEB.raw, "NodeNameToVictims": by_node, "NodeNameToMetaVictims": None})


def ids_body(victims: dict[str, list[str] | None], violations: int = 0) -> bytes:
    by_node = {
        name: uids
        if uids is None
        else {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": violations}
        for name, uids in victims.items()
    }
    return compact({"Pod": WEB.raw, "NodeNameToVictims": None, "NodeNameToMetaVictims": by_node})


def binding_body(**fields: str) -> bytes:
    names = {"PodName": "web", "PodNamespace": "default", "PodUID": WEB.uid, "Node": "a"}
    return compact({**names, **fields})
