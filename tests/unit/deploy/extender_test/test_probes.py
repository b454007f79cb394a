"""Single facts about an extender, for others than the whole run."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from mooring.config.types import Extender, ExtenderTLSConfig
from mooring.deploy.extender_test.conformance import ConformancePlan, run_conformance
from mooring.deploy.extender_test.findings import ExtenderReport
from mooring.deploy.extender_test.probes import (
    Probe,
    probe_latency,
    probe_reachable,
    probe_verb,
)
from mooring.errors import InputError
from mooring.testing.certificates import Authority
from mooring.testing.child_process import free_port
from tests.unit.deploy.extender_test.faults import FAULTS
from tests.unit.deploy.extender_test.wrong_extender import Answered, Fault, serving

T = TypeVar("T")


def _asked(ask: Callable[[Extender], Awaitable[T]], fault: Fault | None = None, **more: Any) -> T:
    async def run() -> T:
        async with serving(fault) as extender:
            verbs: dict[str, Any] = {
                f"{verb}_verb": verb for verb in ("filter", "prioritize", "preempt", "bind")
            }
            return await ask(Extender(url_prefix=extender.url, weight=1, **verbs, **more))

    return asyncio.run(run())


def test_something_answers() -> None:
    probe = _asked(probe_reachable)
    assert (probe.ok, probe.check, probe.status) == (True, "", 200)


def test_nothing_listens() -> None:
    settings = Extender(url_prefix=f"http://127.0.0.1:{free_port()}", filter_verb="filter")
    probe = asyncio.run(probe_reachable(settings))
    assert (probe.ok, probe.check) == (False, "reachable")
    assert probe.found == "it cannot be reached: connection refused"


@pytest.mark.parametrize("url", ["", "127.0.0.1:8888", "ftp://h/", "http://"])
def test_no_address(url: str) -> None:
    with pytest.raises(InputError, match="is not an address"):
        asyncio.run(probe_reachable(Extender(url_prefix=url, filter_verb="filter")))


@pytest.mark.parametrize("node_cache", [True, False])
@pytest.mark.parametrize("verb", ["filter", "prioritize", "preempt", "bind"])
def test_a_verb_answers(verb: Any, node_cache: bool) -> None:
    probe = _asked(lambda settings: probe_verb(settings, verb), node_cache_capable=node_cache)
    assert (probe.ok, probe.check, probe.status) == (True, "", 200)


@pytest.mark.parametrize(
    ("name", "check", "found"),
    [
        ("not-served", "served", "status 404: no such verb"),
        ("always-an-error", "filter-error", "Error: no idea"),
        ("status-201", "status", "status 201: "),
    ],
)
def test_a_verb_is_wrong(name: str, check: str, found: str) -> None:
    probe = _asked(
        lambda settings: probe_verb(settings, "filter"), FAULTS[name], node_cache_capable=True
    )
    assert (probe.ok, probe.check) == (False, check)
    assert probe.found.startswith(found)


def test_nodes_of_the_caller_are_asked_about() -> None:
    def only_mine(request: dict[str, Any], value: Any) -> Any:
        assert [one["metadata"]["name"] for one in request["Nodes"]["items"]] == ["mine"]
        assert "kind" not in request["Nodes"]["items"][0]
        return value

    mine = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "mine"}}
    probe = _asked(
        lambda settings: probe_verb(settings, "filter", nodes=[mine]),
        Fault(verb="filter", checks=set(), change=only_mine),
    )
    assert probe.ok


def test_latency() -> None:
    row = _asked(lambda settings: probe_latency(settings, "filter", count=30, requests=4))
    assert (row.verb, row.mode, row.nodes, row.requests, row.failed) == (
        "filter", "whole", 30, 4, 0,
    )  # fmt: skip
    assert 0 < row.p50 <= row.p90 <= row.p99 <= row.max


def test_latency_of_failures() -> None:
    fault = Fault(verb="filter", checks=set(), raw=lambda *_: Answered(b"", 500))
    row = _asked(lambda settings: probe_latency(settings, "filter", requests=3), fault)
    assert row.failed == 3


def test_an_extender_without_tls_behind_an_https_address() -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async def run() -> tuple[Probe, ExtenderReport]:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            settings = Extender(url_prefix=url, filter_verb="filter")
            report = await run_conformance(ConformancePlan(settings=settings, modes=("whole",)))
            return await probe_reachable(settings), report

    probe, report = asyncio.run(run())
    assert (probe.ok, probe.check, probe.found) == (False, "speaks-tls", "it answers without TLS")
    [failed] = report.failures
    assert (failed.check, failed.came) == ("speaks-tls", "it answers without TLS")
    assert failed.advice == (
        "write http:// in urlPrefix and leave enableHTTPS out, or serve TLS there"
    )


@pytest.mark.parametrize("authority", ["right", "wrong", "none"])
def test_the_certificate_must_be_trusted(tmp_path: Path, authority: str) -> None:
    ours = Authority(tmp_path)
    pair = ours.server("extender")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate, pair.key)
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other")
    file = {"right": ours.file, "wrong": other.file, "none": None}[authority]

    async def run() -> tuple[Probe, set[str], bool]:
        async with serving(tls=context) as extender:
            settings = Extender(
                url_prefix=extender.url,
                filter_verb="filter",
                tls_config=ExtenderTLSConfig(ca_file=str(file)) if file else None,
            )
            report = await run_conformance(
                ConformancePlan(
                    settings=settings, modes=("whole",), sizes=(10,), requests=1, huge=1
                )
            )
            failed = {one.check for one in report.failures}
            return await probe_reachable(settings), failed, report.reachable

    probe, failed, reachable = asyncio.run(run())
    if authority == "right":
        assert (probe.ok, failed, reachable) == (True, set(), True)
    else:
        assert (probe.ok, probe.check) == (False, "tls")
        assert probe.found.startswith("its certificate is not trusted: ")
        assert (failed, reachable) == ({"tls"}, False)
