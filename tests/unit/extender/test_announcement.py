"""What ``moor serve`` says when it starts can be put into kube-scheduler's configuration."""

import logging
import socket
from pathlib import Path

import pytest

import mooring as mr
from mooring.extender import server
from mooring.extender.server import ServeOptions
from mooring.extender.service import ExtenderService
from mooring.http.sockets import listen


@pytest.mark.parametrize(("host", "called"), [("0.0.0.0", "127.0.0.1"), ("::", "[::1]")])  # noqa: S104
def test_all_addresses_are_no_address_to_call(
    host: str, called: str, caplog: pytest.LogCaptureFixture
) -> None:
    if ":" in host and not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    service = ExtenderService(mr.Policy("p", usage=False))
    with listen(host, 0) as sock, caplog.at_level(logging.INFO, "mooring.extender"):
        port = sock.getsockname()[1]
        server._announce(ServeOptions(policy="p", host=host), service, sock)
    shown = "[::]" if ":" in host else host
    assert f"listening on {shown}:{port}, urlPrefix http://{called}:{port}" in caplog.text
    assert f"for callers on other hosts, replace {called} in urlPrefix with" in caplog.text
    assert f"anyone who can reach {shown} can use" in caplog.text


def test_an_address_is_told_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    service = ExtenderService(mr.Policy("p", usage=False))
    with listen("127.0.0.1", 0) as sock, caplog.at_level(logging.INFO, "mooring.extender"):
        server._announce(ServeOptions(policy="p"), service, sock)
    assert "urlPrefix http://127.0.0.1:" in caplog.text
    assert "other machines" not in caplog.text


def test_functions_that_need_a_node_cache_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # no ~/.kube/config, which would be named, too
    file = tmp_path / "p.py"
    file.write_text(
        "import mooring as mr\npolicy = mr.Policy('p')\n"
        "@policy.filter\ndef share(pod, node): return not node.pods\n"
        "@policy.score\ndef pack(pod, node): return node.used['cpu']\n"
    )
    needy, frugal = mr.load(file), mr.Policy("frugal", usage=False)
    warning = (
        "stateless: no node cache, so functions fail: filter 'share' reads node.pods, score 'pack' "
        "reads node.used; to enable it, use --kubeconfig FILE or run inside the cluster"
    )

    def warned() -> list[str]:
        return [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]

    service = ExtenderService(needy)
    with listen("127.0.0.1", 0) as sock, caplog.at_level(logging.INFO, "mooring.extender"):
        server._announce(ServeOptions(policy="p"), service, sock)
        assert warned() == [warning]
        assert "are not available" not in caplog.text
        server._replace(service, frugal)
        assert warned() == [warning]
        server._replace(service, needy)
        assert warned() == [warning, warning]
