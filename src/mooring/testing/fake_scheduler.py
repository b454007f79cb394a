"""A fake kube-scheduler that drives a policy in process, through the extender's real wire format.

It does to the extender what kube-scheduler does: every verb, as bytes, with whole nodes or with the
node cache. No server, no cluster, no waiting.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from mooring.errors import MooringError, NotAvailable
from mooring.extender.answers import Answers
from mooring.framework.binding import Binding
from mooring.framework.loading import load
from mooring.framework.policy import Policy
from mooring.framework.verdict import Verdict
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster
from mooring.state.node_info import without_usage


class Rejected(MooringError):  # noqa: N818 - reads as the sentence it is raised with
    """The extender returned an error; kube-scheduler would show it in the pod's event."""


class FilterResult(msgspec.Struct, frozen=True):
    """The result of a filter call.

    Attributes:
        kept: the names of the nodes that passed, in order.
        failed: the other nodes, with their reasons.
        unresolvable: those of them where preemption would not help, with their reasons.
    """

    kept: list[str]
    failed: dict[str, str]
    unresolvable: dict[str, str]


class FakeKubeScheduler:
    """Calls a policy's verbs as kube-scheduler does.

    Args:
        policy: the policy, or where to load it from.
        nodes: the nodes of the cluster, including the pods they were created with.
        pods: further pods, pending or on the nodes.
        objects: further objects, such as ResourceSlices and ResourceClaims for `node.devices`.
        node_cache: if True, only names are sent, and the extender knows nodes and pods itself
        (``nodeCacheCapable: true``); if False, whole nodes are sent, and no pods are known.
    """

    def __init__(
        self,
        policy: Policy | str | Path,
        nodes: Sequence[Node],
        pods: Sequence[Pod] = (),
        *,
        objects: Sequence[KubeObject] = (),
        node_cache: bool = True,
    ) -> None:
        loaded = policy if isinstance(policy, Policy) else load(policy)
        self.nodes = {node.name: without_usage(node) for node in nodes}
        self.cluster = Cluster(has_pods=loaded.needs_pods) if node_cache else None
        self.answers = Answers(loaded, self.cluster)
        if self.cluster is not None:
            self.nodes = {node.name: self.cluster.put_node(node) for node in nodes}
            for node in nodes:
                with suppress(NotAvailable):
                    for pod in node.pods:
                        self.cluster.put_pod(self.cluster.assume(pod, node.name))
            for pod in pods:
                self.cluster.put_pod(pod)
            for one in objects:
                self.cluster.put(one)

    def filter(self, pod: Pod, nodes: Sequence[str] | None = None) -> FilterResult:
        """Ask which nodes a pod may run on.

        Raises:
            Rejected: the extender returned an error.
            MooringError: the request or the policy is invalid.
        """
        reply = msgspec.json.decode(self.answers.filter(self._args(pod, nodes)))
        if reply["Error"]:
            raise Rejected(reply["Error"])
        if reply["Nodes"] is not None:
            kept = [item["metadata"]["name"] for item in reply["Nodes"]["items"]]
        else:
            kept = reply["NodeNames"] or []
        unresolvable = reply["FailedAndUnresolvableNodes"] or {}
        return FilterResult(kept, {**(reply["FailedNodes"] or {}), **unresolvable}, unresolvable)

    def prioritize(self, pod: Pod, nodes: Sequence[str] | None = None) -> dict[str, int]:
        """Ask how well nodes suit a pod; the scores range from 0 to 10, as in the protocol.

        Raises:
            MooringError: the request or the policy is invalid.
        """
        reply = msgspec.json.decode(self.answers.prioritize(self._args(pod, nodes)))
        return {entry["Host"]: entry["Score"] for entry in reply}

    def preempt(self, pod: Pod, victims: Mapping[str, Sequence[Pod]]) -> dict[str, list[str]]:
        """Ask which victims may be preempted; returns the UIDs of the remaining victims by node.

        Raises:
            MooringError: the request or the policy is invalid.
        """
        whole = self.cluster is None
        by_node = {
            name: {
                "Pods": [one.raw if whole else {"UID": one.uid} for one in pods],
                "NumPDBViolations": 0,
            }
            for name, pods in victims.items()
        }
        body = {
            "Pod": pod.raw,
            "NodeNameToVictims": by_node if whole else None,
            "NodeNameToMetaVictims": None if whole else by_node,
        }
        reply = msgspec.json.decode(self.answers.preempt(msgspec.json.encode(body)))
        return {
            name: [one["UID"] for one in meta["Pods"]]
            for name, meta in reply["NodeNameToMetaVictims"].items()
        }

    def bind(self, pod: Pod, node: str) -> Binding:
        """Bind a pod: run the policy's bind function and add the pod to the node.

        Raises:
            Rejected: the policy rejected the binding.
            MooringError: the request or the policy is invalid.
        """
        if self.cluster is not None and self.cluster.pod(pod.namespace, pod.name) is None:
            self.cluster.put_pod(pod)
        body = msgspec.json.encode(
            {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node}
        )
        prepared = self.answers.prepare(self.answers.binding(body))
        for rule in self.answers.policy.binds:
            if rule.is_async and isinstance(prepared, Binding):
                try:
                    prepared = asyncio.run(rule.prepare_async(prepared))
                except MooringError:
                    self._forget(pod)
                    raise
        if isinstance(prepared, Verdict):
            self._forget(pod)
            raise Rejected(prepared.reason)
        if self.cluster is not None:
            self.cluster.put_pod(self.cluster.assume(pod, node, prepared.annotations))
        return prepared

    def schedule(self, pod: Pod) -> str:
        """Schedule a pod: filter, prioritize if there is a choice, bind; returns the node's name.

        The first of the best nodes is used. Empty if no node is left.

        Raises:
            Rejected: the extender returned an error.
            MooringError: the request or the policy is invalid.
        """
        kept = self.filter(pod).kept
        if not kept:
            return ""
        best = kept[0]
        if len(kept) > 1:
            scores = self.prioritize(pod, kept)
            best = max(kept, key=lambda name: scores[name])
        self.bind(pod, best)
        return best

    def _forget(self, pod: Pod) -> None:
        if self.cluster is not None:
            self.cluster.forget(pod.key)

    def _args(self, pod: Pod, nodes: Sequence[str] | None) -> bytes:
        names = list(self.nodes) if nodes is None else list(nodes)
        body: dict[str, Any] = {"Pod": pod.raw, "Nodes": None, "NodeNames": None}
        if self.cluster is not None:
            body["NodeNames"] = names
        else:
            body["Nodes"] = {"metadata": {}, "items": [self.nodes[name].raw for name in names]}
        return msgspec.json.encode(body)
