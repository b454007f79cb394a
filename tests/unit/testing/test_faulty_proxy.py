"""A proxy that makes things go wrong, with a tiny server behind it."""

import http.client
import json
import select
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from mooring.errors import ConfigError, InputError
from mooring.kube.kubeconfig import load_kubeconfig
from mooring.testing import Fault, FaultyProxy, Requests, WatchEvents
from mooring.testing.certificates import Authority, KeyPair
from tests.unit.testing.http_texts import Wire, chunk
from tests.unit.testing.tiny_server import TinyServer

POD = "/api/v1/namespaces/default/pods/p1"
WATCH = "/api/v1/pods?watch=true"


@pytest.fixture
def server() -> Iterator[TinyServer]:
    with TinyServer() as server:
        yield server
        server.hang_up()


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[FaultyProxy]:
    with FaultyProxy(seed=1, journal=tmp_path / "journal") as proxy:
        yield proxy


@pytest.fixture
def port(server: TinyServer, proxy: FaultyProxy, tmp_path: Path) -> int:
    return port_of(proxy.through(server.kubeconfig(tmp_path)))


def port_of(kubeconfig: Path) -> int:
    return urlsplit(load_kubeconfig(kubeconfig).server).port or 0


def ask(
    port: int, method: str, target: str, body: bytes | None = None, **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, target, body, sent)
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_requests_and_answers_pass_unchanged(server: TinyServer, port: int, method: str) -> None:
    body = b"\0\1 any bytes" if method != "GET" else None
    target = "/api/v1/pods?labelSelector=a%2Fb%3Dc&x=%7e"
    response, answer = ask(port, method, target, body, Content_Type="x/y", Authorization="Bearer t")
    (seen,) = server.seen
    assert (seen.method, seen.target, seen.body) == (method, target, body or b"")
    assert seen.headers["Content-Type"] == "x/y"
    assert seen.headers["Authorization"] == "Bearer t"
    assert answer == b"1"
    assert response.status == (201 if method == "POST" else 200)
    assert response.headers["X-Of-The-Server"] == "yes"
    assert response.headers.get_all("Content-Type") == ["application/json"]


def test_a_large_body_passes(server: TinyServer, port: int) -> None:
    server.answers["/api/v1/pods"] = large = bytes(range(256)) * 2**14
    assert ask(port, "POST", "/api/v1/pods", large)[1] == large
    assert server.seen[0].body == large


def test_a_head_has_no_body(server: TinyServer, port: int) -> None:
    response, answer = ask(port, "HEAD", "/readyz")
    assert (response.status, answer, response.headers["Content-Length"]) == (200, b"", "1")


def test_a_refusal_names_a_status_and_when_to_come_again(
    server: TinyServer, proxy: FaultyProxy, port: int
) -> None:
    bindings = Requests(verb="create", resource="pods/binding")
    proxy.set(Fault.refuse(429, retry_after=3, on=bindings, times=1))
    assert ask(port, "GET", POD)[1] == b"1"
    response, answer = ask(port, "POST", f"{POD}/binding", b"{}")
    assert (response.status, response.headers["Retry-After"]) == (429, "3")
    assert json.loads(answer)["reason"] == "TooManyRequests"
    assert len(server.seen) == 1
    assert ask(port, "POST", f"{POD}/binding", b"{}")[0].status == 201
    assert proxy.counts == {"refuse": 1}
    assert proxy.requests == 3


def test_a_refusal_without_a_status_breaks_the_connection(
    server: TinyServer, proxy: FaultyProxy, port: int
) -> None:
    proxy.set(Fault.refuse())
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        ask(port, "GET", POD)
    assert server.seen == []
    proxy.clear()
    assert ask(port, "GET", POD)[1] == b"1"


def test_an_answer_is_cut_in_the_middle(server: TinyServer, proxy: FaultyProxy, port: int) -> None:
    server.answers[POD] = b"0123456789"
    proxy.set(Fault.cut())
    with pytest.raises(http.client.IncompleteRead) as caught:
        ask(port, "GET", POD)
    assert caught.value.partial == b"01234"


