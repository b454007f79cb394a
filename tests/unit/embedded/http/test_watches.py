import asyncio
import json
import socket

from mooring.embedded.resources import PODS
from mooring.embedded.server import Options
from tests.unit.embedded.served_cluster import PATIENCE, Client, pod, run

POD_PATH = "/api/v1/namespaces/default/pods"


def test_a_watch_tells_what_there_is_and_what_happens() -> None:
    async def test(client: Client) -> None:
        await client.post(POD_PATH, pod("a"))
        async with client.watch("/api/v1/pods") as watch:
            assert await watch.changes(1) == [("ADDED", "a")]
            await client.post(POD_PATH, pod("b"))
            await client.ask("DELETE", f"{POD_PATH}/a")
            assert await watch.changes(2) == [("ADDED", "b"), ("DELETED", "a")]

    run(test)


def test_a_watch_goes_on_where_a_list_ended() -> None:
    async def test(client: Client) -> None:
        await client.post(POD_PATH, pod("a"))
        version = (await client.get("/api/v1/pods"))["metadata"]["resourceVersion"]
        await client.post(POD_PATH, pod("b"))
        async with client.watch(f"/api/v1/pods?resourceVersion={version}") as watch:
            assert await watch.changes(1) == [("ADDED", "b")]

    run(test)


def test_a_streaming_list_ends_with_a_bookmark() -> None:
    async def test(client: Client) -> None:
        for name in ("a", "b"):
            await client.post(POD_PATH, pod(name))
        query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        async with client.watch(f"/api/v1/pods?{query}") as watch:
            assert await watch.changes(2) == [("ADDED", "a"), ("ADDED", "b")]
            mark = await watch.next()
            assert mark["type"] == "BOOKMARK"
            metadata = mark["object"]["metadata"]
            assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
            assert int(metadata["resourceVersion"]) == client.cluster.store.version
            assert mark["object"]["kind"] == "Pod"
            await client.post(POD_PATH, pod("c"))
            assert await watch.changes(1) == [("ADDED", "c")]

    run(test)


def test_only_some_of_the_objects() -> None:
    async def test(client: Client) -> None:
        web = "/api/v1/pods?labelSelector=app%3Dweb"
        pending = f"{POD_PATH}?fieldSelector=spec.nodeName%3D"
        async with client.watch(web) as labelled, client.watch(pending) as unbound:
            await client.post(POD_PATH, pod("db", labels={"app": "db"}))
            await client.post(POD_PATH, pod("web", labels={"app": "web"}))
            binding = {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "web"},
                "target": {"kind": "Node", "name": "n"},
            }
            await client.post(f"{POD_PATH}/web/binding", binding)
            patch = json.dumps({"metadata": {"labels": {"app": "other"}}})
            code, _ = await client.ask(
                "PATCH", f"{POD_PATH}/web", patch, content_type="application/merge-patch+json"
            )
            assert code == 200
            # What leaves the selection is deleted as far as the client is concerned.
            assert await labelled.changes(3) == [
                ("ADDED", "web"), ("MODIFIED", "web"), ("DELETED", "web"),
            ]  # fmt: skip
            assert await unbound.changes(3) == [
                ("ADDED", "db"),
                ("ADDED", "web"),
                ("DELETED", "web"),
            ]

    run(test)


def test_another_namespace_is_not_told_of() -> None:
    async def test(client: Client) -> None:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
        await client.post("/api/v1/namespaces", namespace)
        async with client.watch("/api/v1/namespaces/other/pods") as watch:
            await client.post(POD_PATH, pod("here"))
            await client.post("/api/v1/namespaces/other/pods", pod("there"))
            assert await watch.changes(1) == [("ADDED", "there")]

    run(test)


def test_a_watch_of_forgotten_history_is_told_to_begin_anew() -> None:
    async def test(client: Client) -> None:
        version = client.cluster.store.version
        await client.post(POD_PATH, pod("a"))
        client.cluster.store.compact()
        async with client.watch(f"/api/v1/pods?resourceVersion={version}") as watch:
            told = await watch.next()
            assert told["type"] == "ERROR"
            assert (told["object"]["code"], told["object"]["reason"]) == (410, "Expired")
            assert told["object"]["message"].startswith("too old resource version: ")
            assert await watch.next() is None
        later = client.cluster.store.version + 1000
        async with client.watch(f"/api/v1/pods?resourceVersion={later}") as watch:
            assert (await watch.next())["object"]["code"] == 410  # another server's version

    run(test)


def test_a_watch_ends_when_its_time_is_over() -> None:
    async def test(client: Client) -> None:
        async with client.watch("/api/v1/pods?timeoutSeconds=1") as watch:
            assert await watch.next() is None

    run(test)


def test_a_table_says_once_what_its_columns_are() -> None:
    async def test(client: Client) -> None:
        table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
        async with client.watch(POD_PATH, accept=table) as watch:
            for name in ("a", "b"):
                await client.post(POD_PATH, pod(name))
            first, second = await watch.next(), await watch.next()
            assert first["object"]["columnDefinitions"][0]["name"] == "Name"
            assert second["object"]["columnDefinitions"] is None
            assert second["object"]["rows"][0]["cells"][:3] == ["b", "0/1", "Pending"]

    run(test)


def test_a_client_that_is_gone_costs_nothing_any_more() -> None:
    async def test(client: Client) -> None:
        async with client.watch("/api/v1/pods"):
            pass
        before = asyncio.all_tasks()
        async with client.watch("/api/v1/pods") as watch:
            await client.post(POD_PATH, pod("a"))
            await watch.changes(1)
        left = asyncio.all_tasks() - before
        if left:
            _, working = await asyncio.wait(left, timeout=PATIENCE)
            assert not working

    run(test)


def test_a_slow_watch_is_told_to_begin_anew_and_holds_nobody_up() -> None:
    count, size = 150, 100_000

    async def test(client: Client) -> None:
        cluster = client.cluster
        # A client that reads nothing, with little room for what is on the way.
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(slow, ("127.0.0.1", cluster.port))
            await loop.sock_sendall(
                slow, b"GET /api/v1/pods?watch=true HTTP/1.1\r\nhost: localhost\r\n\r\n"
            )
            async with client.watch("/api/v1/pods") as quick:
                for number in range(count):
                    big = pod(f"p{number:03}")
                    big["metadata"]["annotations"] = {"much": "x" * size}
                    await client.post(POD_PATH, big)
                    # The quick one hears of it at once, whatever the other one does.
                    assert await quick.changes(1) == [("ADDED", f"p{number:03}")]
            assert cluster.store.history(PODS).start > 0
            received = b""
            async with asyncio.timeout(PATIENCE):
                while piece := await loop.sock_recv(slow, 2**20):
                    received += piece
                    if b'"type":"ERROR"' in received[-2000:]:
                        break
        told = [line for line in received.split(b"\n") if line.startswith(b'{"type":')]
        assert 0 < len(told) < count
        last = json.loads(told[-1])
        assert (last["type"], last["object"]["code"]) == ("ERROR", 410)
        # What it was told before the gap is complete and in order.
        names = [json.loads(line)["object"]["metadata"]["name"] for line in told[:-1]]
        assert names == [f"p{number:03}" for number in range(len(names))]

    run(test, Options(kubelet=None, controllers=False, history=20))
