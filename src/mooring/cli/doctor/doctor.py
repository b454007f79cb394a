"""``moor doctor``: what is wrong with configurations, manifests, a policy and a cluster."""

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from mooring.cli.cluster_reader import find_cluster
from mooring.cli.output_formats import TableOrJson
from mooring.cli.shared_options import KubeconfigFile, KubeContext, PolicyPlace, ResultFormat
from mooring.errors import InputError

if TYPE_CHECKING:
    from mooring.cli.deploy.given_files import GivenFile
    from mooring.deploy.doctor.evidence import Evidence
    from mooring.deploy.doctor.findings import CheckResult
    from mooring.framework.policy import Policy
    from mooring.kube.cluster_config import ClusterConfig

#: A plugin or a function of the policy that does not return is interrupted after so long.
_HOOK_SECONDS = 5.0
#: What makes a folder a Helm chart.
_CHART = "Chart.yaml"


def doctor(
    config: Annotated[
        Optional[Path],  # noqa: UP045 - typer reads it at run time
        typer.Option(help="A scheduler's configuration of any version, or a Policy."),
    ] = None,
    manifest: Annotated[
        Optional[list[Path]],  # noqa: UP045
        typer.Option(metavar="FILE|DIR", help="Manifests; may be given several times."),
    ] = None,
    policy: PolicyPlace = None,
    ask_extenders: Annotated[
        bool,
        typer.Option(
            "--ask-extenders", help="Send a request for each verb to the extenders; nothing binds."
        ),
    ] = False,
    as_user: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="USER",
            help="Whose permissions are checked, such as system:kube-scheduler; without it the "
            "service accounts of the manifests.",
        ),
    ] = "",
    no_cluster: Annotated[bool, typer.Option("--no-cluster", help="Look at files alone.")] = False,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix", help="Correct the files where only one thing can be meant; backups are kept."
        ),
    ] = False,
    list_checks: Annotated[bool, typer.Option("--list", help="List all checks and end.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="List what passed and what was not checked.")
    ] = False,
    output: ResultFormat = TableOrJson.TABLE,
    kubeconfig: KubeconfigFile = None,
    context: KubeContext = None,
) -> None:
    """Find what is wrong with schedulers, extenders and their manifests.

    Each check has a name, says what it found and where, why that matters and what to do, and has a
    section in docs/guide/doctor.md. Looks at the files that are given and at the cluster that is
    configured; what a check needs and does not get is not checked, and -v says so.

    Exit code 0 if no check found an error, 1 if one did, 2 if the input is invalid, such as a
    --config that is not YAML. A manifest that cannot be parsed is an error that a check finds.
    """
    if list_checks:
        from mooring.cli.doctor.view import print_checks

        print_checks(as_json=output is TableOrJson.JSON)
        return
    if fix and Path("-") in (config, *(manifest or ())):
        raise InputError("--fix corrects files, and - is none; name the file")
    if as_user and no_cluster:
        raise InputError("--no-cluster and --as are mutually exclusive; use one of them")
    cluster = _cluster(kubeconfig, context, no_cluster)
    files = read_manifest_files(config, manifest or ())
    if not files and policy is None and cluster is None:
        raise InputError(
            "there is nothing to look at: give --config FILE, --manifest FILE|DIR, --policy POLICY "
            "or --kubeconfig FILE"
        )

    def examine(now: "Mapping[str, GivenFile]") -> "list[CheckResult]":
        given = str(config or "")  # a Policy that is part of another file now is not looked at
        given = given if given in now else ""
        return _examine(now, given, policy, cluster, as_user, ask=ask_extenders)

    if fix:
        from mooring.cli.doctor.fixes import fix_files

        results = fix_files(files, examine, quiet=output is TableOrJson.JSON)
    else:
        results = examine(files)
    from mooring.cli.doctor.view import print_results

    print_results(results, verbose=verbose, as_json=output is TableOrJson.JSON)
    from mooring.deploy.doctor.findings import DoctorSeverity

    failed = any(one.severity is DoctorSeverity.ERROR for one in results)
    raise typer.Exit(1 if failed else 0)