def test_an_answer_is_lost_after_the_request_took_effect(
    server: TinyServer, proxy: FaultyProxy, port: int
) -> None:
    proxy.set(Fault.cut(lost=True))
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        ask(port, "POST", f"{POD}/binding", b"{}")
    assert [one.method for one in server.seen] == ["POST"]


def test_a_request_arrives_twice_and_the_second_answer_counts(
    server: TinyServer, proxy: FaultyProxy, port: int
) -> None:
    proxy.set(Fault.duplicate())
    assert ask(port, "POST", f"{POD}/binding", b"{}")[1] == b"2"
    assert [one.body for one in server.seen] == [b"{}", b"{}"]


def test_a_request_is_delayed(server: TinyServer, proxy: FaultyProxy, port: int) -> None:
    proxy.set(Fault.delay(0.001, 0.002))
    assert ask(port, "GET", POD)[1] == b"1"
    assert proxy.counts == {"delay": 1}


def test_a_request_is_overtaken_by_the_next(
    server: TinyServer, proxy: FaultyProxy, port: int, tmp_path: Path
) -> None:
    proxy.set(Fault.reorder(30, times=1))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(ask, port, "GET", f"{POD}/first")
        wait_journal(tmp_path / "journal", 1)
        assert ask(port, "GET", f"{POD}/second")[1] == b"1"
        assert first.result(30)[1] == b"2"
    assert [one.target[-6:] for one in server.seen] == ["second", "/first"]


def test_a_request_that_nobody_overtakes_goes_on_alone(
    server: TinyServer, proxy: FaultyProxy, port: int
) -> None:
    proxy.set(Fault.reorder(0.01))
    assert ask(port, "GET", POD)[1] == b"1"


def wait_journal(file: Path, count: int) -> list[dict[str, object]]:
    from mooring.testing.child_process import wait_for

    wait_for(lambda: file.read_bytes().count(b"\n") >= count, "the journal", 30)
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_dropped_request_gets_no_answer_and_no_end(
    server: TinyServer, proxy: FaultyProxy, port: int, tmp_path: Path
) -> None:
    proxy.set(Fault.drop(times=1))
    wire = Wire(port)
    wire.ask("GET", POD)
    wait_journal(tmp_path / "journal", 1)
    assert ask(port, "GET", POD)[1] == b"1"
    assert select.select([wire.socket], [], [], 0)[0] == []
    wire.close()


def test_connections_are_refused_until_they_are_not(
    server: TinyServer, proxy: FaultyProxy, port: int
) -> None:
    wire = Wire(port)
    wire.ask("GET", POD)
    wire.read_until(b"1")
    proxy.cut()
    proxy.cut()
    with pytest.raises((ConnectionResetError, EOFError)):
        wire.read_until(b"never")
    with pytest.raises(ConnectionRefusedError):
        ask(port, "GET", POD)
    proxy.mend()
    assert ask(port, "GET", POD)[0].status == 200
    wire.close()


def test_one_client_is_cut_off_alone(
    server: TinyServer, proxy: FaultyProxy, port: int, tmp_path: Path
) -> None:
    other = port_of(proxy.through(server.kubeconfig(tmp_path), client="other"))
    proxy.cut("other")
    with pytest.raises(ConnectionRefusedError):
        ask(other, "GET", POD)
    assert ask(port, "GET", POD)[0].status == 200
    with pytest.raises(InputError, match="no client stranger"):
        proxy.cut("stranger")


def test_no_server_behind_it_is_a_broken_connection(proxy: FaultyProxy, tmp_path: Path) -> None:
    with TinyServer() as gone:
        port = port_of(proxy.through(gone.kubeconfig(tmp_path)))
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        ask(port, "GET", POD)


@pytest.mark.parametrize("wrong", [[Fault.refuse(403)], Requests(), "cut"])
def test_what_is_no_fault_is_rejected_at_once(proxy: FaultyProxy, port: int, wrong: object) -> None:
    proxy.set(Fault.refuse(429))
    with pytest.raises(InputError, match=f"as separate arguments, not a {type(wrong).__name__}: "):
        proxy.set(wrong)  # type: ignore[arg-type]
    assert ask(port, "GET", POD)[0].status == 429, "all is as it was"


