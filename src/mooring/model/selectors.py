"""Label selectors, node selectors and affinity terms, and what they match.

Matching follows apimachinery's selectors and component-helpers' node affinity: a missing label
satisfies ``NotIn`` and ``DoesNotExist``; ``Gt`` and ``Lt`` compare whole numbers.
"""

from collections.abc import Callable, Mapping

from mooring.errors import InputError
from mooring.model.meta import KubeStruct


class Requirement(KubeStruct, frozen=True, rename="camel"):
    """One condition on a label or a field."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels satisfy this condition.

        Raises:
            InputError: the operator is unknown.
        """
        test = _OPERATORS.get(self.operator)
        if test is None:
            raise InputError(
                f"operator {self.operator!r} for key {self.key!r} is not supported; use one of "
                f"{', '.join(_OPERATORS)}"
            )
        return test(labels.get(self.key), self.values or [])


def _compare(value: str | None, values: list[str], *, greater: bool) -> bool:
    if value is None or len(values) != 1:
        return False
    have, limit = _whole(value), _whole(values[0])
    if have is None or limit is None:
        return False
    return have > limit if greater else have < limit


def _whole(text: str) -> int | None:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    digits = digits.lstrip("0") or "0"
    if len(digits) > 19:  # more than 64 bits; `int` itself rejects thousands of digits
        return None
    number = -int(digits) if text[0] == "-" else int(digits)
    return number if -(2**63) <= number < 2**63 else None


_OPERATORS: dict[str, Callable[[str | None, list[str]], bool]] = {
    "In": lambda value, values: value is not None and value in values,
    "NotIn": lambda value, values: value is None or value not in values,
    "Exists": lambda value, values: value is not None,  # noqa: ARG005
    "DoesNotExist": lambda value, values: value is None,  # noqa: ARG005
    "Gt": lambda value, values: _compare(value, values, greater=True),
    "Lt": lambda value, values: _compare(value, values, greater=False),
}


class LabelSelector(KubeStruct, frozen=True, rename="camel"):
    """Selects objects by their labels; an empty selector selects all."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[Requirement] | None = None

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether all conditions hold for the labels."""
        for key, value in (self.match_labels or {}).items():
            if labels.get(key) != value:
                return False
        return all(one.matches(labels) for one in self.match_expressions or ())


class NodeSelectorTerm(KubeStruct, frozen=True, rename="camel"):
    """Conditions on a node's labels and on its name; an empty term matches nothing."""

    match_expressions: list[Requirement] | None = None
    match_fields: list[Requirement] | None = None

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        """Whether all conditions hold for a node with these labels and this name."""
        if not self.match_expressions and not self.match_fields:
            return False
        fields = {"metadata.name": name}
        return all(one.matches(labels) for one in self.match_expressions or ()) and all(
            one.matches(fields) for one in self.match_fields or ()
        )


class NodeSelector(KubeStruct, frozen=True, rename="camel"):
    """Selects nodes that match any of its terms; without terms, it selects none."""

    node_selector_terms: list[NodeSelectorTerm] | None = None

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        """Whether one of the terms matches a node with these labels and this name."""
        return any(term.matches(labels, name) for term in self.node_selector_terms or ())


class PreferredSchedulingTerm(KubeStruct, frozen=True, rename="camel"):
    """A wish for nodes, with its weight from 1 to 100."""

    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(KubeStruct, frozen=True, rename="camel"):
    """What a pod demands and wishes of a node's labels."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: list[PreferredSchedulingTerm] | None = (
        None
    )


class PodAffinityTerm(KubeStruct, frozen=True, rename="camel"):
    """Selects pods, and the part of the topology in which they count."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class WeightedPodAffinityTerm(KubeStruct, frozen=True, rename="camel"):
    """A wish about pods nearby, with its weight from 1 to 100."""

    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(KubeStruct, frozen=True, rename="camel"):
    """What a pod demands and wishes of the pods nearby; for anti-affinity, what it avoids."""

    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None
    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = (
        None
    )


class Affinity(KubeStruct, frozen=True, rename="camel"):
    """All affinity rules of a pod."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None
