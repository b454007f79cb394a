"""``moor whatif``: what would come of operations on the cluster, which is not touched."""

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from mooring.cli.cluster_reader import find_cluster
from mooring.cli.explain.deciding import (
    DecisionSettings,
    explainer_for,
    only_one_cluster,
    report_skipped,
)
from mooring.cli.output_formats import print_json
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
from mooring.cli.standard_streams import print_error
from mooring.cli.whatif.output import WhatIfOutput

if TYPE_CHECKING:
    from mooring.config.profiles import Profile
    from mooring.config.registry import Registry
    from mooring.explaining.explainer import Explainer
    from mooring.simulator.node_groups import Prices


def whatif(
    operations: Annotated[
        list[str],
        typer.Argument(
            metavar="OPERATION",
            help='What to try, one after the other with "then" between them, as below.',
        ),
    ],
    like: Annotated[
        Optional[list[str]],  # noqa: UP045 - typer reads it at run time
        typer.Option(metavar="NODE", help="For add: the node that the new nodes are like."),
    ] = None,
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="Namespace of workloads without one.")
    ] = "",
    snapshot: SnapshotPlace = None,
    config: SchedulerConfig = None,
    policy: PolicyPlace = None,
    price: GroupPrices = None,
    price_label: PriceLabel = "",
    group_label: GroupLabel = "",
    output: Annotated[
        WhatIfOutput, typer.Option("--output", "-o", help="A table, a table of all pods, or JSON.")
    ] = WhatIfOutput.TABLE,
    kubeconfig: KubeconfigFile = None,
    context: KubeContext = None,
    hook_timeout: HookTimeout = 5.0,
) -> None:
    """Show what would happen to the pods if you changed the cluster.

      drain NODE...            cordon nodes and evict their pods
      remove NODE...           remove nodes at once, as when they fail
      remove-zone ZONE...      remove all nodes of zones at once
      add N --like NODE        add new nodes like another one
      scale WORKLOAD N         scale a workload, such as deployment/web
      restart WORKLOAD...      evict all pods of workloads
      priority WORKLOAD VALUE  a number or the name of a PriorityClass
      policy POLICY            schedule with another policy from now on

    For example: moor whatif drain node-1 then add 2 --like node-2

    The scheduler decides on a copy; the cluster is not touched. The exit code is 0 if every pod
    has a node in the end, 1 if pods stay pending or are lost or a disruption budget does not allow
    it, and 2 if the input is invalid.
    """
    from mooring.simulator.whatif.operations import UsePolicy, read_operations

    only_one_cluster(snapshot, kubeconfig, context)
    cluster = None
    wanted = read_operations(operations, like or (), namespace or "default")
    if snapshot is None:
        cluster = find_cluster(kubeconfig, " or --snapshot FILE", context=context)
        if not namespace:
            wanted = read_operations(operations, like or (), cluster.namespace)
    later = any(isinstance(one, UsePolicy) for one in wanted)
    settings = DecisionSettings(
        cluster or snapshot or "", config, policy, hook_timeout, keep_source=later
    )
    from mooring.simulator.forked_scheduler import Deciders
    from mooring.simulator.whatif.report import WhatIfSettings, what_if

    with explainer_for(settings) as explainer, quiet_scheduler():
        deciders = Deciders(explainer.profiles, explainer.registry, explainer.before)
        prices = read_node_prices(explainer, price or [], price_label, group_label)
        question = WhatIfSettings(deciders, lambda place: _profiles_with(config, place), prices)
        report = what_if(explainer, wanted, question)
    report_skipped(explainer.snapshot)
    say_assumed(report.assumed, explainer)
    if output is WhatIfOutput.JSON:
        from mooring.cli.whatif.json_output import as_dict

        print_json(as_dict(report))
    else:
        from mooring.cli.whatif.view import print_report

        print_report(report, wide=output is WhatIfOutput.WIDE)
    raise typer.Exit(0 if report.fine else 1)


def _profiles_with(config: str | None, place: str) -> "tuple[Mapping[str, Profile], Registry]":
    """The profiles of the configuration with another policy, and what makes their plugins."""
    from mooring.cli.explain import inputs
    from mooring.config.runtimes import build_profiles
    from mooring.plugins.in_tree import default_registry

    policy = inputs.read_policy(place)
    policies = [policy] if policy is not None else []
    registry = default_registry()
    return build_profiles(inputs.read_settings(config, policy), registry, policies), registry


def read_node_prices(
    explainer: "Explainer", prices: list[str], price_label: str, group_label: str
) -> "Prices":
    """The prices that were typed, for the nodes of a cluster.

    Raises:
        InputError: one is none, or is for a group that is not there.
    """
    from mooring.simulator.node_groups import NodeGrouping, Prices, read_prices

    nodes = explainer.cluster.nodes.values()
    groups = NodeGrouping(nodes, group_label)
    return Prices(groups, read_prices(prices, groups.counted(nodes)), price_label)


def say_assumed(names: tuple[str, ...], explainer: "Explainer") -> None:
    """Say which scheduler names have no profile."""
    if names:
        first = next(iter(explainer.profiles))
        print_error(
            f"there is no profile for the scheduler {', '.join(names)}, so the profile of {first} "
            "is used; specify its configuration with --config"
        )


@contextmanager
def quiet_scheduler() -> Iterator[None]:
    """Let the scheduler on the fork log nothing: its failures end the command with a sentence.

    What policies print goes to standard error, since standard output is for the answer.
    """
    log = logging.getLogger("mooring.scheduler")
    before = log.disabled
    log.disabled = True
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        log.disabled = before
