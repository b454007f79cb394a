"""Options that several commands have: each says the same everywhere and has the same limits.

Commands annotate their parameters with them; the default stands in the command. Nothing else is
imported here, because ``moor --help`` imports all of it.
"""

from pathlib import Path
from typing import Annotated, Optional

import typer

from mooring.cli.logging_setup import LogFormat
from mooring.cli.output_formats import TableOrJson

KubeconfigFile = Annotated[
    Optional[Path],  # noqa: UP045 - typer reads it at run time
    typer.Option(
        help="Path to the kubeconfig. If unset: KUBECONFIG, the in-cluster service account, or "
        "~/.kube/config."
    ),
]
KubeContext = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(help="Kubeconfig context; if unset, the current context."),
]
PodNamespace = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--namespace", "-n", help="The pod's namespace; if unset, that of the kubeconfig context."
    ),
]
SnapshotPlace = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--snapshot",
        "-s",
        metavar="FILE|DIR|-",
        help="Output of moor snapshot or kubectl get nodes,pods,... -A -o json|yaml: a file, a "
        "directory, or - for standard input. If unset, the live cluster.",
    ),
]
SchedulerConfig = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        metavar="FILE|URL",
        help="KubeSchedulerConfiguration file, or URL of a running scheduler whose /configz is "
        "read; if unset, kube-scheduler's defaults.",
    ),
]
GroupLabel = Annotated[
    str,
    typer.Option(
        metavar="LABEL",
        help="Node label whose values are the node groups; if unset, a provider's, or "
        "node.kubernetes.io/instance-type.",
    ),
]
PriceLabel = Annotated[
    str, typer.Option(metavar="KEY", help="Node label or annotation that has the hourly price.")
]
GroupPrices = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--price", metavar="GROUP=PRICE", help="Hourly price of a node; repeatable."),
]
ListenHost = Annotated[str, typer.Option(help="Address to listen on.")]
ListenPort = Annotated[
    int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free port.")
]
VerbPrefix = Annotated[str, typer.Option(help="Path prefix of all verbs, as in urlPrefix.")]
PredicatesPrefix = Annotated[str, typer.Option(help="Path prefix of single filters.")]
PrioritiesPrefix = Annotated[str, typer.Option(help="Path prefix of single scores.")]
AllowHosts = Annotated[
    Optional[list[str]],  # noqa: UP045 - typer reads it at run time
    typer.Option(metavar="NAME", help="Also accept this name in the Host header; repeatable."),
]
TlsCert = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(help="PEM file with the certificate chain; enables TLS. Reloaded when renewed."),
]
TlsKey = Annotated[Optional[Path], typer.Option(help="PEM file with the private key.")]  # noqa: UP045
PolicyArgument = Annotated[
    str, typer.Argument(help="The policy: policy.py or package.module:policy.")
]
PolicyPlace = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(help="Policy to schedule with: policy.py or package.module:policy."),
]
HookTimeout = Annotated[
    float,
    typer.Option(
        min=0.05,
        max=3600,
        help="Seconds a plugin call may take before it is interrupted.",
    ),
]
ResultFormat = Annotated[TableOrJson, typer.Option("--output", "-o", help="A table or JSON.")]
Reload = Annotated[bool, typer.Option("--reload", help="Reload the policy when its file changes.")]
LogLines = Annotated[LogFormat, typer.Option(help="Format of log lines.")]
Verbose = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        metavar="",
        show_default=False,
        help="Log every binding, verdict and score; -vv logs everything.",
    ),
]
