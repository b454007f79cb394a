"""Taints of nodes and tolerations of pods."""

from collections.abc import Iterable

from mooring.model.meta import KubeStruct

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"


class Taint(KubeStruct, frozen=True, rename="camel"):
    """A mark on a node that repels pods that do not tolerate it."""

    key: str = ""
    value: str = ""
    effect: str = ""

    def __str__(self) -> str:
        return (
            f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"
        )


class Toleration(KubeStruct, frozen=True, rename="camel"):
    """A pod's permission to ignore taints; an empty key with ``Exists`` tolerates all."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Whether this toleration covers the taint."""
        # parity v1.36.4: component-helpers/scheduling/corev1; Gt and Lt are gated off there
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator in ("", "Equal"):
            return self.value == taint.value
        return self.operator == "Exists"


def untolerated(
    taints: Iterable[Taint],
    tolerations: Iterable[Toleration],
    effects: Iterable[str] = (NO_SCHEDULE, NO_EXECUTE),
) -> Taint | None:
    """The first taint with one of the effects that no toleration covers."""
    tolerations, effects = list(tolerations), set(effects)
    for taint in taints:
        if taint.effect in effects and not any(one.tolerates(taint) for one in tolerations):
            return taint
    return None


def tolerated_seconds(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> float | None:
    """For how many seconds a pod may stay on a node with these taints; None for ever.

    Args:
        taints: those with the effect ``NoExecute``.
        tolerations: the pod's.
    """
    # parity v1.36.4: pkg/controller/tainteviction getMinTolerationTime
    known, used = list(tolerations), []
    for taint in taints:
        found = next((one for one in known if one.tolerates(taint)), None)
        if found is None:
            return 0.0
        used.append(found)
    times = [one.toleration_seconds for one in used if one.toleration_seconds is not None]
    return float(max(min(times), 0)) if times else None
