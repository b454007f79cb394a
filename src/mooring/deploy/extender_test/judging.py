"""What is wrong with an answer, as ids of checks with a few words each.

Goes as far as kube-scheduler would: an answer that it cannot decode has one problem, another one
is compared with its question. No I/O; called for every answer of every check.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import msgspec

from mooring.deploy.extender_test.calling import Reply
from mooring.deploy.extender_test.decoding import (
    FilterAnswer,
    NotJson,
    VictimsAnswer,
    WrongType,
    decode,
    keys,
    read_bind,
    read_filter,
    read_scores,
    read_victims,
    shortened,
)
from mooring.deploy.extender_test.questions import ExtenderQuestion

#: Statuses that say that nobody serves a verb.
NOT_SERVED: Final = frozenset((404, 405, 501))
#: Problems after which there is no answer to compare with anything.
FATAL: Final = frozenset(
    ("served", "status", "answers", "encoding", "size", "json", "types", "filter-error")
)

_FIELDS: Final[dict[str, frozenset[str]]] = {
    "filter": frozenset(
        ("nodes", "nodenames", "failednodes", "failedandunresolvablenodes", "error")
    ),
    "preempt": frozenset(("nodenametometavictims",)),
    "bind": frozenset(("error",)),
}
_MAX_SCORE: Final = 10
_SHOWN: Final = 3
#: What kube-scheduler's own scores read of a node.
_READ: Final = (
    ("metadata", "labels"),
    ("spec", "taints"),
    ("spec", "unschedulable"),
    ("status", "allocatable"),
    ("status", "images"),
)


@dataclass(slots=True)
class Judgement:
    """What is wrong with an answer.

    Attributes:
        problems: by the id of a check, what came.
        meaning: the answer in a form that can be compared with another one; None without one.
        answered: how many of the nodes in question it speaks of.
    """

    problems: dict[str, str] = field(default_factory=dict)
    meaning: Any = None
    answered: int = 0

    @property
    def usable(self) -> bool:
        """Whether kube-scheduler got an answer that it can work with."""
        return FATAL.isdisjoint(self.problems)


def judge(question: ExtenderQuestion, reply: Reply) -> Judgement:
    """Look at an answer as kube-scheduler does."""
    found = Judgement()
    found.problems |= transfer_problems(reply)
    if not found.usable:
        return found
    try:
        decoded = decode(reply.body)
        if decoded.rest:
            found.problems["trailing-data"] = "more than one JSON value"
        value = decoded.value
        if question.verb == "prioritize":
            _judge_scores(question, read_scores(value), found)
        elif question.verb == "preempt":
            _judge_victims(question, value, read_victims(value), found)
        elif question.verb == "filter":
            _judge_filter(question, read_filter(value), found)
        else:
            found.meaning = read_bind(value)
    except NotJson as error:
        if reply.encoding:
            packed = f"a body with Content-Encoding {shortened(reply.encoding)}, which is not JSON"
            found.problems["encoding"] = packed
        else:
            found.problems["json"] = f"status 200 and {error}"
        return found
    except WrongType as error:
        found.problems["types"] = str(error)
        return found
    unknown = unknown_fields(question.verb, value)
    if unknown and "preempt-form" not in found.problems:
        found.problems["fields"] = f"the field {shortened(unknown[0])}"
    return found


def transfer_problems(reply: Reply) -> dict[str, str]:
    """What is wrong before the body is looked at."""
    problems: dict[str, str] = {}
    if reply.redirected and reply.failure != "redirect":
        problems["redirect"] = f"a redirect with {reply.redirected[0]}"
    if reply.failure == "redirect":
        # Nothing that comes after it has anything to do with the question.
        problems["status"] = reply.problem
    elif reply.failure == "encoding":
        problems["encoding"] = reply.problem
    elif reply.failure == "large":
        problems["size"] = reply.problem
    elif reply.failure:
        problems["answers"] = reply.problem
    elif reply.status in NOT_SERVED:
        problems["served"] = status_words(reply)
    elif reply.status != HTTPStatus.OK:
        problems["status"] = status_words(reply)
    return problems


def status_words(reply: Reply) -> str:
    """A status and what was said with it."""
    said = shortened(reply.body[:4096].decode(errors="replace"))
    return f"status {reply.status}{f': {said}' if said else ''}"


def unknown_fields(verb: str, value: Any) -> list[str]:
    """The fields of an answer that kube-scheduler does not read, in lower case."""
    known = _FIELDS.get(verb)
    if known is not None:
        return sorted(keys(value) - known)
    if isinstance(value, list):
        return sorted({key for one in value for key in keys(one)} - {"host", "score"})
    return []


def _judge_filter(question: ExtenderQuestion, answer: FilterAnswer, found: Judgement) -> None:
    # parity v1.36.4: extender.go Filter, schedule_one.go findNodesThatPassExtenders
    problems = found.problems
    if answer.error:
        problems["filter-error"] = f"Error: {shortened(answer.error)}"
        return
    whole = [name for name, _ in answer.nodes or ()]
    if question.mode == "names":
        kept = answer.names if answer.names is not None else whole
        if answer.names is None and answer.nodes is not None:
            problems["filter-names"] = "Nodes and no NodeNames"
    else:
        kept = whole
        if answer.nodes is None and answer.names:
            problems["filter-mode"] = "NodeNames instead of Nodes, so no node is left"
    asked = set(question.nodes)
    reasons = {**answer.failed, **answer.unresolvable}
    if answer.names is None and answer.nodes is None and not reasons and asked:
        problems["filter-mode"] = "neither Nodes nor NodeNames, so no node is left"
    put = _put_into(problems)
    put("filter-subset", (one for one in kept if one not in asked), "it keeps {}, not asked about")
    put("filter-duplicates", _repeated(kept), "it keeps {} more than once")
    put("filter-contradiction", (one for one in kept if one in reasons), "it keeps and rejects {}")
    put(
        "filter-foreign-reasons",
        reasons.keys() - asked,
        "it gives a reason for {}, not asked about",
    )
    put(
        "filter-reasons",
        (one for one, why in reasons.items() if not why.strip()),
        "no reason for {}",
    )
    if "filter-mode" not in problems:
        silent = asked - set(kept) - reasons.keys()
        put("filter-complete", silent, "it neither keeps nor rejects {}")
    if question.mode == "whole" and answer.nodes:
        _compare_nodes(question, answer.nodes, problems)
    found.meaning = (sorted(kept), answer.failed, answer.unresolvable)
    found.answered = len(asked & (set(kept) | reasons.keys()))


def _compare_nodes(
    question: ExtenderQuestion,
    nodes: Iterable[tuple[str, Mapping[str, Any]]],
    problems: dict[str, str],
) -> None:
    for name, node in nodes:
        sent = question.whole.get(name)
        if sent is None:
            continue
        before = msgspec.json.decode(sent)
        for part, key in _READ:
            if _field(before, part, key) != _field(node, part, key):
                problems["filter-whole-nodes"] = f"{part}.{key} of {name} is not what was sent"
                return


def _field(node: Mapping[str, Any], part: str, key: str) -> Any:
    inner = node.get(part)
    return (inner.get(key) if isinstance(inner, dict) else None) or None


def _judge_scores(
    question: ExtenderQuestion, scores: list[tuple[str, int]], found: Judgement
) -> None:
    # parity v1.36.4: schedule_one.go prioritizeNodes
    asked = set(question.nodes)
    hosts = [host for host, _ in scores]
    put = _put_into(found.problems)
    wild = [(host, score) for host, score in scores if not 0 <= score <= _MAX_SCORE]
    if wild:
        host, score = wild[0]
        found.problems["prioritize-range"] = f"the score {score} for {host}"
    put("prioritize-complete", asked - set(hosts), "no score for {}")
    put("prioritize-duplicates", _repeated(hosts), "more than one score for {}")
    put("prioritize-foreign", set(hosts) - asked, "a score for {}, not asked about")
    found.meaning = sorted(scores)
    found.answered = len(asked & set(hosts))


def _judge_victims(
    question: ExtenderQuestion,
    value: Any,
    answer: Mapping[str, VictimsAnswer | None],
    found: Judgement,
) -> None:
    # parity v1.36.4: extender.go ProcessPreemption, preemption.go callExtenders
    put = _put_into(found.problems)
    named = keys(value)
    if "nodenametometavictims" not in named and "nodenametovictims" in named:
        found.problems["preempt-form"] = "NodeNameToVictims, which kube-scheduler does not read"
    empty = [node for node, one in answer.items() if one is None or None in one.pods]
    put("preempt-null", empty, "null on {}")
    asked = question.victims
    put("preempt-nodes", answer.keys() - asked.keys(), "victims on {}, not asked about")
    there = {node: one for node, one in answer.items() if one is not None and node in asked}
    put(
        "preempt-no-victims",
        (node for node, one in there.items() if not one.pods),
        "no victim on {}",
    )
    strangers = (
        f"{shortened(str(pod))} on {node}"
        for node, one in there.items()
        for pod in one.pods
        if pod is not None and pod not in asked[node]
    )
    put("preempt-victims", strangers, "the victim {}, which was not sent for that node")
    twice = (f"{pod} on {node}" for node, one in there.items() for pod in _repeated(one.pods))
    put("preempt-duplicates", twice, "the victim {} more than once")
    wrong = (
        f"{one.violations} on {node}"
        for node, one in there.items()
        if one.pods and not 0 <= one.violations <= len(one.pods)
    )
    put("preempt-violations", wrong, "NumPDBViolations {}")
    found.meaning = {
        node: one and (sorted(map(str, one.pods)), one.violations) for node, one in answer.items()
    }
    found.answered = len(answer)


def _repeated(names: Sequence[str | None]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1 and name is not None]


def _put_into(problems: dict[str, str]) -> Callable[[str, Iterable[str], str], None]:
    def put(check: str, names: Iterable[str], words: str) -> None:
        found = sorted(names)
        if found:
            shown = ", ".join(shortened(one) or "a node without a name" for one in found[:_SHOWN])
            more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            problems[check] = words.format(shown + more)

    return put
