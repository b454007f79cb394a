import asyncio
from pathlib import Path

import pytest

from mooring.errors import ConfigError
from mooring.kube.config import find_config, load_in_cluster, unasked_file
from mooring.kube.credentials import bearer


def write(path: Path, name: str, *, user: str = "u", more: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"""
current-context: {name}
contexts:
- name: {name}
  context: {{cluster: {name}, user: {user}}}
clusters:
- name: {name}
  cluster: {{server: https://{name}}}
users:
- name: {user}
  user: {{token: {name}}}
{more}
""")
    return path


@pytest.fixture
def account(tmp_path: Path) -> Path:
    folder = tmp_path / "account"
    folder.mkdir()
    (folder / "token").write_text("pod-token")
    (folder / "ca.crt").write_text("CA")
    (folder / "namespace").write_text("system\n")
    return folder


POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def test_the_pods_own_account(account: Path) -> None:
    config = load_in_cluster(account, env=POD)
    assert config.server == "https://10.0.0.1:443"
    assert config.namespace == "system"
    assert config.ca_file == account / "ca.crt"
    assert asyncio.run(config.auth.credentials()) == bearer("pod-token")
    six = load_in_cluster(account, env=POD | {"KUBERNETES_SERVICE_HOST": "fd00::1"})
    assert six.server == "https://[fd00::1]:443"
    (account / "namespace").unlink()
    assert load_in_cluster(account, env=POD).namespace == "default"
    (account / "ca.crt").unlink()
    with pytest.raises(ConfigError, match=r"ca\.crt"):
        load_in_cluster(account, env=POD)
    with pytest.raises(ConfigError, match="not a pod"):
        load_in_cluster(account, env={})


def test_the_order_of_places(tmp_path: Path, account: Path) -> None:
    env = {"HOME": str(tmp_path / "home")}
    write(tmp_path / "home" / ".kube" / "config", "home")
    named, variable = write(tmp_path / "named", "named"), write(tmp_path / "variable", "variable")

    def server(kubeconfig: Path | None, env: dict[str, str], *, default_file: bool = True) -> str:
        found = find_config(kubeconfig, default_file=default_file, env=env, service_account=account)
        return found.server if found is not None else "none"

    everything = env | POD | {"KUBECONFIG": str(variable)}
    assert server(named, everything) == "https://named"
    assert server(None, everything) == "https://variable"
    assert server(None, env | POD) == "https://10.0.0.1:443"
    assert server(None, env) == "https://home"
    assert server(None, env, default_file=False) == "none"
    assert server(None, {"HOME": str(tmp_path / "nobody")}) == "none"
    # as kubectl: an empty file is no configuration
    assert server(None, env | POD | {"KUBECONFIG": "/dev/null"}) == "https://10.0.0.1:443"
    assert server(None, env | {"KUBECONFIG": "/dev/null"}) == "none"
    (account / "token").unlink()
    assert server(None, env | POD) == "https://home"


def test_files_of_the_variable_are_merged_and_the_first_wins(tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "first", tmp_path / "b" / "second"
    write(first, "one", user="same")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "ca.crt").write_text("CA")
    write(second, "two", user="same")
    second.write_text(
        second.read_text().replace(
            "{server: https://two}", "{server: https://two, certificate-authority: ca.crt}"
        )
    )
    env = {"KUBECONFIG": f"{tmp_path / 'missing'}:{first}::{second}:{first}"}
    config = find_config(default_file=True, env=env)
    assert config is not None
    assert config.server == "https://one"
    assert config.source == f'context "one" of {first}, {second}'
    config = find_config(default_file=True, env=env, context="two")
    assert config is not None
    assert config.server == "https://two"
    assert config.ca_file == tmp_path / "b" / "ca.crt"
    assert asyncio.run(config.auth.credentials()) == bearer("one")


def test_a_named_context_must_exist(tmp_path: Path) -> None:
    env = {"KUBECONFIG": "/dev/null"}
    with pytest.raises(ConfigError, match='no context "x" in /dev/null; the contexts are none'):
        find_config(default_file=True, env=env, context="x")
    env = {"HOME": str(write(tmp_path / ".kube" / "config", "home").parent.parent)}
    with pytest.raises(ConfigError, match='no context "x"'):
        find_config(default_file=True, env=env, context="x")


def test_who_names_a_context_does_not_mean_the_service_account(
    tmp_path: Path, account: Path
) -> None:
    write(tmp_path / ".kube" / "config", "home")
    env = {"HOME": str(tmp_path)} | POD

    def server(context: str | None, *, default_file: bool = True) -> str:
        found = find_config(
            default_file=default_file, env=env, service_account=account, context=context
        )
        return found.server if found is not None else "none"

    assert server("home") == "https://home"
    assert server("") == server(None) == "https://10.0.0.1:443"
    with pytest.raises(ConfigError, match='no kubeconfig with a context "home"; specify the file'):
        server("home", default_file=False)


def test_a_file_that_is_not_used_unasked_is_named_with_the_option_that_takes_it(
    tmp_path: Path,
) -> None:
    env = {"HOME": str(tmp_path)}
    file = tmp_path / ".kube" / "config"
    assert unasked_file(env) == ""
    write(file, "home")
    unasked = f"; {file} is not used by default: "
    assert unasked_file(env) == f"{unasked}--context home uses its current context"
    text = file.read_text()
    file.write_text(text.replace("current-context: home", "current-context: gone"))
    assert unasked_file(env) == f"{unasked}--context NAME uses one of its contexts (home)"
    file.write_text(text.replace("home", "'my cluster'"))
    assert "--context 'my cluster' uses" in unasked_file(env)
    for useless in ("", "{", "clusters: 7"):
        file.write_text(useless)
        assert unasked_file(env) == ""


def test_a_variable_that_names_nothing_is_an_error(tmp_path: Path) -> None:
    env = {"KUBECONFIG": str(tmp_path / "missing")}
    with pytest.raises(ConfigError, match=r"KUBECONFIG names .*missing"):
        find_config(default_file=True, env=env)
