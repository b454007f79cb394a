"""Reading a live cluster once: where it is, and all its objects that scheduling reads.

`moor explain`, `moor bind` and `moor snapshot` call it. Kinds that we may not read, or that the
cluster does not have, are left out with one line on standard error; without nodes or pods there is
nothing to be done.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mooring.cli.standard_streams import print_error
from mooring.errors import InputError, KubeError

if TYPE_CHECKING:
    import msgspec

    from mooring.kube.client import Client
    from mooring.kube.cluster_config import ClusterConfig
    from mooring.model.kinds import Kind
    from mooring.snapshot.snapshot import Snapshot

#: What to call the kubeconfig's option in every command.

_REQUIRED: Final = ("nodes", "pods")
_FORBIDDEN, _NOT_FOUND = 403, 404


def find_cluster(
    kubeconfig: Path | None, otherwise: str = "", *, context: str | None = None
) -> "ClusterConfig":
    """The cluster to ask.

    Args:
        kubeconfig: a file the user named.
        otherwise: what else the user could do if none is configured, such as ``or --snapshot``.
        context: the kubeconfig's context; None for its current one.

    Raises:
        InputError: there is none, or its configuration cannot be used.
    """
    from mooring.kube.config import find_config

    config = find_config(kubeconfig, default_file=True, context=context)
    if config is None:
        raise InputError(
            f"no cluster is configured: use --kubeconfig FILE{otherwise}, set KUBECONFIG, or run "
            f"inside the cluster"
        )
    return config


async def read_kinds(
    client: "Client", left_out: Callable[[str], None]
) -> AsyncIterator[tuple["Kind", list["msgspec.Raw"]]]:
    """All objects that scheduling reads, kind by kind in pages; nodes and pods come first.

    Args:
        client: the cluster.
        left_out: called with one sentence about each kind that cannot be read.

    Raises:
        KubeError: the cluster cannot be reached, or nodes or pods cannot be read.
    """
    from mooring.errors import ApiError
    from mooring.kube.listing import list_pages
    from mooring.kube.resources import collection_path
    from mooring.model.kinds import KINDS

    # Without permission to read nodes or pods, one sentence is enough.
    for kind in sorted(KINDS, key=lambda one: one.resource not in _REQUIRED):
        try:
            async for page in list_pages(client, collection_path(kind)):
                yield kind, page
        except ApiError as error:
            if kind.resource in _REQUIRED or error.status not in (_FORBIDDEN, _NOT_FOUND):
                raise
            name = f"{kind.resource}.{kind.group}" if kind.group else kind.resource
            why = (
                "the cluster does not serve them"
                if error.status == _NOT_FOUND
                else "listing is forbidden"
            )
            left_out(f"{name} are left out: {why}")


def read_live(config: "ClusterConfig", *, keep_source: bool = False) -> "Snapshot":
    """Everything that scheduling reads, from a live cluster; says on standard error what it lacks.

    Args:
        config: the cluster.
        keep_source: keep every field of the objects, for policies that read `raw`.

    Raises:
        InputError: the cluster cannot be read.
    """
    with as_input_error():
        return asyncio.run(_read(config, keep_source))


async def _read(config: "ClusterConfig", keep_source: bool) -> "Snapshot":
    from mooring.kube.client import Client
    from mooring.snapshot.snapshot import Snapshot

    snapshot = Snapshot(strict=False)
    async with Client(config) as client:
        async for kind, page in read_kinds(client, print_error):
            for raw in page:
                try:
                    thing = kind.type.from_json(memoryview(raw), keep_source=keep_source)
                except InputError as error:
                    snapshot.skip(kind.name, str(error))
                else:
                    snapshot.add(thing)
    return snapshot


@contextmanager
def as_input_error() -> Iterator[None]:
    """A cluster that cannot be used is bad input where exit code 1 means that the answer is no."""
    try:
        yield
    except InputError:
        raise
    except KubeError as error:
        raise InputError(str(error)) from error
