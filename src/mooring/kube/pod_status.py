"""Patches of a pod's status, as kube-scheduler makes them; no I/O.

`client` sends them; `live` builds the conditions. A strategic merge patch replaces conditions by
their type, so nothing has to be read before.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from mooring.errors import ApiError, KubeError
from mooring.kube.status import failed_to_connect
from mooring.kube.timestamps import second_time
from mooring.model.pod import Pod

# parity v1.36.4: scheduler/util/utils.go Retriable, client-go/util/retry DefaultBackoff
PATCH_PAUSES: Final = (0.01, 0.05, 0.25)
_RETRIABLE_REASONS: Final = frozenset({"Conflict", "InternalError", "ServiceUnavailable"})


class PodCondition(
    msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False, kw_only=True
):
    """A condition to set in a pod's status.

    Attributes:
        type: such as ``PodScheduled``.
        status: ``True``, ``False`` or ``Unknown``.
        last_transition_time: when the status last changed; None leaves it as it was, which is
            right when only reason or message change.
        observed_generation: the pod's ``metadata.generation`` that this was said about.
    """

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int | None = None


def pod_condition(
    pod: Pod, type_: str, status: str, *, reason: str, message: str, now_ns: int
) -> PodCondition:
    """A condition for a pod whose time of transition is now, unless its status stays the same.

    Args:
        pod: the pod as last seen.
        type_: such as ``PodScheduled``.
        status: ``True`` or ``False``.
        reason: one word.
        message: the text.
        now_ns: nanoseconds since 1970.
    """
    # parity v1.36.4: pkg/api/v1/pod/util.go UpdatePodCondition
    old = next((one for one in pod.status.conditions or () if one.type == type_), None)
    changed = old is None or old.status != status
    return PodCondition(
        type=type_,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=second_time(now_ns) if changed else None,
        observed_generation=pod.metadata.generation,
    )


class _Meta(msgspec.Struct):
    uid: str


class _Status(msgspec.Struct, rename="camel", omit_defaults=True):
    conditions: Sequence[PodCondition] = ()
    nominated_node_name: str | msgspec.UnsetType | None = msgspec.UNSET


class _Patch(msgspec.Struct, omit_defaults=True):
    status: _Status
    metadata: _Meta | None = None


_encode = msgspec.json.Encoder().encode


def status_patch(
    uid: str | None, conditions: Sequence[PodCondition], nominated_node: str | None
) -> bytes:
    """The strategic merge patch; a field that is None takes what is there away.

    Args:
        uid: the pod's; the API server rejects the patch if the pod has another one.
        conditions: each replaces the one of the same type.
        nominated_node: empty takes it away, None leaves it.
    """
    nominated = msgspec.UNSET if nominated_node is None else nominated_node or None
    status = _Status(conditions=tuple(conditions), nominated_node_name=nominated)
    return _encode(_Patch(status=status, metadata=_Meta(uid) if uid else None))


def is_retriable(error: KubeError) -> bool:
    """Whether the same patch may be accepted a moment later."""
    if isinstance(error, ApiError):
        return error.reason in _RETRIABLE_REASONS
    return isinstance(failed_to_connect(error), ConnectionRefusedError)
