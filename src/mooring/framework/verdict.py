"""The answer of a filter for one node."""

from typing import Final

import msgspec


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """Whether a node is acceptable, and if not, why.

    Attributes:
        accepted: whether the pod may go to the node.
        reason: why not; shown to users in the pod's events.
        unresolvable: evicting other pods would not help, so preemption need not try this node.
    """

    accepted: bool
    reason: str = ""
    unresolvable: bool = False

    def and_also(self, other: "Verdict") -> "Verdict":
        """Both of two rejections, with their reasons joined by a comma."""
        return Verdict(
            accepted=False,
            reason=f"{self.reason},{other.reason}",
            unresolvable=self.unresolvable or other.unresolvable,
        )

    def __bool__(self) -> bool:
        return self.accepted


ACCEPT: Final = Verdict(accepted=True)


def accept() -> Verdict:
    """The node is acceptable."""
    return ACCEPT


def reject(reason: str, *, unresolvable: bool = False) -> Verdict:
    """The node is not acceptable.

    Args:
        reason: why, in a few words; kube-scheduler counts nodes by reason, so leave numbers out.
        unresolvable: evicting other pods would not help.
    """
    return Verdict(accepted=False, reason=reason, unresolvable=unresolvable)


def accept_if(condition: object, reason: str, *, unresolvable: bool = False) -> Verdict:
    """The node is acceptable if the condition holds, else rejected for the reason."""
    return ACCEPT if condition else reject(reason, unresolvable=unresolvable)
