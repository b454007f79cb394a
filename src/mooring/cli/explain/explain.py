"""``moor explain``: one decision in full, from a snapshot or a live cluster."""

import gc
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Optional

import typer

from mooring.cli.cluster_reader import KUBECONFIG_HELP, find_cluster, read_live
from mooring.errors import InputError, PluginError, PolicyError
from mooring.wording import are, counted

if TYPE_CHECKING:
    from mooring.explaining.explainer import Explainer, Explanation
    from mooring.framework.policy import Policy
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
            help="NAME, pod/NAME or NAMESPACE/NAME of a pod in the cluster, or a pod's manifest.",
        ),
    ],
    snapshot: Annotated[
        Optional[str],  # noqa: UP045 - typer reads it at run time
        typer.Option(
            "--snapshot",
            "-s",
            metavar="FILE|DIR|-",
            help="What moor snapshot or kubectl get nodes,pods,... -A -o json|yaml prints: a file, "
            "a folder, or -. Without it the live cluster is asked.",
        ),
    ] = None,
    config: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="A KubeSchedulerConfiguration; kube-scheduler's defaults without."),
    ] = None,
    policy: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="A policy that takes part: policy.py or package.module:policy."),
    ] = None,
    node: Annotated[str, typer.Option(help="Explain this node in full.")] = "",
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="The namespace of a pod that is named alone.")
    ] = "",
    scheduler_name: Annotated[
        str,
        typer.Option(help="Decide with the profile of this scheduler, whatever the pod names."),
    ] = "",
    output: Annotated[
        ExplainOutput,
        typer.Option("--output", "-o", help="A table, a table with all nodes, or JSON."),
    ] = ExplainOutput.TABLE,
    kubeconfig: Annotated[Optional[Path], typer.Option(help=KUBECONFIG_HELP)] = None,  # noqa: UP045
    hook_timeout: Annotated[
        float,
        typer.Option(
            min=0.05, help="Seconds after which a plugin that does not return is interrupted."
        ),
    ] = 5.0,
) -> None:
    """Explain where a pod goes, or why it goes nowhere and what would help.

    Decides as kube-scheduler would, from files alone or from what the live cluster has now. Exit
    code 0 if the pod fits, 1 if it does not, 2 if something in the input is wrong.
    """
    if snapshot is not None and kubeconfig is not None:
        raise InputError("--snapshot and --kubeconfig exclude each other; give one of them")
    from mooring.cli.explain.pod_finder import pod_keys
    from mooring.cli.hook_limit import hook_limit

    cluster = find_cluster(kubeconfig, " or --snapshot FILE") if snapshot is None else None
    keys = pod_keys(pod, namespace, cluster.namespace if cluster is not None else "default")
    question = PodQuestion(
        pod, keys, node, scheduler_name, "snapshot" if cluster is None else "cluster"
    )

    # Thousands of objects are made and none of them is garbage until the end.
    gc.disable()
    try:
        with hook_limit(hook_timeout) as deadline:
            explainer = _explainer(cluster or snapshot or "", config, policy, deadline.begin)
            found = _explained(explainer, question)
        _report_skipped(explainer.snapshot)
        _report_failed(found)
        _print(found, explainer.snapshot, node, output)
    finally:
        gc.enable()
    raise typer.Exit(0 if found.record.selected else 1)


class PodQuestion(NamedTuple):
    """What is to be explained.

    Attributes:
        typed: the pod as it was typed; may be the file of a manifest.
        keys: the ``namespace/name`` that may be meant.
        node: the node that is to be explained in full; empty for all.
        profile: the scheduler name whose profile decides; empty for the pod's own.
        where: what to call the place, ``snapshot`` or ``cluster``.
    """

    typed: str
    keys: Sequence[str]
    node: str
    profile: str
    where: str


def _explained(explainer: "Explainer", question: PodQuestion) -> "Explanation":
    from msgspec.structs import replace

    from mooring.cli.explain.pod_finder import find_pod, unknown
    from mooring.model.changed_copies import as_new

    wanted = find_pod(explainer, question.typed, question.keys, question.where)
    node, nodes = question.node, explainer.cluster.nodes
    if node and node not in nodes:
        raise InputError(unknown("node", node, list(nodes), question.where))
    counted_there = explainer.cluster.pod(wanted.namespace, wanted.name) is not None
    was_on = "" if counted_there else wanted.node_name
    try:
        found = explainer.explain(as_new(wanted) if was_on else wanted, node, question.profile)
    except (PluginError, PolicyError) as error:
        raise InputError(_told(error)) from error
    return replace(found, bound_to=was_on) if was_on else found


