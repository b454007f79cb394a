import asyncio
import base64
import json
from pathlib import Path

import pytest
import yaml

from mooring.errors import ConfigError
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.credentials import Credentials, TokenFile, basic, bearer
from mooring.kube.exec_plugin import ExecPlugin
from mooring.kube.kubeconfig import load_kubeconfig

V1 = "client.authentication.k8s.io/v1"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def write(folder: Path, *, cluster: object = None, user: object = None, **more: object) -> Path:
    content: dict[str, object] = {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster or {"server": "https://h:6443"}}],
        "users": [{"name": "u", "user": user}],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(content | more))
    return path


def credentials(config: ClusterConfig) -> Credentials:
    return asyncio.run(config.auth.credentials())


def test_everything_about_a_cluster_is_read(tmp_path: Path) -> None:
    (tmp_path / "pki").mkdir()
    (tmp_path / "pki" / "ca.crt").write_text("CA")
    path = write(
        tmp_path,
        cluster={
            "server": "https://h:6443/k8s/clusters/c-1/?x=y",
            "certificate-authority": "pki/ca.crt",
            "certificate-authority-data": b64("DATA"),
            "insecure-skip-tls-verify": True,
            "tls-server-name": "kubernetes",
            "proxy-url": "http://proxy:3128",
            "disable-compression": True,
        },
        contexts=[{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "mine"}}],
    )
    config = load_kubeconfig(path)
    assert config.server == "https://h:6443/k8s/clusters/c-1"
    assert config.ca_file == tmp_path / "pki" / "ca.crt"
    assert config.ca_data == b"DATA"
    assert config.insecure
    assert config.tls_server_name == "kubernetes"
    assert config.proxy_url == "http://proxy:3128"
    assert not config.compression
    assert config.namespace == "mine"
    assert config.source == f'context "here" of {path}'
    assert credentials(config) == Credentials()


def test_client_certificates_come_from_files_or_data(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("CERT")
    (tmp_path / "k").write_text("KEY")
    config = load_kubeconfig(
        write(tmp_path, user={"client-certificate": "c", "client-key": str(tmp_path / "k")})
    )
    assert (config.cert_file, config.key_file) == (tmp_path / "c", tmp_path / "k")
    folded = b64("CERT")[:4] + "\n" + b64("CERT")[4:]
    config = load_kubeconfig(
        write(
            tmp_path,
            user={"client-certificate-data": folded, "client-key-data": b64("KEY")},
        )
    )
    assert (config.cert_data, config.key_data) == (b"CERT", b"KEY")


def test_tokens_and_passwords(tmp_path: Path) -> None:
    assert credentials(load_kubeconfig(write(tmp_path, user={"token": "t"}))) == bearer("t")
    (tmp_path / "token").write_text("from file\n")
    config = load_kubeconfig(write(tmp_path, user={"token": "t", "tokenFile": "token"}))
    assert isinstance(config.auth, TokenFile)
    assert credentials(config) == bearer("from file")
    (tmp_path / "token").unlink()
    config = load_kubeconfig(write(tmp_path, user={"token": "t", "tokenFile": "token"}))
    assert credentials(config) == bearer("t")
    named = write(tmp_path, user={"username": "me", "password": "pw"})
    assert credentials(load_kubeconfig(named)) == basic("me", "pw")


def test_no_credentials_are_sent_without_tls(tmp_path: Path) -> None:
    path = write(tmp_path, cluster={"server": "http://h:8080"}, user={"token": "t"})
    config = load_kubeconfig(path)
    assert not config.secure
    assert credentials(config) == Credentials()


def test_impersonation_becomes_headers(tmp_path: Path) -> None:
    user = {
        "token": "t",
        "as": "jane",
        "as-uid": "7",
        "as-groups": ["a", "b"],
        "as-user-extra": {"example.com/scope": ["x"]},
    }
    assert load_kubeconfig(write(tmp_path, user=user)).headers == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-example.com%2Fscope", "x"),
    )


