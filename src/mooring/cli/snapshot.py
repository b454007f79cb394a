"""``moor snapshot``: the cluster as a file that ``moor explain --snapshot`` reads.

One object after the other goes from the API server to the file; no more than a page of them is ever
in memory. A file is for its owner alone, and complete or not there: `output_files` writes it.
"""

import asyncio
import secrets
from collections import Counter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Optional

import typer

from mooring.cli.cluster_reader import find_cluster
from mooring.cli.output_files import same_place, written
from mooring.cli.shared_options import KubeconfigFile, KubeContext
from mooring.cli.standard_streams import print_error
from mooring.errors import InputError
from mooring.wording import are, counted, escaped

if TYPE_CHECKING:
    import msgspec

    from mooring.kube.cluster_config import ClusterConfig
    from mooring.model.kinds import Kind
    from mooring.snapshot.aliases import Aliases

_START = b'{"apiVersion":"v1","kind":"List","metadata":{},"items":['
_KEY_BYTES = 32
_SHOWN_PROBLEMS = 5


def snapshot(
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE|-", help="File to write; - is standard output."
        ),
    ] = "-",
    kubeconfig: KubeconfigFile = None,
    context: KubeContext = None,
    redact: Annotated[
        bool,
        typer.Option(
            "--redact",
            help="Hash names, namespaces, images, annotations, labels and resources; remove "
            "environment variables, commands and everything else that scheduling does not read.",
        ),
    ] = False,
    names: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="FILE",
            help="With --redact, also write the original name for each new name to this file, "
            "which "
            "you should keep private.",
        ),
    ] = None,
) -> None:
    """Write the state of the cluster to a file for moor explain.

    Writes all objects that scheduling reads as one JSON List. A redacted snapshot is explained in
    the same way: equal names stay equal, so that selectors and references still match.
    """
    if names is not None and not redact:
        raise InputError("--names needs --redact: without it, all objects keep their names")
    if names is not None and same_place(output, str(names)):
        raise InputError(
            f"--output and --names are both {names}; write the names, which you should keep "
            "private, to another file"
        )
    config = find_cluster(kubeconfig, context=context)
    with written(output) as out:
        writer = SnapshotWriter(out, _aliases() if redact else None)
        asyncio.run(_copy(config, writer))
        if names is not None:
            with written(str(names)) as table:
                table.write("".join(f"{line}\n" for line in writer.table()).encode())
    writer.report(output)


def _aliases() -> "Aliases":
    from mooring.snapshot.aliases import Aliases

    return Aliases(secrets.token_bytes(_KEY_BYTES))


async def _copy(config: "ClusterConfig", writer: "SnapshotWriter") -> None:
    from mooring.cli.cluster_reader import read_kinds
    from mooring.kube.client import Client

    async with Client(config) as client:
        async for kind, page in read_kinds(client, print_error):
            for raw in page:
                writer.add(kind, raw)
        writer.end()


class SnapshotWriter:
    """Writes objects as one JSON List, each on a line of its own.

    Args:
        out: gets the bytes.
        aliases: the new names, if the objects are to be redacted.

    Attributes:
        counts: how many objects of each kind were written.
        names: kind, old and new key of each redacted object, with tabs between them.
    """

    def __init__(self, out: IO[bytes], aliases: "Aliases | None" = None) -> None:
        self.counts: Counter[str] = Counter()
        self.names: list[str] = []
        self._out = out
        self._aliases = aliases
        self._problems: list[str] = []

    def add(self, kind: "Kind", raw: "msgspec.Raw") -> None:
        """Write one object as the API server listed it: without kind and version."""
        from mooring.kube.resources import api_version

        item = _without_history(raw) if self._aliases is None else self._redacted(kind, raw)
        if item is None:
            return
        before = b"," if self.counts.total() else _START
        head = f'\n{{"apiVersion":"{api_version(kind)}","kind":"{kind.name}",'
        self._out.write(before + head.encode() + item[1:])
        self.counts[kind.name] += 1

    def table(self) -> list[str]:
        """What has a new name: what it is, its old and its new name, with tabs between."""
        named = self._aliases.named if self._aliases is not None else {}
        # The name of an image may have a tab or a line break in it.
        others = [f"{what}\t{escaped(old)}\t{new}" for (what, old), new in sorted(named.items())]
        return list(dict.fromkeys([*self.names, *others]))  # a Namespace may be in both

    def end(self) -> None:
        """End the list; nothing at all was written before if there are no objects."""
        self._out.write((b"" if self.counts.total() else _START) + b"\n]}\n")

    def report(self, place: str) -> None:
        """Say on standard error what there is, and what could not be redacted."""
        for problem in self._problems[:_SHOWN_PROBLEMS]:
            print_error(f"left out: {problem}")
        more = len(self._problems) - _SHOWN_PROBLEMS
        if more > 0:
            print_error(f"{counted(more, 'more object')} {are(more)} left out")
        if place != "-":
            nodes, pods = self.counts["Node"], self.counts["Pod"]
            others = self.counts.total() - nodes - pods
            said = f"{counted(nodes, 'node')}, {counted(pods, 'pod')}"
            print_error(f"wrote {said} and {counted(others, 'other object')} to {place}")

    def _redacted(self, kind: "Kind", raw: "msgspec.Raw") -> bytes | None:
        import msgspec

        from mooring.snapshot.redaction import redact

        assert self._aliases is not None  # noqa: S101 - the caller looked
        try:
            thing = kind.type.from_json(memoryview(raw), keep_source=False)
        except InputError as error:
            self._problems.append(str(error))
            return None
        new = redact(thing, self._aliases)
        self.names.append(f"{kind.name}\t{thing.key}\t{new.key}")
        return msgspec.json.encode(new.raw)


def _without_history(raw: "msgspec.Raw") -> bytes:
    """An object without kind, version and the fields' managers, which are half of its size."""
    import msgspec

    fields = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    metadata = msgspec.json.decode(fields.pop("metadata", b"{}"), type=dict[str, msgspec.Raw])
    metadata.pop("managedFields", None)
    for name in ("kind", "apiVersion"):
        fields.pop(name, None)
    return msgspec.json.encode({"metadata": metadata, **fields})
