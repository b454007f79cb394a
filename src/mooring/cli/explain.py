"""``moor explain``: one decision in full, from a snapshot or a live cluster."""

import gc
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from mooring.cli.cluster_reader import CONTEXT_HELP, KUBECONFIG_HELP, find_cluster, read_live
from mooring.errors import InputError, PluginError, PolicyError
from mooring.wording import are, counted

if TYPE_CHECKING:
    from mooring.explaining.explainer import Explainer, Explanation
    from mooring.framework.policy import Policy
    from mooring.kube.cluster_config import ClusterConfig
    from mooring.model.pod import Pod
    from mooring.snapshot.snapshot import Snapshot

_SHOWN_PROBLEMS = 5


class ExplainOutput(StrEnum):
    """How an explanation is printed."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"


def explain(
    pod: Annotated[
        str, typer.Argument(help="NAMESPACE/NAME of a pod in the cluster, or a pod's manifest.")
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
    output: Annotated[
        ExplainOutput,
        typer.Option("--output", "-o", help="A table, a table with all nodes, or JSON."),
    ] = ExplainOutput.TABLE,
    kubeconfig: Annotated[Optional[Path], typer.Option(help=KUBECONFIG_HELP)] = None,  # noqa: UP045
    context: Annotated[Optional[str], typer.Option(help=CONTEXT_HELP)] = None,  # noqa: UP045
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
    if snapshot is not None and (kubeconfig is not None or context is not None):
        other = "--kubeconfig" if kubeconfig is not None else "--context"
        raise InputError(f"--snapshot and {other} exclude each other; give one of them")
    cluster = None
    if snapshot is None:
        cluster = find_cluster(kubeconfig, " or --snapshot FILE", context=context)
        if "/" not in pod and not Path(pod).is_file():
            pod = f"{cluster.namespace}/{pod}"
    from mooring.cli.hook_limit import hook_limit

    # Thousands of objects are made and none of them is garbage until the end.
    gc.disable()
    try:
        with hook_limit(hook_timeout) as deadline:
            explainer = _explainer(cluster or snapshot or "", config, policy, deadline.begin)
            found = _explained(explainer, pod, node, "snapshot" if cluster is None else "cluster")
        _report_skipped(explainer.snapshot)
        _report_failed(found)
        _print(found, explainer.snapshot, node, output)
        code = 0 if found.record.selected else 2 if _report_broken(found) else 1
    finally:
        gc.enable()
    raise typer.Exit(code)


def _explained(explainer: "Explainer", pod: str, node: str, where: str) -> "Explanation":
    from msgspec.structs import replace

    wanted, was_on = _find(explainer, pod, where)
    if node and node not in explainer.cluster.nodes:
        raise InputError(_unknown("node", node, list(explainer.cluster.nodes), where))
    try:
        found = explainer.explain(wanted, node)
    except (PluginError, PolicyError) as error:
        raise InputError(_told(error)) from error
    if was_on:
        found = replace(found, bound_to=was_on)
    return found


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
        from mooring.cli.explain_node_view import print_node

        print_node(found, node)
    else:
        from mooring.cli.explain_view import ExplanationView

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


def _find(explainer: "Explainer", wanted: str, where: str) -> tuple["Pod | str", str]:
    """The pod that is meant, and the node it is on although the cluster does not count it there."""
    from mooring.cli.input_files import read_pod
    from mooring.model.changed_copies import as_new
    from mooring.model.pod import Pod

    namespace, slash, name = wanted.rpartition("/")
    key = wanted if slash else f"default/{wanted}"
    if explainer.cluster.pod(namespace or "default", name) is not None:
        return key, ""
    if Path(wanted).is_file():
        return read_pod(Path(wanted)), ""
    pods = {pod.key: pod for pod in explainer.snapshot.all(Pod)}
    if key in pods:
        # It finished, its node is not in the snapshot, or it is wrong; then this says so.
        return explainer.pod(as_new(pods[key])), pods[key].node_name
    same_name = [one for one in pods if one.rpartition("/")[2] == name]
    if same_name:
        raise InputError(f"there is no pod {key} in the {where}; did you mean {same_name[0]}?")
    skipped = explainer.snapshot.skipped
    unused = counted(len(skipped), "object")
    also = f"; {unused} could not be used: {skipped[0].problem}" if skipped else ""
    raise InputError(f"{_unknown('pod', key, list(pods), where)}{also}")


def _unknown(what: str, name: str, known: list[str], where: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, known[:20_000], n=1)
    hint = f"; did you mean {near[0]}?" if near else f", which has {counted(len(known), what)}"
    return f"there is no {what} {name} in the {where}{hint}"


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
        typer.echo(f"moor: {_told(error)}; what would help is said without it", err=True)


def _report_broken(found: "Explanation") -> bool:
    """Whether a plugin failed about nodes that others reject, which decided nothing."""
    from mooring.explaining.plugin_failures import plugin_failures

    failures = plugin_failures(found.record)
    for one in failures:
        typer.echo(f"moor: {one}", err=True)
    return bool(failures)


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
    if found.say is not None:
        out["policy"] = {
            "name": found.say.policy,
            "weight": found.say.weight,
            "totalWeight": found.say.total,
        }
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
