"""Several extenders in one decision: kube-scheduler's rules, one by one."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest
from aiohttp import web

from mooring.extender.client import ExtenderError, FilteredNodes
from mooring.framework.binding import Binding
from mooring.framework.filtering import Candidate
from mooring.framework.verdict import reject
from mooring.model.pod import Pod
from mooring.testing import make_node, make_pod
from tests.unit.extender.fake_extender import FakeExtender, clients, fake_extender, settings, status

POD = make_pod("web")
BINDING = Binding(namespace="default", name="web", uid=POD.uid, node_name="a")
NODES = [make_node(name) for name in "abcd"]
GPU = {"managedResources": [{"name": "example.com/gpu"}]}
SILENT = reject("", unresolvable=True)


def one(fake: FakeExtender, place: str, **fields: Any) -> Any:
    """An extender at a place of the fake, with every verb and a node cache."""
    verbs = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "preemptVerb": "preempt"}
    defaults = {**verbs, "weight": 1, "nodeCacheCapable": True}
    return settings(f"{fake.url}/{place}", **{**defaults, **fields})


def keep(names: str, **more: Any) -> dict[str, Any]:
    return {"NodeNames": list(names), **more}


class TestFilter:
    def test_each_is_asked_about_what_the_one_before_left(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/1/filter"] = keep("abc", FailedNodes={"d": "full"})
                fake.replies["/2/filter"] = keep("ca", FailedAndUnresolvableNodes={"b": "old"})
                async with clients(one(fake, "1"), one(fake, "2")) as found:
                    assert await found.filter(POD, NODES) == FilteredNodes(
                        ["c", "a"], {"d": reject("full"), "b": reject("old", unresolvable=True)}
                    )
                assert [body["NodeNames"] for _, body in fake.asked] == [
                    ["a", "b", "c", "d"],
                    ["a", "b", "c"],
                ]

        asyncio.run(main())

    def test_nobody_is_asked_about_nothing(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/1/filter"] = keep("", FailedNodes=dict.fromkeys("abcd", "no"))
                async with clients(one(fake, "1"), one(fake, "2")) as found:
                    kept, rejections = await found.filter(POD, NODES)
                    assert kept == []
                    assert rejections == dict.fromkeys("abcd", reject("no"))
                    assert await found.filter(POD, []) == FilteredNodes([], {})
                assert fake.paths == ["/1/filter"]

        asyncio.run(main())

    def test_a_node_that_is_dropped_without_a_word(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/1/filter"] = keep("abc")
                fake.replies["/2/filter"] = keep("a", FailedNodes={"b": "x"})
                async with clients(one(fake, "1"), one(fake, "2")) as found:
                    assert await found.filter(POD, NODES) == FilteredNodes(
                        ["a"], {"d": SILENT, "c": SILENT, "b": reject("x")}
                    )
                assert SILENT.reasons == ()

        asyncio.run(main())

    def test_contradictions(self) -> None:
        """Unresolvable wins within a reply, the later extender between replies."""

        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/1/filter"] = {
                    "NodeNames": ["a", "b", "a"],
                    "FailedNodes": {"a": "kept anyway", "b": "later", "c": "full", "z": "who?"},
                    "FailedAndUnresolvableNodes": {"c": "dedicated", "d": "old"},
                }
                fake.replies["/2/filter"] = keep("a", FailedNodes={"d": "younger"})
                async with clients(one(fake, "1"), one(fake, "2")) as found:
                    kept, rejections = await found.filter(POD, NODES)
                    assert kept == ["a"]
                    assert rejections == {
                        "b": reject("later"),
                        "c": reject("dedicated", unresolvable=True),
                        "d": reject("younger"),
                    }

        asyncio.run(main())

    def test_only_those_that_filter_and_are_interested(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/2/filter"] = keep("ab")
                everyone = (one(fake, "1", filterVerb=""), one(fake, "2", **GPU))
                async with clients(*everyone) as found:
                    assert found.has_filters
                    assert found.interested(POD)
                    assert (await found.filter(POD, NODES)).kept == ["a", "b", "c", "d"]
                    pod = make_pod("gpu", requests={"example.com/gpu": "1"})
                    assert (await found.filter(pod, NODES)).kept == ["a", "b"]
                assert fake.paths == ["/2/filter"]

        asyncio.run(main())

    def test_those_that_may_fail_come_last_and_are_passed_over(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/sure/filter"] = keep("ab")
                fake.replies["/lame/filter"] = status(500)
                fake.replies["/wrong/filter"] = keep("az")
                fake.replies["/said/filter"] = keep("a", Error="no idea")
                lame = [one(fake, name, ignorable=True) for name in ("lame", "wrong", "said")]
                async with clients(lame[0], one(fake, "sure"), *lame[1:]) as found:
                    for _ in range(2):
                        assert await found.filter(POD, NODES) == FilteredNodes(
                            ["a", "b"], {"c": SILENT, "d": SILENT}
                        )
                    fake.replies["/lame/filter"] = keep("b")
                    assert (await found.filter(POD, NODES)).kept == ["b"]
                assert fake.paths[:4] == [
                    "/sure/filter", "/lame/filter", "/wrong/filter", "/said/filter",
                ]  # fmt: skip

        with caplog.at_level(logging.INFO):
            asyncio.run(main())
        texts = [record.getMessage() for record in caplog.records]
        assert len(texts) == 4, "each is told once, and that one is well again"
        assert all("it is ignorable and is skipped" in text for text in texts[:3])
        assert texts[3].endswith("/lame is answering filter again")

    @pytest.mark.parametrize(
        "reply", [status(500), keep("az"), keep("a", Error="no idea"), b"no JSON"]
    )
    def test_another_failure_ends_the_attempt(self, reply: Any) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/1/filter"] = reply
                async with clients(one(fake, "1"), one(fake, "2")) as found:
                    with pytest.raises(ExtenderError, match=rf"extender.*{fake.url}/1"):
                        await found.filter(POD, NODES)
                assert fake.paths == ["/1/filter"]

        asyncio.run(main())

    def test_whole_nodes_without_a_node_cache(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/1/filter"] = {"Nodes": {"items": [NODES[2].raw, NODES[0].raw]}}
                async with clients(one(fake, "1", nodeCacheCapable=False)) as found:
                    assert (await found.filter(POD, NODES)).kept == ["c", "a"]
                _, body = fake.asked[0]
                assert body["NodeNames"] is None
                assert body["Nodes"] == {"metadata": {}, "items": [node.raw for node in NODES]}
                assert body["Pod"] == POD.raw

        asyncio.run(main())


class TestPrioritize:
    def test_scores_are_weighted_and_added(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/1/prioritize"] = scores(a=10, b=3)
                fake.replies["/2/prioritize"] = [*scores(b=1, z=9), *scores(b=1)]
                both = (one(fake, "1", weight=5), one(fake, "2", weight=2))
                async with clients(*both, one(fake, "3", prioritizeVerb="", weight=9)) as found:
                    assert found.has_scores
                    assert await found.prioritize(POD, NODES) == {"a": 500, "b": 190}
                assert sorted(fake.paths) == ["/1/prioritize", "/2/prioritize"]

        asyncio.run(main())

    def test_all_are_asked_at_the_same_time(self) -> None:
        async def main() -> None:
            arrived: set[str] = set()
            everybody = asyncio.Event()

            async def wait(request: web.Request) -> web.StreamResponse:
                arrived.add(request.path)
                if len(arrived) == 3:
                    everybody.set()
                await everybody.wait()
                return web.json_response(scores(a=1))

            async with fake_extender() as fake:
                places = ("1", "2", "3")
                fake.replies = {f"/{place}/prioritize": wait for place in places}
                async with clients(*(one(fake, place) for place in places)) as found:
                    assert await found.prioritize(POD, NODES) == {"a": 30}

        asyncio.run(main())

    def test_failures_do_not_count(self, caplog: pytest.LogCaptureFixture) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/1/prioritize"] = status(500)
                fake.replies["/2/prioritize"] = b'[{"Host":"a","Score":7.5}]'
                fake.replies["/3/prioritize"] = scores(a=4)
                async with clients(*(one(fake, place) for place in "123")) as found:
                    for _ in range(3):
                        assert await found.prioritize(POD, NODES) == {"a": 40}

        asyncio.run(main())
        assert len(caplog.records) == 2
        assert all("its scores are ignored" in one.getMessage() for one in caplog.records)

    def test_numbers_wrap_as_in_go(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/1/prioritize"] = scores(a=2**63 - 1, b=-7)
                async with clients(one(fake, "1", weight=3)) as found:
                    assert await found.prioritize(POD, NODES) == {"a": -30, "b": -210}

        asyncio.run(main())

    def test_only_those_that_are_interested(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake, clients(one(fake, "1", **GPU)) as found:
                assert not found.interested(POD)
                assert await found.prioritize(POD, NODES) == {}
                assert fake.paths == []

        asyncio.run(main())


def scores(**by_node: int) -> list[dict[str, Any]]:
    return [{"Host": name, "Score": score} for name, score in by_node.items()]


LOW = [make_pod(f"low-{number}", node="a") for number in range(3)]
ELSEWHERE = make_pod("other", node="b")
CANDIDATES = {
    "a": Candidate("a", (LOW[0], LOW[1]), 1),
    "b": Candidate("b", (ELSEWHERE,)),
}


def victims(**by_node: Sequence[Pod]) -> dict[str, Any]:
    return {
        "NodeNameToMetaVictims": {
            node: {"Pods": [{"UID": pod.uid} for pod in pods], "NumPDBViolations": len(pods)}
            for node, pods in by_node.items()
        }
    }


BUSY = {
    "a": make_node("a", pods=LOW),
    "b": make_node("b", pods=[ELSEWHERE]),
    "c": make_node("c", pods=[]),
}


class TestPreempt:
    def test_nodes_and_victims_are_dropped_one_extender_after_the_other(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/1/preempt"] = victims(b=[ELSEWHERE], a=[LOW[1]])
                fake.replies["/2/preempt"] = victims(a=[LOW[1]])
                async with clients(one(fake, "1"), one(fake, "2")) as found:
                    assert found.has_preempts
                    left = await found.preempt(POD, CANDIDATES)
                    assert left == {"a": Candidate("a", (LOW[1],), 1)}
                first, second = (body["NodeNameToMetaVictims"] for _, body in fake.asked)
                assert list(first) == ["a", "b"]
                assert first["a"] == {
                    "Pods": [{"UID": LOW[0].uid}, {"UID": LOW[1].uid}],
                    "NumPDBViolations": 1,
                }
                assert second == victims(a=[LOW[1]], b=[ELSEWHERE])["NodeNameToMetaVictims"]

        asyncio.run(main())

    def test_whole_victims_without_a_node_cache(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/1/preempt"] = victims(b=[ELSEWHERE])
                async with clients(one(fake, "1", nodeCacheCapable=False)) as found:
                    assert list(await found.preempt(POD, CANDIDATES)) == ["b"]
                _, body = fake.asked[0]
                assert body["NodeNameToMetaVictims"] is None
                assert body["NodeNameToVictims"]["b"]["Pods"] == [ELSEWHERE.raw]

        asyncio.run(main())

    def test_other_pods_of_a_node_may_be_named(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/1/preempt"] = victims(a=[LOW[2], LOW[0]])
                async with clients(one(fake, "1")) as found:
                    left = await found.preempt(POD, CANDIDATES, BUSY)
                    assert left == {"a": Candidate("a", (LOW[2], LOW[0]), 2)}
                    with pytest.raises(ExtenderError, match="but the pod is not found on that"):
                        await found.preempt(POD, CANDIDATES)

        asyncio.run(main())

    @pytest.mark.parametrize(
        ("reply", "said"),
        [
            (victims(a=[]), 'expected at least one victim pod on node "a"'),
            ({"NodeNameToMetaVictims": {"a": None}}, "expected at least one victim pod"),
            (victims(z=[LOW[0]]), 'names a node "z" for preemption that is not known'),
            (victims(b=[LOW[0]]), f"claims to preempt pod (UID: {LOW[0].uid}) on node: b"),
            (b"[]", "an invalid body"),
        ],
    )
    def test_replies_that_cannot_be(self, reply: Any, said: str) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/1/preempt"] = reply
                async with clients(one(fake, "1")) as found:
                    with pytest.raises(ExtenderError) as raised:
                        await found.preempt(POD, CANDIDATES, BUSY)
                    assert said in str(raised.value)
                    assert f"{fake.url}/1" in str(raised.value)

        asyncio.run(main())

    def test_one_that_is_ignorable(self) -> None:
        async def main() -> None:
            async with (
                fake_extender() as fake,
                clients(one(fake, "1", ignorable=True)) as found,
            ):
                fake.replies["/1/preempt"] = victims(b=[LOW[0]])
                assert await found.preempt(POD, CANDIDATES, BUSY) == CANDIDATES
                fake.replies["/1/preempt"] = victims(a=[], b=[ELSEWHERE])
                left = await found.preempt(POD, CANDIDATES, BUSY)
                assert left == {"b": Candidate("b", (ELSEWHERE,), 1)}

        asyncio.run(main())

    def test_nobody_is_asked_about_nothing(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/1/preempt"] = {}
                async with clients(one(fake, "1"), one(fake, "2")) as found:
                    assert await found.preempt(POD, CANDIDATES) == {}
                    assert await found.preempt(POD, {}) == {}
                assert fake.paths == ["/1/preempt"]
                async with clients(one(fake, "1", preemptVerb=""), one(fake, "2", **GPU)) as found:
                    assert await found.preempt(POD, CANDIDATES) == CANDIDATES

        asyncio.run(main())


class TestBind:
    def test_the_first_that_is_interested_binds(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/2/bind"] = {"Error": ""}
                async with clients(one(fake, "0"), one(fake, "1", bindVerb="bind", **GPU)) as found:
                    assert found.binder(POD) is None
                    assert not await found.bind(POD, BINDING)
                async with clients(one(fake, "2", bindVerb="bind")) as found:
                    assert found.binder(POD) is not None
                    assert await found.bind(POD, BINDING)
                assert fake.asked == [
                    (
                        "/2/bind",
                        {
                            "PodName": "web",
                            "PodNamespace": "default",
                            "PodUID": POD.uid,
                            "Node": "a",
                        },
                    )
                ]

        asyncio.run(main())

    def test_a_failure(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/1/bind"] = {"Error": "pod is gone"}
                async with clients(one(fake, "1", bindVerb="bind")) as found:
                    with pytest.raises(ExtenderError) as raised:
                        await found.bind(POD, BINDING)
                    assert str(raised.value) == f"extender {fake.url}/1 failed bind: pod is gone"
                async with clients(one(fake, "1", bindVerb="bind", ignorable=True)) as found:
                    assert not await found.bind(POD, BINDING), "plugins have to bind it"

        asyncio.run(main())


def test_no_extenders() -> None:
    async def main() -> None:
        async with clients() as found:
            assert len(found) == 0
            assert not any((found.has_filters, found.has_scores, found.has_preempts))
            assert await found.filter(POD, NODES) == FilteredNodes(list("abcd"), {})
            assert await found.prioritize(POD, NODES) == {}
            assert await found.preempt(POD, CANDIDATES) == CANDIDATES
            assert not await found.bind(POD, BINDING)

    asyncio.run(main())
