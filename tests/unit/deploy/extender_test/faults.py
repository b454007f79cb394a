"""All planted faults, and which checks have to notice each of them."""

import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any

from mooring.deploy.extender_test.made_up_objects import UNKNOWN_FIELD, UNKNOWN_NODE
from tests.unit.deploy.extender_test.wrong_extender import (
    Answered,
    Change,
    Fault,
    WrongExtender,
    nodes_of,
)

STRANGER = "a-node-that-nobody-asked-about"


def _set(**fields: Any) -> Change:
    return lambda _, value: {**value, **fields}


def _refuse(when: Callable[[dict[str, Any]], bool]) -> Change:
    def change(request: dict[str, Any], value: Any) -> Any:
        if when(request):
            raise ValueError("it cannot do this")
        return value

    return change


def _scores(score: Any) -> Change:
    return lambda _, value: [{"Host": one["Host"], "Score": score} for one in value]


def _victims(change: Callable[[Any], Any]) -> Change:
    """Changes the victims of the first node."""

    def changed(request: dict[str, Any], value: Any) -> Any:
        by_node = dict(value["NodeNameToMetaVictims"])
        for node in list(by_node)[:1]:
            by_node[node] = change(by_node[node])
        return {"NodeNameToMetaVictims": by_node}

    return changed


def _strip(request: dict[str, Any], value: Any) -> Any:
    items = [{"metadata": {"name": one["metadata"]["name"]}} for one in value["Nodes"]["items"]]
    return {**value, "Nodes": {"items": items}}


def _number_labels(request: dict[str, Any], value: Any) -> Any:
    for one in value["Nodes"]["items"]:
        one["metadata"]["labels"] = {"rank": 1}
    return value


def _whole_victims(request: dict[str, Any], value: Any) -> Any:
    return {"NodeNameToVictims": value["NodeNameToMetaVictims"]}


def _whole_for_names(request: dict[str, Any], value: Any) -> Any:
    items = [{"metadata": {"name": name}} for name in value["NodeNames"]]
    return {**value, "NodeNames": None, "Nodes": {"items": items}}


def _snake_case(request: dict[str, Any], value: Any) -> Any:
    return {"node_names": value["NodeNames"], "failed_nodes": value["FailedNodes"]}


def _counting() -> Change:
    count = 0

    def change(request: dict[str, Any], value: Any) -> Any:
        nonlocal count
        count += 1
        return [{**one, "Score": (one["Score"] + count) % 11} for one in value]

    return change


def _status(status: int, *headers: str) -> Callable[[Answered], Answered]:
    return lambda found: Answered(found.body, status, headers)


