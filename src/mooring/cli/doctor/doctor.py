"""``moor doctor``: what is wrong with configurations, manifests, a policy and a cluster."""

import asyncio
import contextlib
import dataclasses
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from mooring.cli.cluster_reader import CONTEXT_HELP, KUBECONFIG_HELP, find_cluster
from mooring.cli.output_formats import TableOrJson
from mooring.cli.shared_options import PolicyPlace
from mooring.cli.standard_streams import print_error
from mooring.errors import InputError

if TYPE_CHECKING:
    from mooring.deploy.doctor.evidence import Evidence
    from mooring.deploy.doctor.findings import CheckResult
    from mooring.framework.policy import Policy
    from mooring.kube.cluster_config import ClusterConfig

_SUFFIXES = (".json", ".yaml", ".yml")
#: A plugin or a function of the policy that does not return is interrupted after so long.
_HOOK_SECONDS = 5.0


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
    output: Annotated[
        TableOrJson, typer.Option("--output", "-o", help="A table or JSON.")
    ] = TableOrJson.TABLE,
    kubeconfig: Annotated[Optional[Path], typer.Option(help=KUBECONFIG_HELP)] = None,  # noqa: UP045
    context: Annotated[Optional[str], typer.Option(help=CONTEXT_HELP)] = None,  # noqa: UP045
) -> None:
    """Find what is wrong with schedulers, extenders and their manifests.

    Each check has a name, says what it found and where, why that matters and what to do, and has a
    section in docs/guide/doctor.md. Looks at the files that are given and at the cluster that is
    configured; what a check needs and does not get is not checked, and -v says so.

    Exit code 0 if no check found an error, 1 if one did, 2 if something in the input is wrong.
    """
    if list_checks:
        from mooring.cli.doctor.view import print_checks

        print_checks(as_json=output is TableOrJson.JSON)
        return
    cluster = _cluster(kubeconfig, context, no_cluster)
    files = _read_files(config, manifest or ())
    if not files and policy is None and cluster is None:
        raise InputError(
            "there is nothing to look at: give --config FILE, --manifest FILE|DIR, --policy POLICY "
            "or --kubeconfig FILE"
        )
    results = _examine(files, str(config or ""), policy, cluster, as_user, ask=ask_extenders)
    if fix and _fix(files, results, quiet=output is TableOrJson.JSON):
        files = _read_files(config, manifest or ())
        results = _examine(files, str(config or ""), policy, cluster, as_user, ask=ask_extenders)
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


def _read_files(config: Path | None, manifests: Sequence[Path]) -> dict[str, str]:
    """The files by name, with their texts.

    Raises:
        InputError: one cannot be read.
    """
    found: dict[str, str] = {}
    for place in ([config] if config is not None else []) + list(manifests):
        for file in _files(place):
            try:
                found.setdefault(str(file), file.read_bytes().decode("utf-8-sig"))
            except FileNotFoundError:
                raise InputError(f"{file} does not exist; give a file or a folder") from None
            except UnicodeDecodeError:
                raise InputError(f"{file} is not valid UTF-8") from None
            except OSError as error:
                raise InputError(f"{file} cannot be read: {error.strerror}") from error
    return found


def _files(place: Path) -> Iterator[Path]:
    from mooring.deploy.static_pods import is_static_folder

    if not place.is_dir():
        yield place
        return
    found = False
    for file in sorted(place.rglob("*")):
        if file.name.startswith(".") or not file.is_file() or _is_of_a_tool(file):
            continue
        # The kubelet reads its folder whatever the endings are.
        if file.suffix in _SUFFIXES or is_static_folder(str(file.absolute())):
            found = True
            yield file
    if not found:
        raise InputError(f"{place} has no .json, .yaml or .yml files")


def _is_of_a_tool(file: Path) -> bool:
    """Whether it is no manifest yet: what Helm and kustomize make manifests of."""
    if file.stem == "kustomization":
        return True
    return any((folder / "Chart.yaml").exists() for folder in file.parents[:3])


def _examine(
    files: dict[str, str],
    config: str,
    policy: str | None,
    cluster: "ClusterConfig | None",
    as_user: str,
    *,
    ask: bool,
) -> "list[CheckResult]":
    from mooring.deploy.doctor import gathering
    from mooring.deploy.doctor.registry import run_checks

    evidence = gathering.evidence_of(files.items(), config)
    loaded = None
    if policy is not None:
        from mooring.framework.loading import load

        with contextlib.redirect_stdout(sys.stderr):
            loaded = load(policy)
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
    if cluster.problem or not gathering.has_pods_to_place(evidence):
        return evidence
    from mooring.cli.cluster_reader import read_live
    from mooring.cli.hook_limit import hook_limit

    snapshot = read_live(config, keep_source=policy is not None)
    with hook_limit(_HOOK_SECONDS) as deadline:
        found = gathering.outlooks(evidence, snapshot, policy, deadline.begin)
    return dataclasses.replace(evidence, cluster=dataclasses.replace(cluster, outlooks=found))


def _fix(files: dict[str, str], results: "Sequence[CheckResult]", *, quiet: bool) -> bool:
    """Correct the files; whether any was changed."""
    from mooring.cli.doctor.fixes import write_fixes
    from mooring.deploy.doctor.fixes import fixed_texts

    findings = [one for result in results for one in result.findings]
    changed = fixed_texts(files, findings, _migrated)
    write_fixes(files, changed, quiet=quiet)
    return bool(changed)


def _migrated(texts: Mapping[str, str]) -> dict[str, str]:
    """The texts of all files, with old configurations rewritten as v1."""
    from mooring.deploy.migration import migrate_all

    results = migrate_all(texts.items())
    for one in results:
        if one.state == "merged":
            print_error(f"{one.source} is part of the configuration now; delete the file")
    return {one.source: one.text for one in results}
