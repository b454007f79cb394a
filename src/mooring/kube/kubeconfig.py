"""From one context of a kubeconfig to a `ClusterConfig`, as kubectl understands it.

`config` calls it, and so may anybody who has a file. It looks at the files it names but never
talks to a server, and its errors never quote secrets.
"""

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, urlsplit

from mooring.errors import ConfigError
from mooring.kube import kubeconfig_file
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.config_texts import check_url, is_host, one_line, shown
from mooring.kube.credentials import AuthSource, FixedCredentials, TokenFile, basic, bearer
from mooring.kube.exec_plugin import API_VERSIONS, INTERACTIVE_MODES, ExecPlugin, ExecSpec
from mooring.kube.kubeconfig_file import (
    AuthInfo,
    Context,
    ExecConfig,
    Kubeconfig,
    KubeconfigCluster,
)

_EXEC_EXTENSION = "client.authentication.k8s.io/exec"


def load_kubeconfig(path: Path, context: str | None = None) -> ClusterConfig:
    """Read one kubeconfig file.

    Args:
        path: the file.
        context: the context to use; the file's current one when not given.

    Raises:
        ConfigError: the sentence names the file, the context or user, and what to do.
    """
    return resolve(kubeconfig_file.read([path]), context)


def resolve(kubeconfig: Kubeconfig, context: str | None = None) -> ClusterConfig:
    """Make one context of a read kubeconfig usable.

    Raises:
        ConfigError: the sentence names the file, the context or user, and what to do.
    """
    name = context or kubeconfig.current_context
    chosen = _context(kubeconfig, name)
    where = f'context "{shown(name)}" of {kubeconfig.names}'
    if chosen.cluster not in kubeconfig.clusters:
        raise ConfigError(
            f'The cluster "{shown(chosen.cluster)}" of {where} is not defined; '
            f"the file has {_names(kubeconfig.clusters)}."
        )
    if chosen.user and chosen.user not in kubeconfig.users:
        raise ConfigError(
            f'The user "{shown(chosen.user)}" of {where} is not defined; '
            f"the file has {_names(kubeconfig.users)}."
        )
    cluster_folder, cluster = kubeconfig.clusters[chosen.cluster]
    user_folder, user = kubeconfig.users.get(chosen.user, (Path(), AuthInfo()))
    in_cluster = f'cluster "{shown(chosen.cluster)}" of {kubeconfig.names}'
    of_user = f'user "{shown(chosen.user)}" of {kubeconfig.names}'
    if urlsplit(_server(cluster, in_cluster)).scheme == "http":
        user = AuthInfo()  # as kubectl: no credentials over a connection that anybody can read
    config = ClusterConfig(
        server=_server(cluster, in_cluster),
        source=where,
        namespace=one_line(chosen.namespace, "namespace", where) or "default",
        ca_data=_data(cluster.certificate_authority_data, "certificate-authority-data", in_cluster),
        ca_file=_file(
            cluster_folder, cluster.certificate_authority, "certificate-authority", in_cluster
        ),
        insecure=cluster.insecure_skip_tls_verify,
        tls_server_name=_host_name(cluster.tls_server_name, "tls-server-name", in_cluster),
        cert_data=_data(user.client_certificate_data, "client-certificate-data", of_user),
        cert_file=_file(user_folder, user.client_certificate, "client-certificate", of_user),
        key_data=_data(user.client_key_data, "client-key-data", of_user),
        key_file=_file(user_folder, user.client_key, "client-key", of_user),
        proxy_url=_proxy(cluster, in_cluster),
        compression=not cluster.disable_compression,
        headers=tuple(_impersonation(user, of_user)),
    )
    if bool(config.cert_data or config.cert_file) != bool(config.key_data or config.key_file):
        raise ConfigError(f"The {of_user} needs both a client certificate and its key.")
    fixed = user.token or user.token_file or user.username or config.cert_data or config.cert_file
    if user.exec is None or user.auth_provider is not None or fixed:
        return replace(config, auth=_fixed_auth(user_folder, user, of_user))
    info = _cluster_info(cluster, config) if user.exec.provide_cluster_info else None
    return replace(config, auth=ExecPlugin(_exec(user_folder, user.exec, info, of_user)))


def _names(entries: Iterable[str]) -> str:
    return ", ".join(map(shown, sorted(entries))) or "none"


def _context(kubeconfig: Kubeconfig, name: str) -> Context:
    found = kubeconfig.contexts.get(name)
    if found is not None:
        return found
    available = _names(kubeconfig.contexts)
    if not name:
        raise ConfigError(
            f"The kubeconfig {kubeconfig.names} has no current-context; "
            f"name one of its contexts ({available})."
        )
    raise ConfigError(
        f'There is no context "{shown(name)}" in {kubeconfig.names}; the contexts are {available}.'
    )


