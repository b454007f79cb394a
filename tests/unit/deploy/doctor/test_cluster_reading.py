"""What the doctor takes from a live cluster, and from whatever answers in its place."""

import asyncio
import dataclasses
from collections.abc import Container
from contextlib import suppress
from typing import Any

import pytest
from aiohttp import web

from mooring import testing
from mooring.config.types import DEFAULT_SCHEDULER
from mooring.deploy.doctor.cluster_reading import read_cluster
from mooring.deploy.doctor.evidence import ClusterEvidence, Evidence, Permission
from mooring.deploy.doctor.findings import DoctorSeverity
from mooring.deploy.doctor.gathering import evidence_of
from mooring.deploy.doctor.served_names import served_names
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.config import find_config
from tests.unit.deploy.doctor.cases import SCHEDULER
from tests.unit.deploy.doctor.following import result

COMMANDS: dict[str, list[str]] = {
    "by-name": ["moor", "run"],
    "by-path": ["/usr/local/bin/moor", "run"],
    "in-a-shell": ["sh", "-c", "exec moor run /policy/policy.py"],
    "hyperkube": ["/hyperkube", "scheduler"],
    "renamed": ["/ours", "--policy_configmap=p"],
    "another": ["moor", "check", "policy.py"],
}


def pod(name: str) -> dict[str, Any]:
    container = {"name": "c", "image": "example.com/image:1", "command": COMMANDS[name]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container]},
    }


def test_pods_that_run_a_scheduler_are_found() -> None:
    with testing.cluster([testing.make_node("a").raw], scheduler=False) as cluster:
        cluster.apply([pod(name) for name in COMMANDS])
        config = find_config(cluster.kubeconfig, default_file=False)
        assert config is not None
        _, found = asyncio.run(read_cluster(config, Evidence()))
    assert {one.name for one in found if one.kind == "Pod"} == COMMANDS.keys() - {"another"}


GOOD: dict[str, Any] = {
    "/version": {"gitVersion": "v1.36.4"},
    "/api/v1/nodes": {"metadata": {"resourceVersion": "1"}, "items": []},
    "/api/v1/pods": {"metadata": {"resourceVersion": "1"}, "items": []},
    "/api/v1/events": {"items": []},
    "reviews": {"status": {"allowed": True}},
}
#: What else is answered, and what is said of it; empty if it does not matter.
STRANGE: list[tuple[str, Any, str]] = [
    ("/version", [1], ""),
    ("/version", {"gitVersion": {"a": 1}}, ""),
    ("/api/v1/nodes", {**GOOD["/api/v1/nodes"], "items": [None]}, "/api/v1/nodes is not what"),
    (
        "/api/v1/nodes",
        {"metadata": {"resourceVersion": "1"}, "items": [{"metadata": {"name": 5}}]},
        "/api/v1/nodes is not what Kubernetes answers",
    ),
    (
        "/api/v1/nodes",
        {"metadata": {"resourceVersion": "1", "continue": "x"}, "items": []},
        "The list of /api/v1/nodes never ends",
    ),
    (
        "/api/v1/pods",
        {"metadata": {"resourceVersion": "1"}, "items": [{"metadata": {}, "spec": []}]},
        "/api/v1/pods is not what Kubernetes answers",
    ),
    ("/api/v1/events", [1], "/api/v1/events is not what Kubernetes answers"),
    ("/api/v1/events", {"items": [5, {"reason": "Scheduled", "source": 5}]}, ""),
    ("reviews", [1], "accessreviews is not what Kubernetes answers"),
    ("reviews", {"status": 5}, ""),
]


async def read_from(
    answers: dict[str, Any], forbidden: Container[str] = (), evidence: Evidence | None = None
) -> ClusterEvidence:
    """What is read of a server that answers this, and 403 to some paths."""

    async def reply(request: web.Request) -> web.Response:
        path = "reviews" if request.path.endswith("accessreviews") else request.path
        if path in forbidden:
            return web.json_response({"kind": "Status", "reason": "Forbidden"}, status=403)
        return web.json_response(answers.get(path), status=200 if path in answers else 404)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", reply)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server = f"http://127.0.0.1:{runner.addresses[0][1]}"
        config = ClusterConfig(server=server, source="a test")
        return (await read_cluster(config, evidence or Evidence()))[0]
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(("where", "answer", "said"), STRANGE)
def test_whatever_is_at_the_address(where: str, answer: Any, said: str) -> None:
    found = asyncio.run(read_from(GOOD | {where: answer}))
    assert said in found.problem
    assert bool(said) is bool(found.problem)
    assert served_names(Evidence(cluster=found)) == {DEFAULT_SCHEDULER}


async def read_from_bytes(answer: bytes, again: bytes = b"") -> tuple[ClusterEvidence, int]:
    """What is read of a server that sends this, and how often it could send some bytes again."""
    sent = 0

    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        with suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            while again:
                writer.write(again)
                await writer.drain()
                sent += 1
        writer.close()

    async with await asyncio.start_server(reply, "127.0.0.1", 0) as server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        config = ClusterConfig(server=address, source="a test")
        return (await read_cluster(config, Evidence()))[0], sent


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def test_an_answer_that_breaks_off_is_a_problem_of_the_cluster() -> None:
    found, _ = asyncio.run(read_from_bytes(HEAD + b"Content-Length: 100\r\n\r\n{"))
    assert found.problem.endswith(" failed: the response was truncated.")


def test_headers_without_end_are_a_problem_of_the_cluster() -> None:
    found, _ = asyncio.run(read_from_bytes(HEAD, b"X-More: " + b"x" * 9000 + b"\r\n"))
    assert found.problem.endswith(" failed: the response is not HTTP.")


def test_a_version_without_end_is_not_kept_in_memory() -> None:
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    found, chunks = asyncio.run(
        read_from_bytes(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", chunk)
    )
    assert found.problem == (
        "The response to /version is not what Kubernetes answers: it has more than 1 MiB."
    )
    assert chunks * len(chunk) < 64 * 2**20


@pytest.mark.parametrize("resource", ["nodes", "pods", "events"])
def test_what_we_may_not_list_does_not_hide_the_rest(resource: str) -> None:
    found = asyncio.run(read_from(GOOD, {f"/api/v1/{resource}"}))
    assert (found.problem, found.version) == ("", "v1.36.4")
    assert found.permissions
    assert found.unreadable == (Permission("list", resource),)


def test_a_config_map_that_we_may_not_get_is_not_said_to_be_missing() -> None:
    files = evidence_of([("deploy.yaml", SCHEDULER)])
    path = "/api/v1/namespaces/sched/configmaps/packer-config"
    found = asyncio.run(read_from(GOOD, {path}, files))
    needed = Permission("get", "configmaps", "", "sched", "packer-config")
    assert found.unreadable == (needed,)
    [said] = result("configmap-name", dataclasses.replace(files, cluster=found)).findings
    assert said.severity is DoctorSeverity.WARNING
    assert "the cluster has none" not in said.what
    found = asyncio.run(read_from(GOOD, (), files))
    [said] = result("configmap-name", dataclasses.replace(files, cluster=found)).findings
    assert "the cluster has none" in said.what