def test_upgraded_connections_are_not_carried(server: TinyServer, port: int) -> None:
    target = f"{POD}/exec"
    response, _ = ask(port, "POST", target, b"", Connection="Upgrade", Upgrade="SPDY/3.1")
    assert response.status == 501


def test_every_request_is_in_the_journal_with_the_audit_logs_name_for_it(
    server: TinyServer, proxy: FaultyProxy, port: int, tmp_path: Path
) -> None:
    proxy.set(Fault.refuse(503, on=Requests(method="GET")))
    ask(port, "POST", f"{POD}/binding", b"{}")
    ask(port, "PUT", POD, b"{}", Audit_ID="mine")
    ask(port, "GET", POD)
    first, second, third = wait_journal(tmp_path / "journal", 3)
    assert [seen.headers["Audit-ID"] for seen in server.seen] == [first["audit_id"], "mine"]
    assert second["audit_id"] == "mine"
    assert [one["fault"] for one in (first, second, third)] == ["", "", "refuse"]
    assert (first["client"], first["method"], first["path"]) == ("client", "POST", f"{POD}/binding")


# -- watches


def event(number: int) -> bytes:
    return b'{"type":"ADDED","object":{"number":%d}}\n' % number


def watching(port: int) -> Wire:
    wire = Wire(port)
    wire.ask("GET", WATCH)
    return wire


def test_events_of_a_watch_pass_one_by_one(server: TinyServer, port: int) -> None:
    wire = watching(port)
    for number in range(3):
        server.say(event(number))
        assert event(number) in wire.read_until(b"}}\n")
    server.hang_up()
    assert wire.read_until(b"0\r\n\r\n").endswith(b"\r\n0\r\n\r\n")
    wire.close()


