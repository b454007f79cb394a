"""``moor explain``: one decision in full or all pending pods, of a snapshot or a cluster."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from mooring.cli.cluster_reader import find_cluster
from mooring.cli.explain.deciding import (
    DecisionSettings,
    explainer_for,
    only_one_cluster,
    report_failed,
    report_skipped,
)
from mooring.cli.output_formats import print_json
from mooring.cli.shared_options import (
    HookTimeout,
    KubeconfigFile,
    KubeContext,
    PolicyPlace,
    SchedulerConfig,
    SnapshotPlace,
)
from mooring.cli.standard_streams import print_error
from mooring.errors import InputError

if TYPE_CHECKING:
    from mooring.cli.explain.pod_history import PodHistory
    from mooring.explaining.explainer import Explainer, Explanation
    from mooring.kube.cluster_config import ClusterConfig
    from mooring.snapshot.snapshot import Snapshot

_SHOWN_PROBLEMS = 5


class ExplainOutput(StrEnum):
    """How an explanation is printed."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"


def explain(
    pod: Annotated[
        str,
        typer.Argument(
            metavar="POD",
            help="NAME, pod/NAME or NAMESPACE/NAME of a pod in the cluster, or a pod manifest.",
        ),
    ] = "",
    pending: Annotated[
        bool, typer.Option("--pending", help="Explain all pending pods at once.")
    ] = False,
    namespace: Annotated[
        str,
        typer.Option(
            "--namespace", "-n", help="The pod's namespace; with --pending, only pods in it."
        ),
    ] = "",
    all_namespaces: Annotated[
        bool,
        typer.Option(
            "--all-namespaces",
            "-A",
            help=("With --pending, pods in all namespaces, which is the default."),
        ),
    ] = False,
    snapshot: SnapshotPlace = None,
    config: SchedulerConfig = None,
    scheduler_name: Annotated[
        str,
        typer.Option(help="Use the profile of this scheduler, whatever the pod's schedulerName."),
    ] = "",
    policy: PolicyPlace = None,
    ask_extenders: Annotated[
        bool, typer.Option("--ask-extenders", help="Call the extenders in the configuration.")
    ] = False,
    node: Annotated[str, typer.Option(help="Explain this node in detail.")] = "",
    output: Annotated[
        ExplainOutput,
        typer.Option("--output", "-o", help="A table, a table of all nodes, or JSON."),
    ] = ExplainOutput.TABLE,
    kubeconfig: KubeconfigFile = None,
    context: KubeContext = None,
    hook_timeout: HookTimeout = 5.0,
) -> None:
    """Explain where a pod goes, or why it is pending and what would help.

    Decides as kube-scheduler would, based on files or on the live cluster. The exit code is 0 if
    the pod fits, 1 if it does not, and 2 if the input is invalid.
    """
    only_one_cluster(snapshot, kubeconfig, context)
    if pending == bool(pod):
        raise InputError("specify the pod to explain, or --pending for all pending pods")
    if all_namespaces and (namespace or not pending):
        other = "--namespace" if namespace else "a pod's name"
        raise InputError(f"--all-namespaces and {other} are mutually exclusive; use one of them")
    if pending and node:
        raise InputError("--pending and --node are mutually exclusive; use one of them")
    from mooring.cli.explain.pod_finder import pod_keys

    cluster = None
    if snapshot is None:
        cluster = find_cluster(kubeconfig, " or --snapshot FILE", context=context)
    default = cluster.namespace if cluster is not None else "default"
    question = PodQuestion(
        pod, pod_keys(pod, namespace, default) if pod else (), node, scheduler_name, cluster
    )
    settings = DecisionSettings(
        cluster or snapshot or "", config, policy, hook_timeout, ask_extenders
    )
    if pending:
        stuck = _explain_pending(settings, namespace, scheduler_name, output)
        raise typer.Exit(1 if stuck else 0)
    raise typer.Exit(_explain_pod(settings, question, output))


