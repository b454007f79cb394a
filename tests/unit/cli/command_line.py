"""The command line in this process; the fixture `command_line` runs it."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from mooring.model.meta import KubeObject

#: Exit code, output, errors.
Result = tuple[int, str, str]
Run = Callable[..., Result]

#: A cluster that is not there.
KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://h:6443"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""


def rejected(result: Result) -> str:
    """The one sentence of a rejection."""
    code, out, err = result
    assert (code, out) == (2, "")
    lines = err.splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("moor: ")
    return lines[0].removeprefix("moor: ")


def as_object(thing: KubeObject | dict[str, Any]) -> dict[str, Any]:
    """A thing as the API server would give it."""
    if isinstance(thing, dict):
        return thing
    return {"apiVersion": "v1", "kind": thing.kind_name, **thing.raw}


def snapshot_text(things: Iterable[KubeObject | dict[str, Any]]) -> str:
    """A cluster as ``kubectl get -o json`` prints it."""
    items = [as_object(one) for one in things]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
