"""Finding the cluster to talk to: a named file, KUBECONFIG, the pod we run in, or ``~/.kube``.

Commands and shells call `find_config`. It reads files and the environment and nothing else; it
never asks a server.
"""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from mooring.errors import ConfigError
from mooring.kube import kubeconfig_file
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.config_texts import check_url, shown
from mooring.kube.credentials import TokenFile
from mooring.kube.kubeconfig import load_kubeconfig, resolve

__all__ = ["ClusterConfig", "find_config", "load_in_cluster", "load_kubeconfig", "unasked_file"]

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def load_in_cluster(
    folder: Path = SERVICE_ACCOUNT, *, env: Mapping[str, str] = os.environ
) -> ClusterConfig:
    """The API server of the cluster this process is a pod of.

    Args:
        folder: where the kubelet puts token, ca.crt and namespace.
        env: the environment.

    Raises:
        ConfigError: this is no pod, or its service account has no token.
    """
    host, port = env.get("KUBERNETES_SERVICE_HOST"), env.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ConfigError(
            "This is not a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not "
            "set; specify a kubeconfig."
        )
    token, authority = folder / "token", folder / "ca.crt"
    for file in (token, authority):
        if not file.is_file():
            raise ConfigError(
                f"The pod has no {file}; mount a service account token "
                "(automountServiceAccountToken) or specify a kubeconfig."
            )
    namespace = folder / "namespace"
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    check_url(server, "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT", "the environment")
    return ClusterConfig(
        server=server,
        source=f"the service account in {folder}",
        namespace=(namespace.read_text().strip() if namespace.is_file() else "") or "default",
        ca_file=authority,
        auth=TokenFile(token),
    )


def find_config(
    kubeconfig: Path | None = None,
    *,
    default_file: bool,
    context: str | None = None,
    env: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> ClusterConfig | None:
    """The cluster to use: the first of these that is there.

    1. the file `kubeconfig`;
    2. the files in ``KUBECONFIG``, merged; files that do not exist are left out;
    3. the service account of the pod we run in;
    4. ``~/.kube/config``, only with `default_file`.

    A context is something of a kubeconfig: who names one does not mean the service account.

    Args:
        kubeconfig: a file the user named.
        default_file: whether to look for ``~/.kube/config``.
        context: the context to use in a kubeconfig; its current one when not given.
        env: the environment.
        service_account: where the kubelet puts the token.

    Returns:
        None when nothing is configured.

    Raises:
        ConfigError: something is configured but cannot be used.
    """
    context = context or None
    if kubeconfig is not None:
        return load_kubeconfig(kubeconfig, context)
    listed = [Path(name) for name in env.get("KUBECONFIG", "").split(os.pathsep) if name]
    if listed:
        present = [path for path in dict.fromkeys(listed) if path.exists()]
        if not present:
            raise ConfigError(
                f"KUBECONFIG names {', '.join(map(str, listed))}, which does not exist; fix "
                "the variable or unset it."
            )
        merged = kubeconfig_file.read(present)
        if context or not merged.is_empty:
            return resolve(merged, context)
    in_pod = env.get("KUBERNETES_SERVICE_HOST") and (service_account / "token").is_file()
    if in_pod and context is None:
        return load_in_cluster(service_account, env=env)
    if default_file and not listed:
        path = default_kubeconfig(env)
        if path.is_file():
            merged = kubeconfig_file.read([path])
            if context or not merged.is_empty:
                return resolve(merged, context)
    if context is not None:
        raise ConfigError(
            f'There is no kubeconfig with a context "{shown(context)}"; specify the file with '
            "--kubeconfig or KUBECONFIG."
        )
    return None


def default_kubeconfig(env: Mapping[str, str] = os.environ) -> Path:
    """The file that kubectl reads unless another is named."""
    return Path(env.get("HOME") or Path.home()) / ".kube" / "config"


def unasked_file(env: Mapping[str, str] = os.environ) -> str:
    """What to say of ``~/.kube/config`` where it is not used unless asked for.

    Returns:
        the end of a sentence, which names the file, its current context and the option that takes
        it; empty if there is no such file, or none that could be used.
    """
    path = default_kubeconfig(env)
    try:
        found = kubeconfig_file.read([path])
    except ConfigError:
        return ""
    current = found.current_context
    if current in found.contexts:
        taken = f"--context {shlex.quote(shown(current))} uses its current context"
    elif found.contexts:
        names = ", ".join(map(shown, sorted(found.contexts)))
        taken = f"--context NAME uses one of its contexts ({names})"
    else:
        return ""
    return f"; {path} is not used by default: {taken}"
