"""What `moor run` would do with the pods of a case, in the words of the parity tool.

A record asks every plugin about every node. A scheduler does not: it stops early, takes short cuts,
and keeps what it found for pods that are alike. So every pod is decided several times here, without
an observer: first, once more, and after other pods were placed and taken away again. Whatever was
kept in between, the answer has to be the same, and to be kube-scheduler's.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from mooring.errors import MooringError
from mooring.explaining.explainer import Explainer
from mooring.framework.decisions.decision import Decision
from mooring.framework.decisions.decision_cycle import decide, without_extenders
from mooring.framework.filtering import Rejection
from mooring.framework.runtime import Runtime
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.pod import Pod

#: Reserving is tried on so many of a pod's best nodes.
_MOST_RESERVED: Final = 2
#: So many pods of a case are placed for a while.
_MOST_PLACED: Final = 2
#: What kube-scheduler calls the claim that it makes up for extended resources.
_MADE_UP: Final = "<extended-resources>"


class RunDecision(NamedTuple):
    """One decision about one pod of a case.

    Attributes:
        when: which decision about the pod it is.
        pod: the number of the pod in the case.
        said: what was decided, a part of what a record says.
    """

    when: str
    pod: int
    said: Mapping[str, Any]


def run_decisions(
    explainer: Explainer, pending: Sequence[Mapping[str, Any]], left_out: Set[int] = frozenset()
) -> Iterator[RunDecision]:
    """Decide about the pods of a case that are not gated, as `moor run` does.

    Args:
        explainer: has the cluster and the profiles.
        pending: the pods.
        left_out: the numbers of those not to decide about.
    """
    runtimes: dict[str, Runtime] = {}
    ready: dict[int, tuple[Pod, Runtime]] = {}
    for number, one in enumerate(pending):
        pod = explainer.pod(one)
        name = pod.scheduler_name
        if name not in explainer.profiles or number in left_out:
            continue
        if name not in runtimes:
            runtimes[name] = explainer.runtime_on(explainer.cluster, name)
        if not any(not answer.accepted for answer in runtimes[name].pre_enqueue(pod).values()):
            ready[number] = pod, runtimes[name]
    placed: dict[int, str] = {}
    for when in ("first", "again"):
        for number, (pod, runtime) in ready.items():
            said = _decided(pod, runtime)
            if said["selected"]:
                placed[number] = said["selected"][0]
            yield RunDecision(when, number, said)
    for number, node in list(placed.items())[:_MOST_PLACED]:
        _place_for_a_while(ready[number][0], node, list(ready.values()))
    if placed:
        for number, (pod, runtime) in ready.items():
            yield RunDecision("after others", number, _decided(pod, runtime))


def _place_for_a_while(pod: Pod, node: str, ready: Sequence[tuple[Pod, Runtime]]) -> None:
    """Let another pod like this one be on a node while decisions are made, and go again."""
    name = f"{pod.name[:200]}-other"
    other = replace(pod, metadata=replace(pod.metadata, name=name, uid=f"uid-{pod.key}-other"))
    cluster = ready[0][1].cluster
    cluster.assume(other, node)
    for one, runtime in ready:
        _decided(one, runtime)
    cluster.forget(other.key)
    cluster.remove_pod(other.key)


def _decided(pod: Pod, runtime: Runtime) -> dict[str, Any]:
    try:
        decision = without_extenders(decide(runtime, pod))
    except MooringError as error:
        return {"error": f"{type(error).__name__}: {error}", "selected": []}
    names = runtime.cluster.columns.names
    found = decision.post_filter_result.preemption
    said: dict[str, Any] = {
        "error": decision.error or (found.error if found is not None else "") or None,
        "selected": sorted(names[row] for row in decision.best),
    }
    if decision.error:
        return said
    if not said["selected"] and not decision.known_message:
        said["nodeStatus"] = {
            name: {"plugin": one.plugin, "code": one.verdict.code}
            for row, name in enumerate(names)
            if (one := decision.filtering.rejection(row)) is not None
        }
    if found is not None and not said["selected"]:
        said["postFilter"] = {
            "code": found.verdict.code,
            "reasons": list(found.verdict.reasons),
            "eligible": found.eligible,
            "bestNodes": sorted(found.best),
            "candidates": {
                name: {
                    "victims": [victim.key for victim in one.victims],
                    "pdbViolations": one.pdb_violations,
                }
                for name, one in found.candidates.items()
            },
        }
    said["allocations"] = {
        name: _reserved(runtime, decision, name) for name in said["selected"][:_MOST_RESERVED]
    }
    return said


def _reserved(runtime: Runtime, decision: Decision, node: str) -> dict[str, Any]:
    """What the pod's claims get on a node: reserved, and given back."""
    cluster = runtime.cluster
    in_flight = cluster.assume_cache.in_flight
    before = set(in_flight)
    chosen = cluster.columns.nodes[cluster.columns.row_of[node]]
    answer = runtime.binding_hooks.reserve(decision.cycle, chosen)
    if isinstance(answer, Rejection):
        return {"rejected": f"{answer.plugin}: {', '.join(answer.verdict.reasons)}"}
    made: dict[str, Any] = {}
    for place, value in in_flight.items():
        kind, key = place
        if place not in before and kind is ResourceClaim:
            known = cluster.catalog.get(ResourceClaim, key) is not None
            allocation = msgspec.to_builtins(value)
            allocation.pop("allocationTimestamp", None)
            made[key if known else _MADE_UP] = allocation
    runtime.binding_hooks.unreserve(decision.cycle, chosen)
    return made