def _cluster(
    kubeconfig: Path | None, context: str | None, no_cluster: bool
) -> "ClusterConfig | None":
    """The cluster to look at; None if there is none, which is right unless one was named."""
    if no_cluster:
        if kubeconfig is not None or context is not None:
            other = "--kubeconfig" if kubeconfig is not None else "--context"
            raise InputError(f"--no-cluster and {other} are mutually exclusive; use one of them")
        return None
    if kubeconfig is not None or context is not None:
        return find_cluster(kubeconfig, context=context)
    from mooring.kube.config import find_config

    return find_config(None, default_file=True, context=None)


def read_manifest_files(config: Path | None, manifests: Sequence[Path]) -> "dict[str, GivenFile]":
    """The files by name.

    Raises:
        InputError: one cannot be read, is a chart, or there is too much of them.
    """
    from mooring.cli.deploy.given_files import read_files
    from mooring.cli.doctor.kustomized_files import kustomized_files

    for place in manifests:
        if (place / _CHART).is_file():
            raise InputError(
                f"{place} is a Helm chart; give what it makes: helm template {place} | "
                "moor doctor --manifest -"
            )
    places = ([config] if config is not None else []) + list(kustomized_files(manifests))
    read = read_files(map(str, places), _is_manifest, any_bytes=True)
    return {one.name: one for one in read}


def _is_manifest(file: Path) -> bool:
    from mooring.cli.deploy.given_files import SUFFIXES
    from mooring.deploy.static_pods import is_static_folder

    # The kubelet reads its folder whatever the endings are.
    wanted = file.suffix in SUFFIXES or is_static_folder(str(file.absolute()))
    return wanted and not _is_of_a_tool(file)


def _is_of_a_tool(file: Path) -> bool:
    """Whether it is not a manifest yet: what Helm and kustomize make manifests of."""
    if file.stem == "kustomization":
        return True
    return any((folder / _CHART).exists() for folder in file.parents[:3])


def _examine(
    files: "Mapping[str, GivenFile]",
    config: str,
    policy: str | None,
    cluster: "ClusterConfig | None",
    as_user: str,
    *,
    ask: bool,
) -> "list[CheckResult]":
    from mooring.deploy.doctor import gathering
    from mooring.deploy.doctor.registry import run_checks

    texts = [(one.name, one.text) for one in files.values()]
    evidence = gathering.evidence_of(texts, config)
    broken = next((one for one in evidence.broken if one.file == config), None)
    if broken is not None:
        what = "a configuration" if broken.is_yaml else "YAML"
        raise InputError(f"{config} is not {what}: {broken.problem}; correct it")
    loaded = None
    if policy is not None:
        from mooring.cli.policy_loading import load_quietly

        loaded = load_quietly(policy)
        evidence = dataclasses.replace(
            evidence, policy=gathering.policy_evidence(evidence, loaded, policy)
        )
    if cluster is not None:
        evidence = _with_cluster(evidence, cluster, as_user, loaded)
    if ask:
        from mooring.deploy.doctor.probing import ask_extenders

        nodes = len(evidence.cluster.nodes) if evidence.cluster is not None else 0
        probes = asyncio.run(ask_extenders(evidence.extenders, nodes))
        evidence = dataclasses.replace(evidence, probes=probes)
    return run_checks(evidence)


def _with_cluster(
    evidence: "Evidence", config: "ClusterConfig", as_user: str, policy: "Policy | None"
) -> "Evidence":
    from mooring.deploy.doctor import gathering
    from mooring.deploy.doctor.cluster_reading import read_cluster

    cluster, objects = asyncio.run(read_cluster(config, evidence, as_user))
    evidence = gathering.with_objects(evidence, objects)
    evidence = dataclasses.replace(evidence, cluster=cluster)
    readable = not cluster.problem and cluster.may_read("nodes") and cluster.may_read("pods")
    if not readable or not gathering.has_pods_to_place(evidence):
        return evidence
    from mooring.cli.cluster_reader import read_live
    from mooring.cli.hook_limit import hook_limit

    snapshot = read_live(config, keep_source=policy is not None)
    with hook_limit(_HOOK_SECONDS) as deadline:
        found = gathering.outlooks(evidence, snapshot, policy, deadline.begin)
    return dataclasses.replace(evidence, cluster=dataclasses.replace(cluster, outlooks=found))
