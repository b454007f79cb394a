"""Old ways of scoring and of asking for labels, as arguments of plugins of v1.

Called by `policy` and `old_profile`, for priorities and for plugins that Kubernetes removed.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from mooring.deploy.migration import kubernetes_names as names
from mooring.deploy.migration.notes import Notes
from mooring.deploy.migration.profile_writer import ProfileWriter

#: What ``RequestedToCapacityRatioPriority`` meant without arguments.
_DEFAULT_SHAPE: Final = [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]


class _Strategy(NamedTuple):
    """One way of scoring resources that somebody asks for."""

    field: str
    kind: str
    weight: int
    resources: list[Any]
    shape: list[Any]


class ResourceScoring:
    """Scores of resources, of which a profile of v1 has one.

    Args:
        profile: gets the arguments.
        notes: gets what is lost.
    """

    def __init__(self, profile: ProfileWriter, notes: Notes) -> None:
        self._profile = profile
        self._notes = notes
        self._found: list[_Strategy] = []

    def add(
        self,
        field: str,
        kind: str,
        weight: int,
        resources: list[Any] | None = None,
        shape: list[Any] | None = None,
    ) -> None:
        """One way of scoring with its weight; of several, the one with most weight stays."""
        self._found.append(_Strategy(field, kind, weight, resources or [], shape or []))

    def write(self) -> dict[str, int]:
        """Write the arguments; return the plugin and its weight, or nothing."""
        if not self._found:
            return {}
        best = max(self._found, key=lambda one: one.weight)
        for one in self._found:
            if one is not best:
                self._notes.ask(
                    one.field,
                    f"left out, because a profile has one scoringStrategy, and {best.kind} has "
                    "more weight or comes first; for both, make two profiles of different names",
                )
        strategy: dict[str, Any] = {"type": best.kind}
        if best.resources:
            strategy["resources"] = [_with_weight(one) for one in best.resources]
        if best.kind == names.CAPACITY_RATIO:
            shape = best.shape or _DEFAULT_SHAPE
            strategy["requestedToCapacityRatio"] = {"shape": shape}
        if strategy != {"type": names.LEAST_ALLOCATED}:
            self._profile.args(names.FIT)["scoringStrategy"] = strategy
        return {names.FIT: best.weight}


def _with_weight(resource: Any) -> Any:
    if isinstance(resource, dict):
        return {**resource, "weight": resource.get("weight") or 1}
    return resource


def spread_by_list(profile: ProfileWriter) -> None:
    """Spread pods only by their own constraints, not by Kubernetes' default ones."""
    args = profile.args(names.SPREAD)
    args.setdefault("defaultingType", "List")


def add_node_labels(
    profile: ProfileWriter,
    *,
    present: Iterable[str] = (),
    absent: Iterable[str] = (),
    preferred_present: Iterable[str] = (),
    preferred_absent: Iterable[str] = (),
) -> int:
    """Ask all nodes for labels, in the arguments of NodeAffinity.

    Returns:
        How many labels are preferred now, with those of earlier calls.
    """
    affinity = profile.args(names.NODE_AFFINITY).setdefault("addedAffinity", {})
    required = _expressions(present, absent)
    if required:
        selector = affinity.setdefault("requiredDuringSchedulingIgnoredDuringExecution", {})
        terms = selector.setdefault("nodeSelectorTerms", [])
        for term in terms or [{}]:
            term.setdefault("matchExpressions", []).extend(required)
            if not terms:
                terms.append(term)
    preferred = _expressions(preferred_present, preferred_absent)
    key = "preferredDuringSchedulingIgnoredDuringExecution"
    if preferred:
        affinity.setdefault(key, []).extend(
            {"weight": 1, "preference": {"matchExpressions": [one]}} for one in preferred
        )
    return len(affinity.get(key, ()))


def _expressions(present: Iterable[str], absent: Iterable[str]) -> list[dict[str, str]]:
    return [
        *({"key": label, "operator": "Exists"} for label in present),
        *({"key": label, "operator": "DoesNotExist"} for label in absent),
    ]
