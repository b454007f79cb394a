"""``moor check``: whether a policy can work, and what it says about a made-up cluster."""

import contextlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from mooring.cli.output_formats import TableOrJson, print_json
from mooring.cli.shared_options import HookTimeout, PolicyArgument, ResultFormat
from mooring.cli.standard_streams import print_error
from mooring.errors import InputError, PolicyError, PolicyFileError

if TYPE_CHECKING:
    from mooring.explaining.policy_trial import PodTrial, PolicyTrial, RunBind
    from mooring.framework.binding import Binding
    from mooring.framework.policy import Policy
    from mooring.framework.rules import BindRule
    from mooring.framework.verdict import Verdict


def check(
    policy: PolicyArgument,
    config: Annotated[
        Optional[Path],  # noqa: UP045 - typer reads it at run time
        typer.Option(help="Also check it with this KubeSchedulerConfiguration."),
    ] = None,
    bind: Annotated[
        bool,
        typer.Option("--bind", help="Also call the bind function, which may have side effects."),
    ] = False,
    output: ResultFormat = TableOrJson.TABLE,
    hook_timeout: HookTimeout = 5.0,
) -> None:
    """Check a policy before you run it.

    Inspects every function and hook without calling it: its parameters, whether it is async where
    nothing awaits it, and attributes that pods and nodes do not have. Then calls each function for
    two pods on a small synthetic cluster, which has the resources, labels and annotations that the
    policy reads, and prints the results, and where a scheduler with the policy and the default
    plugins, or those of --config, would place the pods. Needs no cluster.

    The exit code is 0 if no problems are found, and 2 otherwise.
    """
    from mooring.cli.hook_limit import hook_limit

    # What the policy itself prints is no part of the result.
    with contextlib.redirect_stdout(sys.stderr):
        loaded = _loaded(policy)
        with hook_limit(hook_timeout) as deadline:
            run_bind = _bind_runner(hook_timeout) if bind else None
            trial = _trial(loaded, policy, config, deadline.begin, run_bind)
            pods = trial.run()
    failures = list(dict.fromkeys(one for pod in pods for one in pod.failures))
    if output is TableOrJson.JSON:
        print_json(as_dict(loaded, policy, pods, failures))
    else:
        from mooring.cli.check_view import CheckView

        profile = f", with profile {next(iter(trial.profiles))} of {config}" if config else ""
        CheckView(loaded, policy, trial.cluster, pods, profile).print_all()
    for failure in failures:
        print_error(failure)
    if loaded.rules and not any(loaded.name in one.plugins for one in trial.profiles.values()):
        print_error(f"no profile in {config} enables the policy {loaded.name}")
    raise typer.Exit(2 if failures else 0)


def _loaded(place: str) -> "Policy":
    from mooring.cli.policy_loading import load_limited

    try:
        return load_limited(place)
    except PolicyFileError as error:
        for problem in error.problems:
            print_error(problem)
        raise typer.Exit(2) from None


def _trial(
    policy: "Policy", place: str, config: Path | None, before: Any, run_bind: "RunBind | None"
) -> "PolicyTrial":
    from mooring.cli.input_files import read_mapping
    from mooring.config.configuration import read_configuration
    from mooring.explaining.policy_trial import PolicyTrial
    from mooring.explaining.sample_cluster import sample_cluster
    from mooring.framework.policy_checks.policy_reads import policy_reads

    settings: Mapping[str, Any] | None = read_mapping(config) if config is not None else None
    try:
        scheduler_name = read_configuration(settings).profiles[0].scheduler_name
        cluster = sample_cluster(policy_reads(policy), scheduler_name)
        return PolicyTrial(policy, cluster, settings, place=place, before=before, run_bind=run_bind)
    except InputError as error:
        raise InputError(f"{config}: {error}" if config is not None else str(error)) from error


def _bind_runner(seconds: float) -> "RunBind":
    import asyncio

    async def wait(rule: "BindRule", binding: "Binding") -> "Binding | Verdict":
        return await asyncio.wait_for(rule.prepare_async(binding), seconds)

    def run(rule: "BindRule", binding: "Binding") -> "Binding | Verdict":
        if not rule.is_async:
            return rule.prepare(binding)
        try:
            return asyncio.run(wait(rule, binding))
        except TimeoutError:
            text = f"bind {rule.name!r} took longer than {seconds:g} seconds"
            raise PolicyError(text, function=rule.name) from None

    return run


def as_dict(
    policy: "Policy", place: str, pods: "list[PodTrial]", failures: list[str]
) -> dict[str, Any]:
    """The result as plain data.

    Args:
        policy: the policy.
        place: how the user named it.
        pods: what it said.
        failures: what failed, one sentence each.
    """
    import msgspec

    from mooring.framework.policy_checks.policy_check import policy_functions
    from mooring.framework.policy_checks.policy_signature import why_called
    from mooring.framework.policy_checks.sources import Sources

    sources, called = Sources(place), why_called(policy)
    functions: list[dict[str, Any]] = []
    for one in policy_functions(policy):
        where = sources.place_of(one.function)
        functions.append(
            {"kind": one.kind, "name": one.name, "file": where.file, "line": where.line}
        )
        why = called.get((one.kind, one.name))
        if why is not None:
            functions[-1] |= {"kept": not why, **({"calledBecause": why} if why else {})}
    return {
        "policy": policy.name,
        "functions": functions,
        "pods": [
            {
                "pod": one.pod.key,
                "answers": [msgspec.to_builtins(answer) for answer in one.answers],
                "selected": one.selected,
                "pending": one.pending,
            }
            for one in pods
        ],
        "problems": failures,
    }
