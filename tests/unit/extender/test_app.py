# ruff: noqa: ARG005 - a policy's function takes what it is given
from collections.abc import Iterator

import pytest

import mooring as mr
from mooring.extender.app import Routes
from mooring.version import __version__
from tests.unit.extender.app_requests import (
    BINDING,
    NAMES,
    VERBS,
    VICTIMS,
    errors,
    make_policy,
    sentence,
)
from tests.unit.extender.asgi import Body, Caller, extender
from tests.unit.extender.written_log import written_log


@pytest.fixture
def caller() -> Iterator[Caller]:
    with extender(make_policy()) as made:
        yield made


class TestRoutes:
    @pytest.mark.parametrize(
        ("routes", "path"),
        [
            ({}, "/filter"),
            ({}, "/predicates/check"),
            ({"prefix": "/scheduler"}, "/scheduler/filter"),
            ({"prefix": "/scheduler"}, "/scheduler/predicates/check"),
            ({"prefix": "/a/b", "predicates": "/c"}, "/a/b/c/check"),
            ({"prefix": "/scheduler", "predicates": ""}, "/scheduler/check"),
            ({"predicates": ""}, "/check"),
        ],
    )
    def test_filters(self, routes: dict[str, str], path: str) -> None:
        with extender(make_policy(), routes=Routes(**routes)) as caller:
            reply = caller.post(path, NAMES)
            assert reply.status == 200
            assert reply.json()["NodeNames"] == ["a", "b"]

    @pytest.mark.parametrize(
        ("routes", "path"),
        [
            ({}, "/prioritize"),
            ({}, "/priorities/rate"),
            ({"prefix": "/scheduler"}, "/scheduler/prioritize"),
            ({"prefix": "/scheduler"}, "/scheduler/priorities/rate"),
            (
                {"prefix": "/my_scheduler_extension", "priorities": "/my_new_priorities"},
                "/my_scheduler_extension/my_new_priorities/rate",
            ),
        ],
    )
    def test_scores(self, routes: dict[str, str], path: str) -> None:
        with extender(make_policy(), routes=Routes(**routes)) as caller:
            reply = caller.post(path, NAMES)
            assert reply.status == 200
            assert [one["Host"] for one in reply.json()] == ["a", "b"]

    @pytest.mark.parametrize("prefix", ["", "/scheduler"])
    def test_preempt_and_bind(self, prefix: str) -> None:
        with extender(make_policy(), routes=Routes(prefix=prefix)) as caller:
            for path in ("/preempt", "/preemption"):
                reply = caller.post(prefix + path, VICTIMS)
                assert list(reply.json()["NodeNameToMetaVictims"]) == ["a"]
            assert list(caller.post(f"{prefix}/bind", BINDING).json()) == ["Error"]

    def test_the_addresses_of_well_known_guides(self) -> None:
        policy = mr.Policy("guide")
        policy.filter(name="always_true")(lambda pod, node: True)
        policy.score(name="zero_score")(lambda pod, node: 0)
        policy.score(name="image_score")(lambda pod, node: 100)
        zero, best = ([{"Host": name, "Score": score} for name in "ab"] for score in (0, 10))
        with extender(policy, routes=Routes(prefix="/scheduler")) as caller:
            reply = caller.post("/scheduler/predicates/always_true", NAMES)
            assert reply.json()["NodeNames"] == ["a", "b"]
            assert caller.post("/scheduler/priorities/zero_score", NAMES).json() == zero
            reply = caller.post("/scheduler/preemption", VICTIMS)
            assert list(reply.json()["NodeNameToMetaVictims"]) == ["a"]
            assert list(caller.post("/scheduler/bind", BINDING).json()) == ["Error"]
            assert caller.get("/version").status == caller.get("/").status == 200
        routes = Routes(prefix="/my_scheduler_extension", priorities="/my_new_priorities")
        with extender(policy, routes=routes) as caller:
            path = "/my_scheduler_extension/my_new_priorities/image_score"
            assert caller.post(path, NAMES).json() == best

    def test_a_function_alone_is_asked_under_its_name(self) -> None:
        policy = mr.Policy("two")
        policy.filter(name="no")(lambda pod, node: False)
        policy.filter(name="yes")(lambda pod, node: True)
        policy.score(name="bad")(lambda pod, node: 0)
        policy.score(name="good")(lambda pod, node: 100)
        with extender(policy) as caller:
            assert caller.post("/predicates/yes", NAMES).json()["NodeNames"] == ["a", "b"]
            assert caller.post("/predicates/no", NAMES).json()["NodeNames"] == []
            assert caller.post("/filter", NAMES).json()["NodeNames"] == []
            assert caller.post("/priorities/good", NAMES).json()[0]["Score"] == 10
            assert caller.post("/prioritize", NAMES).json()[0]["Score"] == 5

    @pytest.mark.parametrize(
        ("path", "text"),
        [
            ("/", "Welcome to mine!\n"),
            ("/healthz", "ok"),
            ("/livez", "ok"),
            ("/readyz", "ok"),
        ],
    )
    def test_plain_pages(self, caller: Caller, path: str, text: str) -> None:
        reply = caller.get(path)
        assert (reply.status, reply.body.decode()) == (200, text)
        assert reply.headers["content-type"].startswith("text/plain")
        assert caller.send("HEAD", path).status == 200

    def test_version(self, caller: Caller) -> None:
        assert caller.get("/version").json() == {"version": __version__, "policy": "mine"}

    def test_metrics(self, caller: Caller) -> None:
        reply = caller.get("/metrics")
        assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert b"# TYPE mooring_extender_requests_total counter" in reply.body

    def test_the_policy_describes_itself(self) -> None:
        policy = make_policy()

        @policy.filter_nodes
        def all_at_once(pod: mr.Pod, nodes: mr.Nodes) -> list[bool]:
            """Decide all nodes.

            And more.
            """
            return [True] * len(nodes)

        with extender(policy, routes=Routes(prefix="/x", priorities="/p")) as caller:
            found = caller.get("/policy").json()
        functions = found.pop("functions")
        assert found == {
            "name": "mine",
            "description": "What the tests ask.",
            "usage": True,
            "nodeCache": False,
            "synced": True,
            "verbs": {
                "filter": "/x/filter",
                "prioritize": "/x/prioritize",
                "preempt": "/x/preempt",
                "bind": "/x/bind",
            },
        }
        assert functions == [
            {"name": "check", "hook": "filter", "doc": "", "path": "/x/predicates/check"},
            {
                "name": "all_at_once",
                "hook": "filter_nodes",
                "doc": "Decide all nodes.",
                "path": "/x/predicates/all_at_once",
            },
            {
                "name": "rate", "hook": "score", "doc": "", "path": "/x/p/rate",
                "weight": 1, "maxScore": 100,
            },
            {"name": "spare", "hook": "preempt", "doc": ""},
            {"name": "note", "hook": "bind", "doc": ""},
        ]  # fmt: skip


