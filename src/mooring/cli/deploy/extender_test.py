"""``moor extender-test``: whether an extender answers as kube-scheduler wants it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Optional

import typer

from mooring.cli.output_formats import print_json
from mooring.cli.shared_options import KubeconfigFile, KubeContext, PodNamespace
from mooring.errors import InputError

if TYPE_CHECKING:
    from mooring.config.types import Extender
    from mooring.deploy.extender_test.bind_checks import RealBinding
    from mooring.deploy.extender_test.findings import ExtenderReport

_MOST_NODES: Final = 100_000
_UNREACHABLE: Final = 2


class ExtenderTestOutput(StrEnum):
    """How the result is printed."""

    TABLE = "table"
    JSON = "json"
    JUNIT = "junit"


def extender_test(
    url: Annotated[
        Optional[str],  # noqa: UP045 - typer reads it at run time
        typer.Argument(help="The extender's urlPrefix, such as http://127.0.0.1:8888."),
    ] = None,
    config: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Test the extenders in this KubeSchedulerConfiguration."),
    ] = None,
    filter_verb: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="PATH", help="With a URL: the filter verb; '' leaves it out."),
    ] = None,
    prioritize_verb: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="PATH", help="With a URL: the prioritize verb."),
    ] = None,
    preempt_verb: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="PATH", help="With a URL: the preempt verb."),
    ] = None,
    bind_verb: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="PATH", help="With a URL: the bind verb."),
    ] = None,
    node_cache: Annotated[
        Optional[bool],  # noqa: UP045
        typer.Option(
            "--node-cache/--no-node-cache",
            help="Send node names, or whole nodes. As configured; with a URL, whatever it takes.",
        ),
    ] = None,
    ca_file: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="With a URL: the CA that its certificate must come from."),
    ] = None,
    cert_file: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="With a URL: the client certificate."),
    ] = None,
    key_file: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="With a URL: the key of the client certificate."),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="With a URL: accept any certificate.")
    ] = False,
    snapshot: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="FILE",
            help="Send the nodes in this file or folder, and its pods as victims.",
        ),
    ] = None,
    nodes: Annotated[
        str, typer.Option(metavar="N,N,…", help="Numbers of nodes for the latency.")
    ] = "10,100,1000,5000",
    requests: Annotated[
        int, typer.Option(min=1, max=10_000, help="Requests per measurement.")
    ] = 20,
    skip: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="CHECK", help="Leave out a check; repeatable."),
    ] = None,
    bind: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="POD", help="Really bind this pending pod, to --bind-node."),
    ] = None,
    bind_node: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NODE", help="The node for --bind."),
    ] = None,
    kubeconfig: KubeconfigFile = None,
    context: KubeContext = None,
    namespace: PodNamespace = None,
    timeout: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(min=0.01, max=3600, help="How long an answer may take. As configured, or 5."),
    ] = None,
    output: Annotated[
        ExtenderTestOutput, typer.Option("--output", "-o", help="A table, JSON or JUnit XML.")
    ] = ExtenderTestOutput.TABLE,
) -> None:
    """Test whether an extender, in any language, answers the way kube-scheduler expects.

    Sends what kube-scheduler v1.36 sends to filter, prioritize, preempt and bind, with node names
    and with whole nodes, then unusual and invalid requests. Reads the answers as kube-scheduler
    does and says what it would do with them. Measures latency by the number of nodes.

    Nothing is bound, because the pods in bind requests do not exist; only --bind binds a pod.

    Exit code 0 if there are no failures other than hints, 1 if an answer is wrong, 2 if the
    extender cannot be reached or the input is invalid.
    """
    if (url is None) == (config is None):
        raise InputError("give either the extender's URL or --config FILE")
    verbs = {
        "filterVerb": filter_verb,
        "prioritizeVerb": prioritize_verb,
        "preemptVerb": preempt_verb,
        "bindVerb": bind_verb,
    }
    tls = {"caFile": ca_file, "certFile": cert_file, "keyFile": key_file, "insecure": insecure}
    if url is not None:
        settings, optional = _by_url(url, verbs, tls), [one for one in verbs if verbs[one] is None]
    elif any(one is not None for one in verbs.values()) or any(tls.values()):
        raise InputError("verbs and TLS come from --config; give them there, or test a URL")
    else:
        settings, optional = _by_file(config), []
    if timeout is not None:
        settings = [_with_timeout(one, timeout) for one in settings]
    sizes, skipped = _sizes(nodes), _known(skip or [])
    given, pods = _objects_of(snapshot) if snapshot is not None else ([], [])
    if (bind is None) != (bind_node is None):
        raise InputError("--bind POD and --bind-node NODE belong together")
    with _progress() as progress:
        plans = [
            _plan(one, optional, node_cache, by_url=url is not None)
            | {
                "sizes": sizes, "requests": requests, "nodes": given, "pods": pods, "skip": skipped,
                "progress": progress,
            }
            for one in settings
        ]  # fmt: skip
        pod = (bind, bind_node) if bind is not None and bind_node is not None else None
        reports = asyncio.run(_run(plans, pod, kubeconfig, context, namespace))
    _print(reports, output)
    if not all(one.reachable for one in reports):
        raise typer.Exit(_UNREACHABLE)
    raise typer.Exit(0 if all(one.conforms for one in reports) else 1)


async def _run(
    plans: list[dict[str, Any]],
    pod: tuple[str, str] | None,
    kubeconfig: Path | None,
    context: str | None,
    namespace: str | None,
) -> "list[ExtenderReport]":
    from mooring.deploy.extender_test.conformance import ConformancePlan, run_conformance

    async with contextlib.AsyncExitStack() as stack:
        real = None
        if pod is not None:
            if not any(one["settings"].bind_verb for one in plans):
                raise InputError("--bind needs an extender with a bind verb")
            opened = _real_binding(*pod, kubeconfig, context, namespace)
            real = await stack.enter_async_context(opened)
        made: list[ConformancePlan] = [ConformancePlan(**one, real_binding=real) for one in plans]
        return [await run_conformance(one) for one in made]


def _by_url(
    url: str, verbs: dict[str, str | None], tls: dict[str, Path | bool | None]
) -> "list[Extender]":
    """The extender at an address, with the usual verbs where none are given."""
    entry: dict[str, Any] = {"urlPrefix": url, "weight": 1}
    for name, given in verbs.items():
        entry[name] = name.removesuffix("Verb") if given is None else given.lstrip("/")
    if not any(entry[name] for name in verbs):
        raise InputError("there is no verb left to test; give at least one")
    if bool(tls["certFile"]) != bool(tls["keyFile"]):
        raise InputError("--cert-file and --key-file belong together")
    settings = {key: value if value is True else str(value) for key, value in tls.items() if value}
    if settings:
        entry["tlsConfig"] = settings
    return _read({"extenders": [entry]})


def _by_file(file: Path | None) -> "list[Extender]":
    from mooring.cli.input_files import read_mapping

    if file is None:
        raise InputError("give either the extender's URL or --config FILE")
    try:
        found = _read(read_mapping(file))
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith(str(file)) else f"{file}: {text}") from error
    if not found:
        raise InputError(f"{file} has no extenders to test")
    return found


def _read(data: dict[str, Any]) -> "list[Extender]":
    from mooring.config.configuration import read_configuration

    return list(read_configuration(data).extenders)


def _with_timeout(settings: "Extender", seconds: float) -> "Extender":
    import msgspec

    from mooring.model.duration import Duration

    return msgspec.structs.replace(settings, http_timeout=Duration(round(seconds * 1e9)))


def _plan(
    settings: "Extender", optional: Sequence[str], node_cache: bool | None, *, by_url: bool
) -> dict[str, Any]:
    import msgspec

    if not by_url and node_cache is None:
        node_cache = settings.node_cache_capable
    if node_cache is not None:
        settings = msgspec.structs.replace(settings, node_cache_capable=node_cache)
    modes = {None: ("whole", "names"), True: ("names",), False: ("whole",)}[node_cache]
    verbs = [name.removesuffix("Verb") for name in optional]
    return {"settings": settings, "optional": verbs, "modes": modes}


def _sizes(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and 1 <= int(part) <= _MOST_NODES for part in parts):
        raise InputError(f"--nodes takes numbers from 1 to {_MOST_NODES}, such as 10,100,1000")
    return [int(part) for part in parts]


def _known(skip: Sequence[str]) -> list[str]:
    from mooring.deploy.extender_test.checks import CHECKS

    for one in skip:
        if one not in CHECKS:
            raise InputError(f"there is no check {one!r}; the ids are in the table of a run")
    return list(skip)


def _objects_of(place: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The nodes of a snapshot, and the pods on them."""
    from mooring.cli.input_files import read_snapshot
    from mooring.model.node import Node
    from mooring.model.pod import Pod

    found = read_snapshot(place, keep_source=True)
    nodes = [one.raw for one in found.all(Node)]
    if not nodes:
        raise InputError(
            f"{place} has no nodes; get them with: kubectl get nodes,pods -A -o json > FILE"
        )
    return nodes, [one.raw for one in found.all(Pod) if one.node_name]