def _told(error: Exception) -> str:
    from mooring.process.deadline import was_interrupted

    advice = "; correct it, or allow more with --hook-timeout" if was_interrupted(error) else ""
    return f"{error}{advice}"


def _print(found: "Explanation", snapshot: "Snapshot", node: str, output: ExplainOutput) -> None:
    if output is ExplainOutput.JSON:
        import msgspec

        text = msgspec.json.encode(as_dict(found, snapshot, node))
        typer.echo(msgspec.json.format(text, indent=2).decode())
    elif node:
        from mooring.cli.explain.node_view import print_node

        print_node(found, node)
    else:
        from mooring.cli.explain.view import ExplanationView

        ExplanationView(found, wide=output is ExplainOutput.WIDE).print_all()


def _explainer(
    place: "ClusterConfig | str",
    config: Path | None,
    policy: str | None,
    before: Callable[[], None],
) -> "Explainer":
    from mooring.cli.input_files import read_snapshot
    from mooring.explaining.explainer import Explainer
    from mooring.framework.loading import load

    loaded = load(policy) if policy is not None else None
    settings = _settings(config, loaded) if config is not None else None
    keep = loaded is not None
    snapshot = (
        read_snapshot(place, keep_source=keep)
        if isinstance(place, str)
        else read_live(place, keep_source=keep)
    )
    return Explainer(snapshot, settings, policy=loaded, before=before)


def _settings(config: Path, policy: "Policy | None") -> dict[str, Any]:
    """The scheduler's configuration; whatever is wrong with it is reported with the file's name."""
    from mooring.cli.input_files import read_mapping
    from mooring.config.runtimes import build_profiles
    from mooring.plugins.in_tree import default_registry

    settings = read_mapping(config)
    try:
        build_profiles(settings, default_registry(), [policy] if policy is not None else [])
    except InputError as error:
        raise InputError(f"{config}: {error}") from error
    extenders = settings.get("extenders")
    if extenders:
        number = len(extenders)
        said = f"{counted(number, 'extender')} in {config} {are(number)} not asked"
        typer.echo(f"moor: {said}", err=True)
    return settings


def _report_skipped(snapshot: "Snapshot") -> None:
    skipped = snapshot.skipped
    if not skipped:
        return
    number = len(skipped)
    typer.echo(f"moor: {counted(number, 'object')} {are(number)} left out:", err=True)
    for one in skipped[:_SHOWN_PROBLEMS]:
        typer.echo(f"  {one.problem}", err=True)
    if number > _SHOWN_PROBLEMS:
        typer.echo(f"  and {number - _SHOWN_PROBLEMS} more (-o json has all)", err=True)


def _report_failed(found: "Explanation") -> None:
    for error in found.failed:
        typer.echo(f"moor: {_told(error)}; the explanation is without it", err=True)


def as_dict(found: "Explanation", snapshot: "Snapshot", node: str = "") -> dict[str, Any]:
    """An explanation as plain data: the record and what would help.

    Args:
        found: the explanation.
        snapshot: where it came from.
        node: keep only this node where something is said for each node.
    """
    from mooring.explaining.decision_text import outcome_sentence

    out = found.record.to_dict()
    if node:
        _keep_node(out, node)
    out["message"] = outcome_sentence(found.record)
    if found.bound_to:
        out["boundTo"] = found.bound_to
    out["suggestions"] = [
        {
            "text": one.combination.text,
            "cost": round(one.combination.cost, 2),
            "node": one.combination.node,
            "nodes": one.nodes,
        }
        for one in found.suggestions
    ]
    out["skippedObjects"] = [
        {"object": one.thing, "problem": one.problem} for one in snapshot.skipped
    ]
    return out


def _keep_node(out: dict[str, Any], node: str) -> None:
    for plugin, answers in out["filter"].items():
        if isinstance(answers, dict):
            out["filter"][plugin] = {node: answers[node]}
    for score in out.get("score", {}).values():
        for field in ("raw", "normalized"):
            if field in score:
                score[field] = {key: value for key, value in score[field].items() if key == node}
    for field in ("nodeStatus", "total"):
        if field in out:
            out[field] = {key: value for key, value in out[field].items() if key == node}
