"""Which pods a policy's functions cannot tell apart: what they read of a pod, as bytes.

Made for a policy all of whose filters and scores read nothing but their arguments
(`policy_checks.purity`), or say so. `policy_plugin` makes it; the plugin signs pods with it.
"""

import functools
import operator
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from mooring.framework.policy import Policy
from mooring.framework.policy_checks.device_reads import reads_devices
from mooring.framework.policy_checks.pure_reads import KEYED, Read
from mooring.framework.policy_checks.purity import Pin, Purity, rule_purity
from mooring.framework.policy_checks.sources import Sources
from mooring.framework.rules import Rule
from mooring.model.pod import Pod

_WITH_DEVICES: Final = Purity(None, why="the policy reads the devices of nodes")
_encode: Final = msgspec.msgpack.Encoder().encode


class PolicySignature:
    """Signs pods for a policy.

    Args:
        policy: the policy.
        reads: what its filters and scores read of a pod.
        pins: what else they use; if it is not what it was, nothing is known.
    """

    def __init__(self, policy: Policy, reads: Iterable[Read], pins: Iterable[Pin]) -> None:
        self._policy = policy
        self._rules = _filters_and_scores(policy)
        self._read = [_reader(one) for one in sorted(reads)]
        self._pins = tuple(pins)

    def of(self, pod: Pod) -> bytes | None:
        """What the functions read of a pod; None if they or what else they use have changed."""
        if _filters_and_scores(self._policy) != self._rules:
            return None
        for look, value in self._pins:
            if look() is not value:
                return None
        return _encode([read(pod) for read in self._read])


def policy_signature(policy: Policy) -> PolicySignature | None:
    """How a policy's pods are signed; None if a filter or score has to be called every time."""
    found = _purities(policy)
    reads: set[Read] = set()
    pins: dict[object, Pin] = {}
    for _, one in found:
        if one.reads is None:
            return None
        reads |= one.reads
        pins |= one.pins
    return PolicySignature(policy, reads, pins.values()) if found else None


def why_called(policy: Policy) -> dict[tuple[str, str], str]:
    """Why each filter and score is called in every decision; empty if its results are kept.

    By kind and name, such as ``("filter", "share")``.
    """
    found = _purities(policy)
    # A policy is one plugin: its results are of one moment.
    first = next((f"so is {one.kind} {one.name}" for one, how in found if how.why), "")
    return {(rule.kind, rule.name): how.why or first for rule, how in found}


def _purities(policy: Policy) -> list[tuple[Rule, Purity]]:
    sources = Sources()
    found = [(one, rule_purity(one, sources)) for one in _filters_and_scores(policy)]
    if any(how.reads is not None for _, how in found) and reads_devices(policy):
        # They come and go without a change of the node, also for functions declared pure.
        return [(one, _WITH_DEVICES if how.reads is not None else how) for one, how in found]
    return found


def _filters_and_scores(policy: Policy) -> list[Rule]:
    """The functions whose results may be kept."""
    return [*policy.filters, *policy.scores]


def _reader(read: Read) -> Callable[[Pod], Any]:
    if len(read) == 2 and read[0] in KEYED:
        return functools.partial(_value, *read)
    return operator.attrgetter(".".join(read))


def _value(attribute: str, key: str, pod: Pod) -> Any:
    return getattr(pod, attribute).get(key)