@contextlib.asynccontextmanager
async def _real_binding(
    pod: str, node: str, kubeconfig: Path | None, context: str | None, namespace: str | None
) -> "AsyncIterator[RealBinding]":
    """The pod that the user wants to be bound, as it is in the cluster."""
    from mooring.cli.cluster_reader import find_cluster
    from mooring.cli.pod_names import read_pod_name
    from mooring.deploy.extender_test.bind_checks import RealBinding
    from mooring.errors import ApiError
    from mooring.kube.client import Client, api_path
    from mooring.model.pod import Pod

    config = find_cluster(kubeconfig, context=context)
    own, name = read_pod_name(pod, namespace, config.namespace)
    path = api_path("api", "v1", "namespaces", own, "pods", name)
    async with Client(config) as client:

        async def read() -> Pod:
            return Pod.from_json(await client.request("GET", path))

        try:
            await client.request("GET", api_path("api", "v1", "nodes", node))
            found = await read()
        except ApiError as error:
            raise InputError(f"--bind {pod} --bind-node {node}: {error}") from error
        if found.node_name:
            raise InputError(f"pod {found.key} is on node {found.node_name} already; name another")

        async def node_of() -> str:
            return (await read()).node_name

        yield RealBinding(name=name, namespace=own, uid=found.uid, node=node, node_of=node_of)


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Says on a terminal what is being done, and takes it away at the end."""
    from mooring.cli.terminal_output import make_console

    console = make_console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("calling the extender", spinner="line") as status:
        yield status.update


def _print(reports: "Sequence[ExtenderReport]", output: ExtenderTestOutput) -> None:
    if output is ExtenderTestOutput.JUNIT:
        from mooring.deploy.extender_test.junit import junit

        typer.echo(junit(reports))
    elif output is ExtenderTestOutput.JSON:
        print_json({"extenders": reports})
    else:
        from mooring.cli.deploy.extender_test_view import print_report

        for place, report in enumerate(reports):
            print_report(report, gap=bool(place))
