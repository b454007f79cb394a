"""Extenders that are asked: what comes back becomes evidence."""

import asyncio
import ssl
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from mooring.config.types import ExtenderTLSConfig
from mooring.deploy.doctor.evidence import ExtenderProbe, FoundConfiguration, FoundExtender
from mooring.deploy.doctor.probing import ask_extenders
from tests.unit.extender.fake_extender import FakeExtender, fake_extender, settings
from tests.unit.kube.certificates import Authority


def found(url: str, **fields: Any) -> FoundExtender:
    wanted = {"filterVerb": "filter", "nodeCacheCapable": True, **fields}
    return FoundExtender(settings(url, **wanted), FoundConfiguration(data={}), 0)


def asked(
    replies: dict[str, Any],
    *,
    nodes: int = 0,
    tls: ssl.SSLContext | None = None,
    ca: bytes = b"",
    **fields: Any,
) -> tuple[ExtenderProbe, FakeExtender]:
    """What comes of asking an extender that keeps all nodes and has these other replies."""

    async def keep(request: web.Request) -> web.StreamResponse:
        args = await request.json()
        return web.json_response({"NodeNames": args.get("NodeNames") or []})

    async def main() -> tuple[ExtenderProbe, FakeExtender]:
        async with fake_extender(tls) as fake:
            fake.replies = {"/filter": keep, **replies}
            extender = found(fake.url, **fields)
            if tls is not None:
                trusting = ExtenderTLSConfig(ca_data=ca)
                changed = msgspec.structs.replace(extender.settings, tls_config=trusting)
                extender = extender._replace(settings=changed)
            [probe] = await ask_extenders([extender], nodes)
            return probe, fake

    return asyncio.run(main())


def test_a_verb_that_answers() -> None:
    probe, fake = asked({}, nodes=300)
    [verb] = probe.verbs
    assert (verb.verb, verb.status, verb.problem) == ("filter", 200, "")
    assert len(fake.asked[-1][1]["NodeNames"]) == 300


def test_a_verb_that_is_not_served_and_one_that_talks_nonsense() -> None:
    replies = {"/scores": b"<html>"}
    probe, _ = asked(replies, preemptVerb="preemption", prioritizeVerb="scores", weight=1)
    verbs = {one.verb: one for one in probe.verbs}
    assert verbs["preempt"].status == 404
    assert verbs["prioritize"].status == 200
    assert verbs["prioritize"].problem


def test_nobody_is_bound() -> None:
    probe, fake = asked({"/bind": {"Error": "there is no such pod"}}, bindVerb="bind")
    verbs = {one.verb: one for one in probe.verbs}
    assert (verbs["bind"].status, verbs["bind"].problem) == (200, "")
    assert "missing" in dict(fake.asked)["/bind"]["PodName"]


def test_an_address_where_nobody_is() -> None:
    [probe] = asyncio.run(ask_extenders([found("http://127.0.0.1:1")]))
    [verb] = probe.verbs
    assert (verb.status, verb.tls, verb.timed_out) == (0, False, False)
    assert "cannot be reached" in verb.problem


def test_an_address_that_is_none() -> None:
    [probe] = asyncio.run(ask_extenders([found("nowhere")]))
    assert "is not an address" in probe.verbs[0].problem


def test_names_of_the_cluster_are_not_looked_for_outside() -> None:
    [probe] = asyncio.run(ask_extenders([found("http://packer.sched.svc.cluster.local")]))
    assert "only the cluster's DNS knows packer.sched.svc.cluster.local" in probe.skipped


def test_headers_that_no_client_reads() -> None:
    async def reply(_: web.Request) -> web.Response:
        return web.Response(headers={"X-Long": "x" * 9000})

    probe, _ = asked({"/filter": reply})
    assert probe.verbs[0].problem == "its response is not HTTP"


@pytest.mark.parametrize("authority", ["none", "other", "right"])
def test_certificates(authority: str, tmp_path: Path) -> None:
    real = Authority()
    server = real.issue("extender")
    (tmp_path / "crt").write_bytes(server.certificate)
    (tmp_path / "key").write_bytes(server.key)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    pem = {"none": b"", "other": Authority("other").pem, "right": real.pem}[authority]
    probe, _ = asked({}, tls=tls, ca=pem)
    [verb] = probe.verbs
    assert verb.tls is (authority != "right")
    assert ("certificate" in verb.problem) is (authority != "right")