class TestWrongRequests:
    @pytest.mark.parametrize(
        "path", ["/nothing", "/filter/", "/filter/x", "/predicates", "/predicates/", "/a/b/c/d"]
    )
    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_unknown_paths(self, caller: Caller, method: str, path: str) -> None:
        reply = caller.send(method, path, b"{}")
        assert reply.status == 404
        assert reply.json() == {"error": f"{path} does not exist; GET /policy lists the endpoints"}

    def test_verbs_are_only_under_the_prefix(self) -> None:
        with extender(make_policy(), routes=Routes(prefix="/scheduler")) as caller:
            assert caller.post("/filter", NAMES).status == 404
            assert caller.get("/healthz").status == 200

    @pytest.mark.parametrize(
        ("path", "kind", "has"),
        [
            ("/predicates/nope", "filter", "check"),
            ("/predicates/rate", "filter", "check"),
            ("/priorities/check", "score", "rate"),
            ("/priorities/%F0%9F%98%80", "score", "rate"),
        ],
    )
    def test_unknown_functions(self, caller: Caller, path: str, kind: str, has: str) -> None:
        reply = caller.post(path, NAMES)
        assert reply.status == 404
        assert f"the policy has no {kind} function " in reply.json()["error"]
        assert reply.json()["error"].endswith(f"; it has {has}")

    def test_unknown_function_of_an_empty_policy(self) -> None:
        with extender(mr.Policy("empty")) as caller:
            assert caller.post("/predicates/x", NAMES).json()["error"].endswith("it has none")

    @pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])
    @pytest.mark.parametrize("path", ["/filter", "/bind", "/predicates/check"])
    def test_wrong_methods_of_verbs(self, caller: Caller, method: str, path: str) -> None:
        reply = caller.send(method, path)
        assert reply.status == 405
        assert reply.headers["allow"] == "POST"
        assert reply.json() == {"error": f"{method} is not allowed at {path}; use POST"}

    @pytest.mark.parametrize("path", ["/", "/version", "/policy", "/metrics", "/readyz"])
    def test_wrong_methods_of_pages(self, caller: Caller, path: str) -> None:
        reply = caller.post(path, b"{}")
        assert reply.status == 405
        assert "GET" in reply.headers["allow"]

    @pytest.mark.parametrize("verb", VERBS)
    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"{",
            b"null",
            b"[]",
            b'"text"',
            b"{}",
            b"\xff\xfe",
            b"NaN",
            b'{"Pod":1,"PodName":1}',
            b"[" * 100_000,
            b"1e999999",
            b'{"Pod":{"metadata":{"name":"\xff"}},"NodeNames":[],"PodName":"\xff"}',
        ],
    )
    def test_bad_bodies(
        self, caller: Caller, verb: str, body: bytes, caplog: pytest.LogCaptureFixture
    ) -> None:
        error = sentence(verb, caller.post(f"/{verb}", body))
        assert [record.getMessage() for record in caplog.records] == [f"{verb} rejected: {error}"]
        assert caplog.records[0].exc_info is None
        assert errors(caller, verb, "input") == 1
        code = "200" if verb in ("filter", "bind") else "400"
        assert caller.metric("mooring_extender_requests_total", verb=verb, code=code) == 1

    @pytest.mark.parametrize("verb", VERBS)
    def test_too_large_bodies(self, verb: str) -> None:
        with written_log() as messages, extender(make_policy(), max_body=1000) as caller:
            by_length = caller.send("POST", f"/{verb}", b"", {"Content-Length": "1001"})
            by_chunks = caller.post(f"/{verb}", Body([b"x" * 600, b"x" * 400, b"x"]))
            endless = caller.post(f"/{verb}", Body([b"x" * 1001], "silence"))
            for reply in (by_length, by_chunks, endless):
                assert reply.status == 413
                assert reply.headers["connection"] == "close"
                assert reply.json() == {
                    "error": "the request's body is larger than 1000 bytes; "
                    "raise --max-body or set nodeCacheCapable: true"
                }
            just_so = caller.post(f"/{verb}", Body([b"x" * 600, b"x" * 400]))
            assert "cannot be read" in sentence(verb, just_so)
            assert caller.metric("mooring_extender_requests_total", verb=verb, code="413") == 3
            assert errors(caller, verb, "input") == 4
        assert messages[1].startswith("3 more like this in the last ")

    def test_nonsense_lengths_are_left_to_the_body(self, caller: Caller) -> None:
        for length in ("x", "-5", ""):
            reply = caller.send("POST", "/filter", NAMES, {"Content-Length": length})
            assert reply.json()["NodeNames"] == ["a", "b"]

    @pytest.mark.parametrize("verb", VERBS)
    def test_slow_bodies(self, verb: str) -> None:
        with extender(make_policy(), timeout=0.01) as caller:
            reply = caller.post(f"/{verb}", Body([b'{"Pod"'], "silence"))
            assert reply.status == 408
            assert reply.headers["connection"] == "close"
            assert reply.json() == {
                "error": "the request's body did not arrive within the caller's timeout of 0.01s"
            }
            assert errors(caller, verb, "input") == 1

    def test_callers_that_hang_up(self, caller: Caller) -> None:
        reply = caller.post("/filter", Body([b'{"Pod"'], "gone"))
        assert "closed the connection" in sentence("filter", reply)
        assert errors(caller, "filter", "gone") == 1

    def test_bodies_in_many_pieces(self, caller: Caller) -> None:
        reply = caller.post("/filter", Body([bytes([byte]) for byte in NAMES]))
        assert reply.json()["NodeNames"] == ["a", "b"]
