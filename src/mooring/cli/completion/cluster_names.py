"""Names of pods, nodes, namespaces and contexts, for who presses the tabulator key.

`completions` calls it, with the options that were typed so far. Somebody waits at a prompt: a
cluster that does not answer soon has no names, and neither has one that says no. Only names are
asked for, not whole objects, and not more of them than anybody reads.
"""

import asyncio
import contextlib
import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mooring.cli.pod_names import POD_WORDS
from mooring.errors import MooringError

if TYPE_CHECKING:
    from mooring.kube.client import Client
    from mooring.kube.cluster_config import ClusterConfig
    from mooring.snapshot.snapshot import Snapshot

#: How long a cluster may take; programs that get credentials may need more.
_VARIABLE: Final = "MOORING_COMPLETION_SECONDS"
_SECONDS: Final = 2.0
_MOST_NAMES: Final = 1000
#: A larger snapshot takes longer to read than anybody waits.
_MOST_BYTES: Final = 4 << 20
_NAMES_ONLY: Final = (
    "Accept",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
)

Given = Mapping[str, str]


def seconds() -> float:
    """How long a cluster has to answer, which includes getting credentials for it."""
    try:
        return max(float(os.environ[_VARIABLE]), 0.0)
    except (KeyError, ValueError):
        return _SECONDS


def pods(given: Given, current: str) -> list[str]:
    """Pods as they can be typed: by name in the namespace, or with another namespace before it."""
    before, slash, _ = current.rpartition("/")
    snapshot = _snapshot(given)
    if snapshot is not None:
        from mooring.model.pod import Pod

        return [pod.key for pod in snapshot.all(Pod)]
    config = _config(given)
    if config is None:
        return []
    own = given.get("namespace") or config.namespace
    if slash and before in POD_WORDS:
        return [f"{before}/{name}" for name in _lists(config, _pod_path(own))[0]]
    if slash:
        return [f"{before}/{name}" for name in _lists(config, _pod_path(before))[0]]
    if given.get("namespace"):
        return _lists(config, _pod_path(own))[0]
    names, spaces = _lists(config, _pod_path(own), "/api/v1/namespaces")
    return [*names, *(f"{space}/" for space in spaces)]


def nodes(given: Given, current: str) -> list[str]:  # noqa: ARG001
    """The cluster's nodes."""
    snapshot = _snapshot(given)
    if snapshot is not None:
        from mooring.model.node import Node

        return [node.name for node in snapshot.all(Node)]
    config = _config(given)
    return [] if config is None else _lists(config, "/api/v1/nodes")[0]


def namespaces(given: Given, current: str) -> list[str]:  # noqa: ARG001
    """The cluster's namespaces."""
    config = _config(given)
    return [] if config is None else _lists(config, "/api/v1/namespaces")[0]


def contexts(given: Given, current: str) -> list[str]:  # noqa: ARG001
    """The contexts of the kubeconfig; no cluster is asked for them."""
    from mooring.kube import kubeconfig_file

    listed = given.get("kubeconfig") or os.environ.get("KUBECONFIG", "")
    files = [Path(name) for name in listed.split(os.pathsep) if name]
    files = files or [Path.home() / ".kube" / "config"]
    with contextlib.suppress(MooringError, OSError):
        return list(kubeconfig_file.read([file for file in files if file.is_file()]).contexts)
    return []


def _snapshot(given: Given) -> "Snapshot | None":
    """The snapshot that the command line names, if it is small enough to be read for this."""
    place = Path(given.get("snapshot", ""))
    if "snapshot" not in given or not place.is_file() or place.stat().st_size > _MOST_BYTES:
        return None
    from mooring.cli.input_files import read_snapshot

    with contextlib.suppress(MooringError):
        return read_snapshot(str(place))
    return None


def _config(given: Given) -> "ClusterConfig | None":
    if "snapshot" in given:
        return None
    from mooring.kube.config import find_config

    file = given.get("kubeconfig")
    with contextlib.suppress(MooringError, OSError):
        return find_config(
            Path(file).expanduser() if file else None,
            default_file=True,
            context=given.get("context"),
        )
    return None


def _pod_path(namespace: str) -> str:
    from mooring.kube.client import api_path

    return api_path("api", "v1", "namespaces", namespace, "pods")


def _lists(config: "ClusterConfig", *paths: str) -> list[list[str]]:
    """The names in each collection; a collection that cannot be read in time has none."""

    async def ask() -> list[list[str]]:
        from mooring.kube.client import Client

        only_names = dataclasses.replace(config, headers=(_NAMES_ONLY, *config.headers))
        async with Client(only_names, user_agent="mooring/completion") as client:
            return await asyncio.gather(*(_names(client, path) for path in paths))

    with contextlib.suppress(MooringError, OSError):
        return asyncio.run(ask())
    return [[] for _ in paths]


async def _names(client: "Client", path: str) -> list[str]:
    import msgspec

    unreadable = (MooringError, OSError, msgspec.MsgspecError, LookupError, TypeError)
    with contextlib.suppress(*unreadable):
        async with asyncio.timeout(seconds()):
            body = await client.request("GET", path, params={"limit": _MOST_NAMES})
        return [str(one["metadata"]["name"]) for one in msgspec.json.decode(body)["items"] or ()]
    return []
