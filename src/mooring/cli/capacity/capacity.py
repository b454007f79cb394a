"""``moor capacity``: how many more pods fit, or which nodes are needed until they do."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Optional

import typer

from mooring.cli.cluster_reader import find_cluster
from mooring.cli.explain.deciding import (
    DecisionSettings,
    explainer_for,
    only_one_cluster,
    report_skipped,
)
from mooring.cli.output_formats import TableOrJson, print_json
from mooring.cli.shared_options import (
    GroupLabel,
    GroupPrices,
    HookTimeout,
    KubeconfigFile,
    KubeContext,
    PolicyPlace,
    PriceLabel,
    SchedulerConfig,
    SnapshotPlace,
)
from mooring.cli.whatif.whatif import quiet_scheduler, read_node_prices, say_assumed
from mooring.errors import InputError

if TYPE_CHECKING:
    from mooring.explaining.explainer import Explainer
    from mooring.simulator.capacity.node_search import NodeKind, NodesNeeded
    from mooring.simulator.capacity.pod_sets import WantedPod
    from mooring.simulator.forked_scheduler import Deciders
    from mooring.simulator.node_groups import Prices

_MOST_PODS: Final = 200_000
_MOST_KINDS: Final = 20
_MOST_NODES: Final = 5000


def capacity(
    pods: Annotated[
        Optional[list[str]],  # noqa: UP045 - typer reads it at run time
        typer.Argument(
            metavar="POD[=N]",
            help="A pod manifest, or NAME or NAMESPACE/NAME of a pod in the cluster; with =N, a "
            "set has N of them.",
        ),
    ] = None,
    until_fits: Annotated[
        bool,
        typer.Option(
            "--until-fits",
            help="Find the nodes that are needed until one set fits, or all pending pods if no "
            "pod is given.",
        ),
    ] = False,
    like: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="NODE",
            help="With --until-fits: new nodes are like this one; repeat it for the cheapest mix.",
        ),
    ] = None,
    most: Annotated[
        int,
        typer.Option("--max", min=1, max=_MOST_PODS, help="Stop after this number of sets."),
    ] = 10_000,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="The pods' namespace.")] = "",
    snapshot: SnapshotPlace = None,
    config: SchedulerConfig = None,
    policy: PolicyPlace = None,
    price: GroupPrices = None,
    price_label: PriceLabel = "",
    group_label: GroupLabel = "",
    output: Annotated[
        TableOrJson, typer.Option("--output", "-o", help="A table or JSON.")
    ] = TableOrJson.TABLE,
    kubeconfig: KubeconfigFile = None,
    context: KubeContext = None,
    hook_timeout: HookTimeout = 5.0,
) -> None:
    """Show how many more of these pods fit, and what stops the next one.

    With several pods, as many sets of them as fit: web.yaml=3 worker.yaml=1 asks for three of the
    first with each of the second. With --until-fits, show how many nodes like NODE one set needs.

    The scheduler decides on a copy; the cluster is not touched. The exit code is 0, 1 if not even
    one set fits or no number of nodes is enough, and 2 if the input is invalid.
    """
    from mooring.simulator.forked_scheduler import Deciders

    only_one_cluster(snapshot, kubeconfig, context)
    _check(pods or [], like or [], until_fits)
    cluster = None
    if snapshot is None:
        cluster = find_cluster(kubeconfig, " or --snapshot FILE", context=context)
    default = cluster.namespace if cluster is not None else "default"
    settings = DecisionSettings(cluster or snapshot or "", config, policy, hook_timeout)
    with explainer_for(settings) as explainer, quiet_scheduler():
        place = "snapshot" if cluster is None else "cluster"
        wanted = _wanted(explainer, pods or [], (namespace, default, place))
        prices = read_node_prices(explainer, price or [], price_label, group_label)
        deciders = Deciders(explainer.profiles, explainer.registry, explainer.before)
        if until_fits:
            needed = _needed(explainer, deciders, wanted, _kinds(explainer, like or [], prices))
        else:
            from mooring.simulator.capacity import filling

            most = min(most, _MOST_PODS // sum(one.number for one in wanted))
            found = filling.capacity(explainer, wanted, deciders, prices.groups, max(most, 1))
    report_skipped(explainer.snapshot)
    say_assumed(tuple(deciders.assumed), explainer)
    from mooring.cli.capacity import view

    if until_fits:
        if output is TableOrJson.JSON:
            print_json(needed)
        else:
            view.print_needed(needed, priced=bool(prices))
        raise typer.Exit(0 if needed.nodes is not None else 1)
    if output is TableOrJson.JSON:
        print_json({**view.labels(wanted), **view.plain(found)})
    else:
        view.print_capacity(found, wanted)
    raise typer.Exit(0 if found.sets else 1)


def _check(pods: list[str], like: list[str], until_fits: bool) -> None:
    if not until_fits and not pods:
        raise InputError("specify a pod: a manifest, or the name of one in the cluster")
    if not until_fits and like:
        raise InputError("--like is for --until-fits; use both, or neither")
    if until_fits and not like:
        raise InputError("--until-fits needs --like NODE, which the new nodes are like")
    for given in (pods, like):
        if len(given) > _MOST_KINDS:
            raise InputError(f"{len(given)} are too many; specify {_MOST_KINDS} at most")
    if len(set(like)) < len(like):
        raise InputError("--like has the same node more than once")


def _wanted(
    explainer: "Explainer", texts: Sequence[str], names: tuple[str, str, str]
) -> "tuple[WantedPod, ...]":
    """The pods that were typed; `names` are the namespace, the default one and the place."""
    from mooring.cli.explain.pod_finder import find_pod, pod_keys
    from mooring.simulator.capacity.pod_sets import WantedPod

    namespace, default, place = names
    found = []
    for text in texts:
        typed, equals, count = text.rpartition("=")
        if not equals or Path(text).is_file():
            typed, count = text, "1"
        if not count.isdecimal() or len(count) > 6 or not 1 <= int(count) <= _MOST_PODS:
            raise InputError(f"{text}: {count!r} is not a number of pods from 1 to {_MOST_PODS}")
        keys = pod_keys(typed, namespace, default)
        pod, _ = find_pod(explainer, typed, keys, place)
        found.append(WantedPod(Path(typed).name, explainer.pod(pod), int(count)))
    return tuple(found)


def _kinds(explainer: "Explainer", names: Sequence[str], prices: "Prices") -> "list[NodeKind]":
    from mooring.cli.explain.pod_finder import unknown
    from mooring.simulator.capacity.node_search import NodeKind

    found = []
    for name in names:
        node = explainer.cluster.nodes.get(name)
        if node is None:
            raise InputError(unknown("node", name, list(explainer.cluster.nodes), "cluster"))
        price = prices.of(node) if prices else 1.0
        if price is None:
            raise InputError(f"node {name} has no price; specify --price {prices.groups.of(node)}=")
        found.append(NodeKind(node, price))
    return found


def _needed(
    explainer: "Explainer",
    deciders: "Deciders",
    wanted: "tuple[WantedPod, ...]",
    kinds: "list[NodeKind]",
) -> "NodesNeeded":
    from mooring.simulator.capacity.node_search import NodeSearch
    from mooring.simulator.capacity.pod_sets import copies

    if sum(one.number for one in wanted) > _MOST_PODS:
        raise InputError(f"these are too many pods; ask for {_MOST_PODS} at most")
    pods = [pod for _, pod in copies(wanted, 1)]
    return NodeSearch(explainer, deciders, pods, kinds, _MOST_NODES).search()
