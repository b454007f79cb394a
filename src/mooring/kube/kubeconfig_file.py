"""What kubeconfig files say, typed and merged; nothing is decided here.

`kubeconfig` calls it. Error sentences name the file and the place in it and never quote the
contents, which are secret.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import yaml

from mooring.errors import ConfigError
from mooring.yaml_depth import check_depth


class NamedExtension(msgspec.Struct):
    """A named piece of data for somebody else."""

    name: str = ""
    extension: object = None


class KubeconfigCluster(msgspec.Struct, rename="kebab"):
    """A ``clusters`` entry."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: list[NamedExtension] = []


class ExecEnvVar(msgspec.Struct):
    """An environment variable for a credential program."""

    name: str
    value: str = ""


class ExecConfig(msgspec.Struct, rename="camel"):
    """A user's credential program."""

    command: str = ""
    api_version: str = ""
    args: list[str] = []
    env: list[ExecEnvVar] = []
    install_hint: str = ""
    interactive_mode: str = ""
    provide_cluster_info: bool = False


class AuthInfo(msgspec.Struct, rename="kebab"):
    """A ``users`` entry."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    impersonate: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] = []
    as_user_extra: dict[str, list[str]] = {}
    auth_provider: object = None
    exec: ExecConfig | None = None


class Context(msgspec.Struct):
    """A ``contexts`` entry."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedContext(msgspec.Struct):
    name: str
    context: Context = msgspec.field(default_factory=Context)


class _NamedCluster(msgspec.Struct):
    name: str
    cluster: KubeconfigCluster = msgspec.field(default_factory=KubeconfigCluster)


class _NamedUser(msgspec.Struct):
    name: str
    user: AuthInfo = msgspec.field(default_factory=AuthInfo)


class _File(msgspec.Struct, rename="kebab"):
    current_context: str = ""
    contexts: list[_NamedContext] = []
    clusters: list[_NamedCluster] = []
    users: list[_NamedUser] = []


@dataclass
class Kubeconfig:
    """Several files as one. Clusters and users come with the folder their paths are relative to.

    Attributes:
        names: the files, for error sentences.
    """

    names: str
    current_context: str = ""
    contexts: dict[str, Context] = field(default_factory=dict)
    clusters: dict[str, tuple[Path, KubeconfigCluster]] = field(default_factory=dict, repr=False)
    users: dict[str, tuple[Path, AuthInfo]] = field(default_factory=dict, repr=False)

    @property
    def is_empty(self) -> bool:
        """Whether the files name no context at all, as an empty file does."""
        return not self.contexts and not self.current_context


def read(paths: Sequence[Path]) -> Kubeconfig:
    """Read the files and merge them: the first file to name a thing wins, as with kubectl.

    Raises:
        ConfigError: a file cannot be read or is no kubeconfig.
    """
    merged = Kubeconfig(names=", ".join(str(path) for path in paths))
    for path in paths:
        one = _read_one(path)
        folder = path.absolute().parent
        merged.current_context = merged.current_context or one.current_context
        for context in one.contexts:
            merged.contexts.setdefault(context.name, context.context)
        for cluster in one.clusters:
            merged.clusters.setdefault(cluster.name, (folder, cluster.cluster))
        for user in one.users:
            merged.users.setdefault(user.name, (folder, user.user))
    return merged


def _read_one(path: Path) -> _File:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(
            f"There is no kubeconfig file {path}; check the path or the KUBECONFIG variable."
        ) from None
    except OSError as error:
        raise ConfigError(f"The kubeconfig {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"The kubeconfig {path} is not valid UTF-8.") from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        check_depth(text)
        data = yaml.load(text, loader)  # noqa: S506 - both are safe loaders
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # The texts of other errors than YAML's may quote the file.
        mark = getattr(error, "problem_mark", None)
        place = f" (line {mark.line + 1})" if mark is not None else ""
        raise ConfigError(f"The kubeconfig {path} is not valid YAML{place}; fix it.") from None
    if data is None:
        return _File()
    try:
        return msgspec.convert(_without_nulls(data), _File)
    except msgspec.ValidationError as error:
        raise ConfigError(f"The kubeconfig {path} is not valid: {error}.") from None
    except RecursionError:
        raise ConfigError(f"The kubeconfig {path} contains itself (& and *); fix it.") from None


def _without_nulls(data: object) -> object:
    """The data without empty keys: kubectl writes ``users: null`` for no users."""
    if isinstance(data, dict):
        return {key: _without_nulls(value) for key, value in data.items() if value is not None}
    if isinstance(data, list):
        return [_without_nulls(value) for value in data if value is not None]
    return data
