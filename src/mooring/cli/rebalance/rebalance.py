"""``moor rebalance --dry-run``: a plan of moves of running pods, which people carry out."""

from typing import Annotated, Optional

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
    HookTimeout,
    KubeconfigFile,
    KubeContext,
    PolicyPlace,
    SchedulerConfig,
    SnapshotPlace,
)
from mooring.cli.whatif.whatif import quiet_scheduler, say_assumed
from mooring.errors import InputError


def rebalance(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only plan, which is all that the command does.")
    ] = False,
    max_moves: Annotated[
        int, typer.Option(min=1, max=1000, help="Plan at most this many moves.")
    ] = 20,
    min_gain: Annotated[
        int, typer.Option(min=1, max=100_000, help="Points that a move has to gain at least.")
    ] = 20,
    plan: Annotated[
        Optional[str],  # noqa: UP045 - typer reads it at run time
        typer.Option(metavar="FILE|-", help="Write the plan to a YAML file."),
    ] = None,
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="Move only pods in this namespace.")
    ] = "",
    snapshot: SnapshotPlace = None,
    config: SchedulerConfig = None,
    policy: PolicyPlace = None,
    output: Annotated[
        TableOrJson, typer.Option("--output", "-o", help="A table or JSON.")
    ] = TableOrJson.TABLE,
    kubeconfig: KubeconfigFile = None,
    context: KubeContext = None,
    hook_timeout: HookTimeout = 5.0,
) -> None:
    """Plan moves of running pods to nodes where they score higher.

    Moves are ranked by the points that they gain, and each is tried on a copy of the cluster: the
    pod is evicted there, and the scheduler puts it on the better node. Disruption budgets are
    respected. The cluster is not touched; the plan has the commands that carry it out.
    """
    from mooring.simulator.forked_scheduler import Deciders

    if not dry_run:
        raise InputError("moor rebalance only plans and moves no pod: use --dry-run")
    only_one_cluster(snapshot, kubeconfig, context)
    cluster = None
    if snapshot is None:
        cluster = find_cluster(kubeconfig, " or --snapshot FILE", context=context)
    settings = DecisionSettings(cluster or snapshot or "", config, policy, hook_timeout)
    with explainer_for(settings) as explainer, quiet_scheduler():
        from mooring.simulator.rebalance.plan import Limits, Rebalancing

        deciders = Deciders(explainer.profiles, explainer.registry, explainer.before)
        limits = Limits(max_moves, min_gain, namespace)
        found = Rebalancing(explainer, deciders, limits).plan()
    report_skipped(explainer.snapshot)
    say_assumed(found.assumed, explainer)
    from mooring.cli.rebalance import view
    from mooring.cli.rebalance.plan_file import plan_text

    if plan is not None:
        from mooring.cli.output_files import written

        with written(plan) as out:
            out.write(plan_text(found).encode())
        if plan == "-":
            return
    if output is TableOrJson.JSON:
        print_json(found)
    else:
        view.print_plan(found, plan)
