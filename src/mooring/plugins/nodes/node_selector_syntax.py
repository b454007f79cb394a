"""What is wrong with node selector terms that somebody wrote into a plugin's arguments.

Called when arguments are checked. Terms in pods were validated by the API server.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from mooring.model.label_syntax import is_label_key, is_label_value
from mooring.model.selectors import NodeAffinity, NodeSelectorTerm, Requirement

_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS: Final = ("In", "NotIn")


def node_affinity_problems(affinity: NodeAffinity, path: str) -> Iterable[tuple[str, str]]:
    """Each wrong field, with what is wrong and what is allowed."""
    # parity v1.36.4: component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go: terms
    # without conditions and preferred terms without weight are not looked at.
    required = affinity.required_during_scheduling_ignored_during_execution
    if required is not None:
        where = f"{path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        for index, term in enumerate(required.node_selector_terms or ()):
            yield from _term_problems(term, f"{where}[{index}]")
    where = f"{path}.preferredDuringSchedulingIgnoredDuringExecution"
    for index, preferred in enumerate(
        affinity.preferred_during_scheduling_ignored_during_execution or ()
    ):
        if preferred.weight:
            yield from _term_problems(preferred.preference, f"{where}[{index}]")


def _term_problems(term: NodeSelectorTerm, path: str) -> Iterable[tuple[str, str]]:
    for index, one in enumerate(term.match_expressions or ()):
        yield from _label_problems(one, f"{path}.matchExpressions[{index}]")
    for index, one in enumerate(term.match_fields or ()):
        yield from _field_problems(one, f"{path}.matchFields[{index}]")


def _field_problems(one: Requirement, path: str) -> Iterable[tuple[str, str]]:
    if one.operator not in _FIELD_OPERATORS:
        yield _wrong_operator(one, path, _FIELD_OPERATORS)
    elif len(one.values or ()) != 1:
        yield f"{path}.values", "must have exactly one value"


def _label_problems(one: Requirement, path: str) -> Iterable[tuple[str, str]]:
    # parity v1.36.4: apimachinery/pkg/labels/selector.go NewRequirement
    values = one.values or []
    if one.operator not in _OPERATORS:
        yield _wrong_operator(one, path, _OPERATORS)
        return
    if not is_label_key(one.key):
        yield f"{path}.key", f"{one.key!r} is not a valid label key: use for example x.io/rack"
    if one.operator in ("In", "NotIn") and not values:
        yield f"{path}.values", f"{one.operator} needs at least one value"
    if one.operator in ("Exists", "DoesNotExist") and values:
        yield f"{path}.values", f"{one.operator} takes no values: remove them"
    if one.operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield f"{path}.values", f"{one.operator} takes exactly one value"
        for index, value in enumerate(values):
            if not _is_integer(value):
                yield (
                    f"{path}.values[{index}]",
                    f"{value!r} cannot be compared: must be an integer",
                )
    for index, value in enumerate(values):
        if not is_label_value(value):
            yield (
                f"{path}.values[{index}]",
                f"{value!r} is not a valid label value: use letters, digits, - _ .",
            )


def _wrong_operator(one: Requirement, path: str, allowed: Sequence[str]) -> tuple[str, str]:
    return f"{path}.operator", f"{one.operator!r} is not supported: use one of {', '.join(allowed)}"


def _is_integer(text: str) -> bool:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()) or len(digits.lstrip("0")) > 19:
        return False
    return -(2**63) <= int(text) < 2**63
