"""What a reply means, to check that two servers say the same.

Called by `wire`, outside what it times.
"""

from typing import Any

import msgspec

from benchmarks.command import BenchError


class _NodeList(msgspec.Struct):
    items: list[dict[str, Any]] | None = None


class _FilterResult(msgspec.Struct, rename="pascal"):
    nodes: _NodeList | None = None
    node_names: list[str] | None = None
    failed_nodes: dict[str, str] | None = None
    failed_and_unresolvable_nodes: dict[str, str] | None = None
    error: str = ""


class _HostPriority(msgspec.Struct, rename="pascal"):
    host: str
    score: int


def _scores(body: bytes) -> dict[str, int]:
    return {
        entry.host: entry.score for entry in msgspec.json.decode(body, type=list[_HostPriority])
    }


def _decision(body: bytes) -> tuple[dict[str, Any] | None, list[str] | None, set[str]]:
    """The kept nodes, the kept names and the names of the failed."""
    result = msgspec.json.decode(body, type=_FilterResult)
    if result.error:
        raise BenchError(f"a filter answered with the error {result.error!r}.")
    kept = None
    if result.nodes is not None:
        kept = {node["metadata"]["name"]: node for node in result.nodes.items or []}
    failed = {*(result.failed_nodes or ()), *(result.failed_and_unresolvable_nodes or ())}
    return kept, result.node_names, failed


def check_same(verb: str, go: bytes, mooring: bytes) -> None:
    """Raise `BenchError` unless both bodies keep, fail and score the same nodes alike.

    Whole nodes in a reply must also be equal in every field.
    """
    try:
        if verb == "filter":
            same = _decision(go) == _decision(mooring)
        else:
            same = _scores(go) == _scores(mooring)
    except (msgspec.DecodeError, KeyError) as error:
        raise BenchError(f"a reply to {verb} has an unknown shape: {error}.") from error
    if not same:
        raise BenchError(f"the two servers answer {verb} differently.")