class PodQuestion(NamedTuple):
    """Which pod is to be explained.

    Attributes:
        typed: the pod as it was typed; may be the file of a manifest.
        keys: the ``namespace/name`` that may be meant.
        node: the node that is to be explained in full; empty for all.
        profile: the scheduler name whose profile decides; empty for the pod's own.
        cluster: the live cluster, if it is one.
    """

    typed: str
    keys: Sequence[str]
    node: str
    profile: str
    cluster: "ClusterConfig | None"

    @property
    def where(self) -> str:
        """What to call the place."""
        return "snapshot" if self.cluster is None else "cluster"


def _explain_pod(settings: DecisionSettings, question: PodQuestion, output: ExplainOutput) -> int:
    """Explain one pod; the exit code."""
    with explainer_for(settings) as explainer:
        found = _explained(explainer, question)
    report_skipped(explainer.snapshot)
    report_failed(found.failed)
    if found.assumed and not question.profile:
        print_error(
            f"there is no profile for the scheduler {found.pod.scheduler_name}, so the profile "
            f"of {found.record.profile} is used; specify its configuration with --config, "
            "or another profile with --scheduler-name"
        )
    history = None
    if question.cluster is not None and found.pod.uid:
        from mooring.cli.explain.pod_history import read_history

        history = read_history(question.cluster, found.pod)
    _print(found, explainer.snapshot, question.node, output, history)
    if found.record.selected:
        return 0
    return 2 if _report_broken(found) else 1


def _explained(explainer: "Explainer", question: PodQuestion) -> "Explanation":
    from msgspec.structs import replace

    from mooring.cli.explain.pod_finder import find_pod, unknown
    from mooring.model.changed_copies import as_new

    wanted, uncounted = find_pod(explainer, question.typed, question.keys, question.where)
    node, nodes = question.node, explainer.cluster.nodes
    if node and node not in nodes:
        raise InputError(unknown("node", node, list(nodes), question.where))
    if not uncounted:
        return explainer.explain(wanted, node, question.profile)
    found = explainer.explain(as_new(wanted), node, question.profile)
    return replace(found, bound_to=wanted.node_name)


def _explain_pending(
    settings: DecisionSettings, namespace: str, profile: str, output: ExplainOutput
) -> bool:
    """Explain all pending pods; whether there are some that do not fit."""
    from mooring.cli.explain.pending_view import pending_as_dict, print_pending
    from mooring.explaining.pending_pods import pending_report
    from mooring.model.pod import Pod

    with explainer_for(settings) as explainer:
        known = (
            explainer.cluster.pod(one.namespace, one.name) for one in explainer.snapshot.all(Pod)
        )
        pods = [
            one
            for one in known
            if one is not None and not one.node_name and namespace in ("", one.namespace)
        ]
        report = pending_report(explainer, pods, profile)
    report_skipped(explainer.snapshot)
    report_failed(report.failed)
    if output is ExplainOutput.JSON:
        print_json(pending_as_dict(report))
    else:
        print_pending(report, namespace, wide=output is ExplainOutput.WIDE)
    return report.pending > 0


def _print(
    found: "Explanation",
    snapshot: "Snapshot",
    node: str,
    output: ExplainOutput,
    history: "PodHistory | None",
) -> None:
    if output is ExplainOutput.JSON:
        from mooring.cli.explain.json_output import as_dict

        print_json(as_dict(found, snapshot, node, history))
    elif node:
        from mooring.cli.explain.node_view import print_node

        print_node(found, node)
    else:
        from mooring.cli.explain.view import ExplanationView

        wide = output is ExplainOutput.WIDE
        ExplanationView(found, wide=wide, history=history).print_all()


def _report_broken(found: "Explanation") -> bool:
    """Whether a plugin failed about nodes that others reject, which decided nothing."""
    from mooring.explaining.plugin_failures import plugin_failures

    failures = plugin_failures(found.record)
    for one in failures:
        print_error(one)
    return bool(failures)