def _server(cluster: KubeconfigCluster, where: str) -> str:
    check_url(cluster.server, "server", where)
    parts = urlsplit(cluster.server)
    if parts.username is not None or parts.password is not None:
        raise ConfigError(f"The server of {where} has a password in it; move it to the user.")
    return cluster.server.partition("?")[0].partition("#")[0].rstrip("/")


def _proxy(cluster: KubeconfigCluster, where: str) -> str:
    if cluster.proxy_url:
        check_url(cluster.proxy_url, "proxy-url", where)
    return cluster.proxy_url


def _host_name(text: str, what: str, where: str) -> str:
    if text and not is_host(one_line(text, what, where)):
        raise ConfigError(f"The {what} of {where} is not a valid host name; fix it.")
    return text


def _data(text: str, what: str, where: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise ConfigError(f"The {what} of {where} is not valid base64; fix it.") from None


def _file(folder: Path, name: str, what: str, where: str) -> Path | None:
    if not name:
        return None
    path = folder / one_line(name, what, where)
    try:
        there = path.is_file()
    except OSError:
        there = False  # a name that no file can have
    if not there:
        raise ConfigError(
            f"The {what} of {where} is the file {shown(str(path))}, which does not exist."
        )
    return path


def _fixed_auth(folder: Path, user: AuthInfo, where: str) -> AuthSource:
    if user.auth_provider is not None:
        raise ConfigError(
            f"The {where} uses an auth-provider, which Kubernetes removed in 1.26; "
            "use an exec plugin such as kubelogin or gke-gcloud-auth-plugin."
        )
    if user.token_file:
        file = folder / one_line(user.token_file, "tokenFile", where)
        return TokenFile(file, initial=one_line(user.token.strip(), "token", where))
    if user.token:
        return FixedCredentials(bearer(one_line(user.token.strip(), "token", where)))
    if user.username or user.password:
        one_line(user.username, "username", where)
        one_line(user.password, "password", where)
        return FixedCredentials(basic(user.username, user.password))
    return FixedCredentials()


def _exec(
    folder: Path, plugin: ExecConfig, cluster_info: Mapping[str, object] | None, where: str
) -> ExecSpec:
    if not plugin.command:
        raise ConfigError(f"The exec of {where} has no command; add one.")
    if plugin.api_version not in API_VERSIONS:
        raise ConfigError(
            f"The exec of {where} needs an apiVersion that is {' or '.join(API_VERSIONS)}."
        )
    mode = plugin.interactive_mode
    if not mode and plugin.api_version.endswith("v1beta1"):
        mode = "IfAvailable"
    if mode not in INTERACTIVE_MODES:
        raise ConfigError(
            f"The exec of {where} needs an interactiveMode that is {', '.join(INTERACTIVE_MODES)}."
        )
    # a bare name is looked up on the PATH, a path is relative to the kubeconfig
    command = str(folder / plugin.command) if "/" in plugin.command else plugin.command
    return ExecSpec(
        user=where,
        command=command,
        api_version=plugin.api_version,
        args=tuple(plugin.args),
        env={variable.name: variable.value for variable in plugin.env},
        install_hint=plugin.install_hint,
        interactive_mode=mode,
        cluster_info=cluster_info,
    )


def _cluster_info(cluster: KubeconfigCluster, config: ClusterConfig) -> dict[str, object]:
    """What a credential program may learn about the cluster."""
    authority = config.ca_data
    if not authority and config.ca_file is not None:
        try:
            authority = config.ca_file.read_bytes()
        except OSError as error:
            raise ConfigError(
                f"The file {config.ca_file} cannot be read: {error.strerror}."
            ) from None
    info: dict[str, object] = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": base64.b64encode(authority).decode(),
        "proxy-url": cluster.proxy_url,
        "disable-compression": cluster.disable_compression,
    }
    for extension in cluster.extensions:
        if extension.name == _EXEC_EXTENSION:
            info["config"] = extension.extension
    return {key: value for key, value in info.items() if value or key == "server"}


def _impersonation(user: AuthInfo, where: str) -> Iterator[tuple[str, str]]:
    if user.impersonate:
        yield "Impersonate-User", one_line(user.impersonate, "as", where)
    if user.as_uid:
        yield "Impersonate-Uid", one_line(user.as_uid, "as-uid", where)
    for group in user.as_groups:
        yield "Impersonate-Group", one_line(group, "as-groups", where)
    for key, values in user.as_user_extra.items():
        name = quote(one_line(key, "as-user-extra", where), safe="")
        for value in values:
            yield f"Impersonate-Extra-{name}", one_line(value, "as-user-extra", where)