def test_a_watch_is_cut_in_the_middle_of_a_chunk(
    server: TinyServer, proxy: FaultyProxy, port: int
) -> None:
    proxy.set(Fault.cut(on=WatchEvents(), skip=1))
    wire = watching(port)
    server.say(event(1), event(2))
    *_, rest = wire.rest().partition(chunk(event(1)))
    third = len(event(2)) // 3
    begun, left = event(2)[:third], event(2)[third:]
    assert rest == chunk(begun) + b"%x\r\n" % len(left) + left[: len(left) // 2]
    wire.close()


def test_events_come_twice_and_in_another_order(
    server: TinyServer, proxy: FaultyProxy, port: int
) -> None:
    proxy.set(Fault.duplicate(on=WatchEvents(), times=1), Fault.reorder(on=WatchEvents(), times=1))
    wire = watching(port)
    server.say(event(1), event(2), event(3), event(4))
    text = wire.read_until(event(4))
    numbers = [text.find(event(number)) for number in (1, 3, 2, 4)]
    assert text.count(event(1)) == 2
    assert numbers == sorted(numbers)
    assert proxy.counts == {"duplicate": 1, "reorder": 1}
    wire.close()


def test_a_held_event_comes_even_if_no_other_does(
    server: TinyServer, proxy: FaultyProxy, port: int
) -> None:
    proxy.set(Fault.reorder(on=WatchEvents()))
    wire = watching(port)
    server.say(event(1))
    assert event(1) in wire.read_until(b"}}\n")
    wire.close()


def test_a_watch_falls_silent(server: TinyServer, proxy: FaultyProxy, port: int) -> None:
    proxy.set(Fault.drop(on=WatchEvents(), skip=1, times=1))
    silent = watching(port)
    server.say(event(1))
    silent.read_until(event(1))
    server.say(event(2))
    server.hang_up()
    assert ask(port, "GET", POD)[1] == b"2"
    assert select.select([silent.socket], [], [], 0)[0] == []
    silent.close()


def test_a_watch_ends_with_an_error_event(
    server: TinyServer, proxy: FaultyProxy, port: int
) -> None:
    proxy.set(Fault.refuse(410, on=WatchEvents()))
    wire = watching(port)
    server.say(event(1))
    text = wire.read_until(b"0\r\n\r\n")
    assert b'"code":410' in text
    assert event(1) not in text
    wire.close()


def test_a_watch_itself_can_be_refused_and_cut(
    server: TinyServer, proxy: FaultyProxy, port: int
) -> None:
    watches = Requests(verb="watch")
    proxy.set(Fault.refuse(500, on=watches, times=1), Fault.cut(on=watches))
    assert ask(port, "GET", WATCH)[0].status == 500
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        ask(port, "GET", WATCH)


def test_a_client_that_leaves_ends_its_watch_at_the_server(
    server: TinyServer, proxy: FaultyProxy, port: int
) -> None:
    wire = watching(port)
    server.say(event(1))
    wire.read_until(event(1))
    wire.close()
    server.say(event(2))
    server.hang_up()  # had the server not been left, the next watch would get nothing
    other = watching(port)
    server.say(event(3))
    assert event(3) in other.read_until(event(3))
    other.close()


# -- who the client is


def test_a_kubeconfig_keeps_its_user_and_its_namespace(
    server: TinyServer, proxy: FaultyProxy, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("secret")
    made = proxy.through(server.kubeconfig(tmp_path, user="{tokenFile: token}"))
    content = yaml.safe_load(made.read_text())
    assert content["users"][0]["user"] == {"tokenFile": str(tmp_path / "token")}
    assert content["contexts"][0]["context"]["namespace"] == "mine"
    assert made.stat().st_mode & 0o077 == 0


def test_paths_may_be_texts(server: TinyServer, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    with FaultyProxy(journal=str(journal)) as proxy:
        made = proxy.through(str(server.kubeconfig(tmp_path)))
        assert made.name == "client.kubeconfig"
        with pytest.raises(ConfigError, match="There is no kubeconfig file nope"):
            proxy.through("nope", client="x")
    assert journal.exists()


def test_a_name_is_given_once_and_only_while_it_runs(
    server: TinyServer, proxy: FaultyProxy, tmp_path: Path
) -> None:
    file = server.kubeconfig(tmp_path)
    proxy.through(file)
    with pytest.raises(InputError, match="already has a client 'client'"):
        proxy.through(file)
    proxy.stop()
    proxy.stop()
    with pytest.raises(InputError, match="is not running"):
        proxy.through(file)


def secure(folder: Path) -> tuple[Authority, ssl.SSLContext]:
    authority = Authority(folder)
    pair = authority.server("tiny")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority.file)
    return authority, context


def get(kubeconfig: Path, pair: KeyPair | None) -> int:
    config = load_kubeconfig(kubeconfig)
    context = ssl.create_default_context(cafile=config.ca_file)
    if pair is not None:
        context.load_cert_chain(pair.certificate, pair.key)
    port = urlsplit(config.server).port
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=120, context=context)
    try:
        connection.request("GET", POD)
        return connection.getresponse().status
    finally:
        connection.close()


def test_each_client_is_itself_for_the_server_and_nobody_else_may_use_its_way(
    proxy: FaultyProxy, tmp_path: Path
) -> None:
    authority, context = secure(tmp_path)
    pairs = {name: authority.client(name, name, []) for name in ("ann", "bob")}
    with TinyServer(context) as server:
        ways = {}
        for name, pair in pairs.items():
            user = f"{{client-certificate: {pair.certificate}, client-key: {pair.key}}}"
            ways[name] = proxy.through(server.kubeconfig(tmp_path, name, user))
        for name, pair in pairs.items():
            assert get(ways[name], pair) == 200
        assert [seen.user for seen in server.seen] == ["ann", "bob"]
        for stranger in (None, pairs["bob"]):
            with pytest.raises((ssl.SSLError, ConnectionError, http.client.HTTPException)):
                get(ways["ann"], stranger)
        assert len(server.seen) == 2
