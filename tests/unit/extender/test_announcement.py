"""What ``moor serve`` says when it starts can be put into kube-scheduler's configuration."""

import logging
import socket

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
    assert f"urlPrefix http://{called}:{port}" in caplog.text
    assert f"for callers on other hosts, replace {called} in urlPrefix with" in caplog.text
    assert f"anyone who can reach {'[::]' if ':' in host else host} can use" in caplog.text


def test_an_address_is_told_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    service = ExtenderService(mr.Policy("p", usage=False))
    with listen("127.0.0.1", 0) as sock, caplog.at_level(logging.INFO, "mooring.extender"):
        server._announce(ServeOptions(policy="p"), service, sock)
    assert "urlPrefix http://127.0.0.1:" in caplog.text
    assert "other machines" not in caplog.text