def _takes_anything(extender: WrongExtender, body: bytes) -> Answered | None:
    try:
        json.loads(body)["Pod"]["metadata"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return Answered(b'{"NodeNames":[],"FailedNodes":{}}')
    return None


def _dies(extender: WrongExtender, body: bytes) -> Answered | None:
    extender.broken |= body.startswith(b"moor")
    return Answered(b"out of order", 500) if extender.broken else None


def _dies_of_hang_ups(extender: WrongExtender, body: bytes) -> Answered | None:
    return Answered(b"out of order", 500) if extender.cut_off else None


def _deeply_hurt(_extender: WrongExtender, body: bytes) -> Answered | None:
    if b"[[[[" in body:
        raise ConnectionAbortedError
    return None


def _drops(extender: WrongExtender, body: bytes) -> Answered | None:
    raise ConnectionAbortedError


def _moves(extender: WrongExtender, body: bytes) -> Answered | None:
    extender.number += 1
    return Answered(b"", 307, ("Location: filter",)) if extender.number % 2 else None


def _says_yes(extender: WrongExtender, body: bytes) -> Answered | None:
    return Answered(b"{}") if body == b"{}" else None


def _missing(extender: WrongExtender, body: bytes) -> Answered | None:
    return Answered(b"no such verb", 404)


def _pod_has(field: str) -> Callable[[dict[str, Any]], bool]:
    return lambda request: field in request["Pod"]["spec"]


NO_ANSWER = {"FailedNodes": None, "NodeNames": None}

FAULTS: dict[str, Fault] = {
    # the form of answers
    "status-201": Fault(verb="filter", checks={"status"}, send=_status(201)),
    "status-500": Fault(verb="prioritize", checks={"status"}, send=_status(500)),
    "text": Fault(verb="filter", checks={"json"}, change=lambda *_: b"all nodes"),
    "empty-answer": Fault(verb="filter", checks={"json"}, change=lambda *_: b""),
    "cut-answer": Fault(
        verb="prioritize", checks={"json"}, send=lambda found: Answered(found.body[:-2])
    ),
    "nan": Fault(verb="prioritize", checks={"json"}, change=_scores(float("nan"))),
    "two-values": Fault(
        verb="filter", checks={"trailing-data"}, send=lambda found: Answered(found.body + b" {}")
    ),
    "moved-for-good": Fault(verb="filter", checks={"status"}, send=_status(301, "Location: /else")),
    "moved": Fault(verb="filter", checks={"redirect"}, raw=_moves),
    "deflated": Fault(
        verb="filter", checks={"encoding"},
        send=lambda found: Answered(zlib.compress(found.body), 200, ("Content-Encoding: deflate",)),
    ),
    "no-gzip": Fault(
        verb="filter", checks={"encoding"}, send=_status(200, "Content-Encoding: gzip")
    ),
    "closes": Fault(verb="filter", checks={"keep-alive"}, send=_status(200, "Connection: close")),
    "hangs-up": Fault(verb="filter", checks={"answers"}, raw=_drops),
    "never-answers": Fault(
        verb="filter", checks={"answers"}, seconds=0.5, hangs=lambda _: True
    ),
    "endless": Fault(
        verb="filter", checks={"size"}, plan={"max_reply": 100_000},
        send=lambda found: Answered(found.body + b" " * 100_000),
    ),
    "bomb": Fault(
        verb="filter", checks={"size"}, plan={"max_reply": 100_000},
        send=lambda found: Answered(
            gzip.compress(found.body + b" " * 10_000_000), 200, ("Content-Encoding: gzip",)
        ),
    ),
    "unknown-field": Fault(verb="filter", checks={"fields"}, change=_set(Message="hello")),
    "null": Fault(verb="filter", checks={"filter-mode"}, change=lambda *_: None),
    # filter
    "snake-case": Fault(verb="filter", checks={"filter-mode", "fields"}, change=_snake_case),
    "names-for-whole": Fault(
        verb="filter", checks={"filter-mode"}, mode="whole",
        change=lambda _, value: {
            "NodeNames": [one["metadata"]["name"] for one in value["Nodes"]["items"]]
        },
    ),
    "whole-for-names": Fault(verb="filter", checks={"filter-names"}, change=_whole_for_names),
    "always-an-error": Fault(verb="filter", checks={"filter-error"}, change=_set(Error="no idea")),
    "stranger-kept": Fault(
        verb="filter", checks={"filter-subset"},
        change=lambda _, value: {**value, "NodeNames": [*value["NodeNames"], STRANGER]},
    ),
    "stranger-kept-whole": Fault(
        verb="filter", checks={"filter-subset"}, mode="whole",
        change=lambda _, value: {
            **value,
            "Nodes": {"items": [*value["Nodes"]["items"], {"metadata": {"name": STRANGER}}]},
        },
    ),
    "silent": Fault(verb="filter", checks={"filter-complete"}, change=_set(FailedNodes={})),
    "stripped-nodes": Fault(
        verb="filter", checks={"filter-whole-nodes"}, mode="whole", change=_strip
    ),
    "labels-of-numbers": Fault(
        verb="filter", checks={"types"}, mode="whole", change=_number_labels
    ),
    "contradiction": Fault(
        verb="filter", checks={"filter-contradiction"},
        change=lambda request, value: {
            **value, "FailedNodes": dict.fromkeys(nodes_of(request), "maybe"),
        },
    ),
    "duplicates": Fault(
        verb="filter", checks={"filter-duplicates"},
        change=lambda _, value: {**value, "NodeNames": value["NodeNames"] * 2},
    ),
    "stranger-rejected": Fault(
        verb="filter", checks={"filter-foreign-reasons"},
        change=lambda _, value: {
            **value, "FailedNodes": {**value["FailedNodes"], STRANGER: "not mine"},
        },
    ),
    "no-reasons": Fault(
        verb="filter", checks={"filter-reasons"},
        change=lambda _, value: {
            **value, "FailedNodes": dict.fromkeys(value["FailedNodes"], ""),
        },
    ),
    "list-of-reasons": Fault(
        verb="filter", checks={"types"},
        change=lambda _, value: {**value, "FailedNodes": [*value["FailedNodes"]]},
    ),
    # prioritize
    "halves": Fault(verb="prioritize", checks={"types"}, change=_scores(7.5)),
    "strings": Fault(verb="prioritize", checks={"types"}, change=_scores("7")),
    "no-list": Fault(
        verb="prioritize", checks={"types"}, change=lambda _, value: {"priorities": value}
    ),
    "hundred": Fault(
        verb="prioritize", checks={"prioritize-range"}, change=_scores(100)
    ),
    "negative": Fault(
        verb="prioritize", checks={"prioritize-range"}, change=_scores(-1)
    ),
    "some-scores": Fault(
        verb="prioritize", checks={"prioritize-complete"}, change=lambda _, value: value[1:]
    ),
    "two-scores": Fault(
        verb="prioritize", checks={"prioritize-duplicates"},
        change=lambda _, value: value * 2,
    ),
    "stranger-scored": Fault(
        verb="prioritize", checks={"prioritize-foreign"},
        change=lambda _, value: [*value, {"Host": STRANGER, "Score": 1}],
    ),
    # preempt
    "whole-victims": Fault(verb="preempt", checks={"preempt-form"}, change=_whole_victims),
    "null-victims": Fault(
        verb="preempt", checks={"preempt-null"}, change=_victims(lambda _: None)
    ),
    "null-pod": Fault(
        verb="preempt", checks={"preempt-null"},
        change=_victims(lambda one: {**one, "Pods": [*one["Pods"], None]}),
    ),
    "stranger-preempted": Fault(
        verb="preempt", checks={"preempt-nodes"},
        change=lambda _, value: {
            "NodeNameToMetaVictims": {
                **value["NodeNameToMetaVictims"],
                STRANGER: {"Pods": [{"UID": "1"}], "NumPDBViolations": 0},
            }
        },
    ),
    "strange-victim": Fault(
        verb="preempt", checks={"preempt-victims"},
        change=_victims(lambda one: {**one, "Pods": [*one["Pods"], {"UID": "1"}]}),
    ),
    "no-victims": Fault(
        verb="preempt", checks={"preempt-no-victims"},
        change=_victims(lambda _: {"Pods": [], "NumPDBViolations": 0}),
    ),
    "victim-twice": Fault(
        verb="preempt", checks={"preempt-duplicates"},
        change=_victims(lambda one: {**one, "Pods": one["Pods"] * 2}),
    ),
    "budgets": Fault(
        verb="preempt", checks={"preempt-violations"},
        change=_victims(lambda one: {**one, "NumPDBViolations": -1}),
    ),
    # bind
    "binds-anything": Fault(
        verb="bind", checks={"bind-missing-pod", "bind-incomplete", "body-wrong-types"},
        change=lambda *_: {},
    ),
    "binds-nothing": Fault(verb="bind", checks={"bind-incomplete"}, raw=_says_yes),
    "bind-500": Fault(verb="bind", checks={"bind-error-form"}, send=_status(500)),
    "bind-number": Fault(verb="bind", checks={"types"}, change=_set(Error=404)),
    "bind-not-served": Fault(verb="bind", checks={"served"}, raw=_missing),
    "not-served": Fault(verb="filter", checks={"served"}, raw=_missing),
    # unusual questions
    "knows-no-overhead": Fault(
        verb="filter", checks={"every-field"}, change=_refuse(_pod_has("overhead"))
    ),
    "wants-labels": Fault(
        verb="filter", checks={"minimal-pod"},
        change=_refuse(lambda request: not request["Pod"]["metadata"].get("labels")),
    ),
    "strict-fields": Fault(
        verb="prioritize", checks={"unknown-fields"}, change=_refuse(_pod_has(UNKNOWN_FIELD))
    ),
    "strict-names": Fault(
        verb="filter", checks={"unknown-nodes"},
        change=_refuse(lambda request: UNKNOWN_NODE in nodes_of(request)),
    ),
    "forgets-unknown": Fault(
        verb="prioritize", checks={"unknown-nodes"},
        change=lambda _, value: [one for one in value if one["Host"] != UNKNOWN_NODE],
    ),
    "one-is-too-few": Fault(
        verb="filter", checks={"single-node"},
        change=_refuse(lambda request: len(nodes_of(request)) == 1),
    ),
    "none-is-too-few": Fault(
        verb="filter", checks={"empty-list"}, mode="whole",
        change=_refuse(lambda request: not nodes_of(request)),
    ),
    "a-hundred-is-too-many": Fault(
        verb="filter", checks={"large-list"},
        change=_refuse(lambda request: len(nodes_of(request)) > 20),
    ),
    "first-hundred-only": Fault(
        verb="prioritize", checks={"large-list"}, change=lambda _, value: value[:20]
    ),
    "random": Fault(verb="prioritize", checks={"repeatable"}, change=_counting()),
    # bad callers
    "takes-anything": Fault(
        verb="filter",
        checks={"body-not-json", "body-truncated", "body-empty", "body-wrong-types"},
        raw=_takes_anything,
    ),
    "dies-of-bad-bodies": Fault(verb="filter", checks={"survives"}, raw=_dies),
    "dies-of-hang-ups": Fault(
        verb="filter", checks={"hang-up", "survives"}, raw=_dies_of_hang_ups
    ),
    "recursive": Fault(verb="prioritize", checks={"body-deep"}, raw=_deeply_hurt),
    "chokes": Fault(
        verb="filter", checks={"body-huge"}, seconds=2.0,
        hangs=lambda request: request["Pod"]["metadata"]["name"] == "huge",
    ),
    "mixes-requests": Fault(verb="filter", checks={"concurrency"}),
    "one-at-a-time": Fault(
        verb="filter", checks={"concurrency", "idle-connections", "slow-callers"},
        serial=True, seconds=2.0,
    ),
    "hangs-at-forty": Fault(
        verb="filter", checks={"latency"}, seconds=2.0,
        hangs=lambda request: len(nodes_of(request)) == 40,
    ),
}  # fmt: skip