def test_exec_plugins(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("CA")
    plugin = {
        "apiVersion": V1,
        "command": "bin/login",
        "args": ["--now"],
        "env": [{"name": "A", "value": "b"}],
        "installHint": "get it",
        "interactiveMode": "Never",
        "provideClusterInfo": True,
    }
    cluster = {
        "server": "https://h",
        "certificate-authority": "ca.crt",
        "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"a": 1}}],
    }
    path = write(tmp_path, cluster=cluster, user={"exec": plugin})
    auth = load_kubeconfig(path).auth
    assert isinstance(auth, ExecPlugin)
    assert auth.spec.command == str(tmp_path / "bin/login")
    assert auth.spec.args == ("--now",)
    assert auth.spec.env == {"A": "b"}
    assert auth.spec.install_hint == "get it"
    assert auth.spec.user == f'user "u" of {path}'
    assert auth.spec.cluster_info == {
        "server": "https://h",
        "certificate-authority-data": b64("CA"),
        "config": {"a": 1},
    }
    old = {"apiVersion": f"{V1}beta1", "command": "login"}
    auth = load_kubeconfig(write(tmp_path, user={"exec": old})).auth
    assert isinstance(auth, ExecPlugin)
    assert auth.spec.command == "login"
    assert auth.spec.interactive_mode == "IfAvailable"
    assert auth.spec.cluster_info is None
    # as kubectl: what the user has anyway goes before the program
    config = load_kubeconfig(write(tmp_path, user={"exec": old, "token": "t"}))
    assert credentials(config) == bearer("t")


@pytest.mark.parametrize(
    ("cluster", "user", "sentence"),
    [
        ({"server": "h:6443"}, {}, 'server of cluster "c"'),
        ({"server": ""}, {}, 'server of cluster "c"'),
        ({"server": "https://a:secret@h"}, {}, "has a password in it"),
        ({"server": "https://h", "proxy-url": "socks5://p"}, {}, "proxy-url of"),
        ({"server": "https://h", "certificate-authority": "no"}, {}, "does not exist"),
        (
            {"server": "https://h", "certificate-authority-data": "secret!"},
            {},
            "is not valid base64",
        ),
        (None, {"client-certificate-data": b64("secret")}, "both a client certificate and its key"),
        (None, {"client-key": "no"}, "client-key of"),
        (None, {"auth-provider": {"name": "gcp"}}, "auth-provider"),
        (None, {"auth-provider": {}, "exec": {"command": "x"}}, "auth-provider"),
        (None, {"exec": {}}, "has no command"),
        (None, {"exec": {"command": "x", "apiVersion": "v1alpha1"}}, "needs an apiVersion"),
        (None, {"exec": {"command": "x", "apiVersion": V1}}, "needs an interactiveMode"),
        (None, {"token": 12}, "Expected `str`, got `int`"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    tmp_path: Path, cluster: object, user: object, sentence: str
) -> None:
    path = write(tmp_path, cluster=cluster, user=user)
    with pytest.raises(ConfigError) as caught:
        load_kubeconfig(path)
    text = str(caught.value)
    assert sentence in text
    assert str(path) in text
    assert "secret" not in text
    assert "\n" not in text


def test_contexts_clusters_and_users_that_are_not_there(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        contexts=[
            {"name": "here", "context": {"cluster": "c", "user": "u"}},
            {"name": "lost", "context": {"cluster": "nowhere", "user": "u"}},
            {"name": "nobody", "context": {"cluster": "c", "user": "x"}},
            {"name": "anonymous", "context": {"cluster": "c"}},
        ],
    )
    with pytest.raises(ConfigError, match=r'no context "x".*anonymous, here, lost, nobody'):
        load_kubeconfig(path, "x")
    with pytest.raises(ConfigError, match=r'cluster "nowhere" of context "lost".* the file has c'):
        load_kubeconfig(path, "lost")
    with pytest.raises(ConfigError, match=r'user "x" of context "nobody".* the file has u'):
        load_kubeconfig(path, "nobody")
    assert credentials(load_kubeconfig(path, "anonymous")) == Credentials()
    path = write(tmp_path, **{"current-context": ""})
    with pytest.raises(ConfigError, match=r"has no current-context; .*\(here\)"):
        load_kubeconfig(path)


def test_files_that_are_no_kubeconfig(tmp_path: Path) -> None:
    path = tmp_path / "config"
    with pytest.raises(ConfigError, match=f"no kubeconfig file {path}"):
        load_kubeconfig(path)
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load_kubeconfig(tmp_path)
    path.write_text("ok: 1\nsecret: [\n")
    with pytest.raises(ConfigError, match=r"is not valid YAML \(line \d\)"):
        load_kubeconfig(path)
    path.write_text("secret")
    with pytest.raises(ConfigError, match="is not valid") as caught:
        load_kubeconfig(path)
    assert "secret" not in str(caught.value)
    path.write_bytes(b"\xff\xfe\xfd")
    with pytest.raises(ConfigError, match="not valid UTF-8"):
        load_kubeconfig(path)
    path.write_text("")
    with pytest.raises(ConfigError, match="no current-context"):
        load_kubeconfig(path)
    path.write_text("clusters: null\ncontexts: null\nusers: null\ncurrent-context: x")
    with pytest.raises(ConfigError, match='no context "x"'):
        load_kubeconfig(path)


def test_a_json_kubeconfig_is_fine(tmp_path: Path) -> None:
    path = write(tmp_path, user={"token": "t"})
    path.write_text(json.dumps(yaml.safe_load(path.read_text())))
    assert credentials(load_kubeconfig(path)) == bearer("t")


def test_nothing_confidential_is_shown(tmp_path: Path) -> None:
    user = {
        "token": "secret",
        "client-certificate-data": b64("secret"),
        "client-key-data": b64("secret"),
    }
    cluster = {"server": "https://h", "proxy-url": "http://me:secret@proxy"}
    assert "secret" not in repr(load_kubeconfig(write(tmp_path, cluster=cluster, user=user)))
