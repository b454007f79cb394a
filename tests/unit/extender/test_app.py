# ruff: noqa: ARG005 - a policy's function takes what it is given
import asyncio
import json
import logging
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

import mooring as mr
from mooring.extender.app import Routes
from mooring.testing import make_node, make_pod
from mooring.version import __version__
from tests.unit.extender.asgi import Body, Caller, Reply, args, compact, eventually, extender, send

WEB = make_pod("web")
NAMES = args(WEB, names=["a", "b"])
VICTIMS = compact(
    {
        "Pod": WEB.raw,
        "NodeNameToVictims": {"a": {"Pods": [make_pod("low").raw], "NumPDBViolations": 0}},
        "NodeNameToMetaVictims": None,
    }
)
BINDING = compact({"PodName": "web", "PodNamespace": "default", "PodUID": "u", "Node": "a"})
BODIES = {"filter": NAMES, "prioritize": NAMES, "preempt": VICTIMS, "bind": BINDING}
VERBS = list(BODIES)


def fail(*_: object) -> Any:
    raise ValueError("the disk is gone")


def make_policy(function: Any = lambda *_: None) -> mr.Policy:
    """A policy that calls one function at every point."""
    policy = mr.Policy("mine", description="What the tests ask.")
    policy.filter(name="check")(function)
    policy.score(name="rate")(lambda pod, node: function(pod, node) or 0)
    policy.preempt(name="spare")(lambda pod, node, victims: function(pod, node))
    policy.bind(name="note")(function)
    return policy


@pytest.fixture
def caller() -> Iterator[Caller]:
    with extender(make_policy()) as made:
        yield made


def sentence(verb: str, reply: Reply, status: int = 400) -> str:
    """The error in a reply, which must be of the verb's own form."""
    assert reply.headers["content-type"] == "application/json"
    found = reply.json()
    if verb in ("filter", "bind"):
        assert reply.status == 200
        error = found.pop("Error")
        nothing = ["Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes"]
        assert found == (dict.fromkeys(nothing) if verb == "filter" else {})
    else:
        assert reply.status == status
        error = found.pop("error")
        assert found == {}
    assert isinstance(error, str)
    assert error
    assert "Traceback" not in error
    return error


def errors(caller: Caller, verb: str, kind: str) -> float:
    return caller.metric("mooring_extender_errors_total", verb=verb, kind=kind)


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
        assert reply.json() == {
            "error": f"there is nothing at {path}; GET /policy lists the endpoints"
        }

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
    def test_too_large_bodies(self, verb: str, caplog: pytest.LogCaptureFixture) -> None:
        with extender(make_policy(), max_body=1000) as caller:
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
        assert len(caplog.records) == 1  # the others are counted

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
                "error": "the request's body did not arrive within the caller's timeout of 0.01 s"
            }
            assert errors(caller, verb, "input") == 1

    def test_callers_that_hang_up(self, caller: Caller) -> None:
        reply = caller.post("/filter", Body([b'{"Pod"'], "gone"))
        assert "hung up" in sentence("filter", reply)
        assert errors(caller, "filter", "gone") == 1

    def test_bodies_in_many_pieces(self, caller: Caller) -> None:
        reply = caller.post("/filter", Body([bytes([byte]) for byte in NAMES]))
        assert reply.json()["NodeNames"] == ["a", "b"]


class TestBrokenPolicies:
    FUNCTIONS: ClassVar = {
        "filter": "filter 'check' failed on node a: ",
        "prioritize": "score 'rate' failed on node a: ",
        "preempt": "preempt 'spare' failed on node a: ",
        "bind": "bind 'note' failed on node a: ",
    }

    @pytest.mark.parametrize("verb", VERBS)
    def test_a_function_that_raises(self, verb: str, caplog: pytest.LogCaptureFixture) -> None:
        with extender(make_policy(fail)) as caller:
            error = sentence(verb, caller.post(f"/{verb}", BODIES[verb]))
            assert error == self.FUNCTIONS[verb] + "ValueError: the disk is gone"
            (record,) = caplog.records
            assert record.levelno == logging.ERROR
            assert record.getMessage() == f"{verb} for pod default/web: {error}"
            assert record.exc_info is not None
            assert isinstance(record.exc_info[1], ValueError)
            assert 'raise ValueError("the disk is gone")' in caplog.text
            assert errors(caller, verb, "policy") == 1
            assert errors(caller, verb, "input") == 0
            assert caller.metric("mooring_policy_function_errors_total") == 1

    def test_each_kind_of_failure_of_a_function_is_logged_in_full_once(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        class OddError(Exception):
            def __str__(self) -> str:
                return "odd"

        class StrangeError(OddError):
            pass

        class Word(str):
            __slots__ = ()

            def __repr__(self) -> str:
                return str(self)

        failures = [
            ValueError("1"), ValueError("2"), SystemExit(3), KeyboardInterrupt(), SystemExit(4),
            OddError(), StrangeError(), OddError(), float("nan"), "text", "other text",
            float("nan"), -1, None, Word("web"), Word("db"),
        ]  # fmt: skip

        def rate(pod: mr.Pod, node: mr.Node) -> Any:
            failure = failures[0]
            if isinstance(failure, BaseException):
                raise failure
            return failure

        policy = mr.Policy("mine")
        policy.score(name="rate")(rate)
        with extender(policy) as caller:
            while failures:
                sentence("prioritize", caller.post("/prioritize", NAMES))
                failures.pop(0)
        assert [message.partition("'rate' ")[2].split(";")[0] for message in caplog.messages] == [
            "failed on node a: ValueError: 1",
            "failed on node a: it tried to end the process (SystemExit: 3)",
            "failed on node a: KeyboardInterrupt",
            "failed on node a: OddError: odd",
            "failed on node a: StrangeError: odd",
            "returned nan for node a",
            "returned 'text' for node a",
            "returned -1 for node a",
            "returned None for node a",
            "returned web for node a",
        ]

    def test_the_same_failure_is_of_one_kind_for_all_pods(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        with extender(make_policy(fail)) as caller:
            for name in ("one", "two", "n" * 5000):
                sentence("filter", caller.post("/filter", args(make_pod(name), names=["a"])))
        (line,) = caplog.messages
        assert line.startswith("filter for pod default/one: filter 'check' failed on node a: ")

    def test_a_name_without_end_is_cut_in_the_log(self, caplog: pytest.LogCaptureFixture) -> None:
        with extender(make_policy(fail)) as caller:
            caller.post("/filter", args(make_pod("n" * 5000), names=["a"]))
        assert len(caplog.messages[0]) < 1500

    @pytest.mark.parametrize("verb", VERBS)
    def test_a_function_that_returns_nonsense(self, verb: str) -> None:
        with extender(make_policy(lambda *_: object())) as caller:
            error = sentence(verb, caller.post(f"/{verb}", BODIES[verb]))
            assert "returned <object object" in error
            assert errors(caller, verb, "policy") == 1

    @pytest.mark.parametrize("verb", VERBS)
    def test_a_function_that_exits(self, verb: str) -> None:
        with extender(make_policy(lambda *_: sys.exit(1))) as caller:
            for _ in range(2):
                assert "it tried to end the process" in sentence(
                    verb, caller.post(f"/{verb}", BODIES[verb])
                )
            assert errors(caller, verb, "policy") == 2

    def test_a_broken_function_does_not_harm_others(self) -> None:
        policy = make_policy(fail)
        policy.filter(name="fine")(lambda pod, node: True)
        with extender(policy) as caller:
            assert caller.post("/predicates/check", NAMES).json()["Error"]
            assert caller.post("/predicates/fine", NAMES).json()["NodeNames"] == ["a", "b"]

    @pytest.mark.parametrize("verb", VERBS)
    def test_a_fault_of_our_own(
        self, verb: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        with extender(make_policy()) as caller:
            name = "binding" if verb == "bind" else verb
            monkeypatch.setattr(caller.service.answers, name, fail)
            error = sentence(verb, caller.post(f"/{verb}", BODIES[verb]))
            assert error == "mooring failed on this request; its log has the details"
            assert "the disk is gone" in caplog.text
            assert errors(caller, verb, "internal") == 1
            monkeypatch.undo()
            assert caller.post(f"/{verb}", BODIES[verb]).status == 200

    def test_a_fault_of_a_page(
        self, caller: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        replies = []

        async def page() -> None:
            async def app(scope: Any, receive: Any, send: Any) -> None:
                with pytest.raises(ValueError, match="disk"):  # for the server's own log
                    await caller.app(scope, receive, send)

            replies.append(await send(app, "GET", "/metrics"))

        monkeypatch.setattr(caller.service, "update_gauges", fail)
        caller.runner.run(page())
        assert replies[0].status == 500
        assert replies[0].json() == {
            "error": "mooring failed on this request; its log has the details"
        }
        assert "GET /metrics failed inside mooring" in caplog.text


@dataclass
class Clock:
    """Time as the service and the application see it."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now

    perf_counter = monotonic


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("mooring.extender.app.time", made)
    monkeypatch.setattr("mooring.extender.service.time", made)
    return made


class TestTime:
    @pytest.mark.parametrize("verb", VERBS)
    def test_near_the_timeout_there_is_a_warning(
        self, verb: str, clock: Clock, caplog: pytest.LogCaptureFixture
    ) -> None:
        takes = 3.9

        def dawdle(*_: object) -> None:
            clock.now += takes

        body = args(WEB, names=["a"]) if verb in ("filter", "prioritize") else BODIES[verb]
        with extender(make_policy(dawdle)) as caller:
            caller.post(f"/{verb}", body)
            assert caplog.records == []
            assert caller.metric("mooring_extender_slow_requests_total") == 0
            takes = 4.1
            caller.post(f"/{verb}", body)
            assert caplog.messages == [f"{verb} took 4.10 s, near the caller's timeout of 5 s"]
            assert caller.metric("mooring_extender_slow_requests_total", verb=verb) == 1
            total = caller.metric("mooring_extender_request_duration_seconds_sum", verb=verb)
            assert total == pytest.approx(8.0)

    @pytest.mark.parametrize("verb", VERBS)
    def test_what_waited_too_long_is_not_asked(
        self, verb: str, clock: Clock, caplog: pytest.LogCaptureFixture
    ) -> None:
        started, go_on = threading.Event(), threading.Event()
        asked = []

        def check(pod: object, *_: object) -> None:
            asked.append(pod)
            started.set()
            go_on.wait(20)

        with extender(make_policy(check), timeout=2) as caller:

            async def main() -> Reply:
                first = asyncio.create_task(send(caller.app, "POST", "/filter", NAMES))
                await asyncio.to_thread(started.wait, 20)
                second = asyncio.create_task(send(caller.app, "POST", f"/{verb}", BODIES[verb]))
                await eventually(lambda: caller.service.turns.waiting == 2)
                clock.now = 2.5
                reply = await second  # although the first has not returned
                go_on.set()
                assert "has not returned" in sentence("filter", await first)
                return reply

            error = sentence(verb, caller.runner.run(main()), 503)
            assert re.fullmatch(
                r"the request waited 2.5 s for its turn behind filter 'check' on node a "
                r"\(pod default/web, at test_app.py:\d+\), "
                r"too long for the caller's timeout of 2 s",
                error,
            )
            caller.runner.run(caller.service.decide(lambda: None))
            assert len(asked) == 2  # both by the first request
            assert errors(caller, verb, "late") == 1
            assert f"{verb} failed: {error}" in caplog.messages

    def test_a_function_that_does_not_return_turns_livez_red(
        self, clock: Clock, caplog: pytest.LogCaptureFixture
    ) -> None:
        started, go_on = threading.Event(), threading.Event()

        def check(*_: object) -> None:
            started.set()
            go_on.wait(20)

        with extender(make_policy(check), timeout=1) as caller:

            async def main() -> list[int]:
                stuck = asyncio.create_task(send(caller.app, "POST", "/filter", NAMES))
                await asyncio.to_thread(started.wait, 20)
                statuses = []
                for now in (0.9, 1.1):
                    clock.now = now
                    caller.service.turns.check_timeouts()
                    for path in ("/livez", "/readyz"):
                        reply = await send(caller.app, "GET", path)
                        statuses.append(reply.status)
                assert reply.body == (
                    b"filter 'check' on node a has not returned 1 s after the decision began "
                    b"and cannot be interrupted"
                )
                assert (await send(caller.app, "GET", "/healthz")).status == 200
                rejected = await send(caller.app, "POST", "/prioritize", NAMES)
                assert "nothing can be decided" in sentence("prioritize", rejected, 503)
                go_on.set()
                await stuck
                await eventually(lambda: not caller.service.stuck())
                statuses.append((await send(caller.app, "GET", "/livez")).status)
                return statuses

            assert caller.runner.run(main()) == [200, 200, 503, 503, 200]
            assert errors(caller, "prioritize", "stuck") == 1
            assert "filter 'check' on node a (pod default/web" in caplog.text
            assert "cannot be interrupted; /livez fails" in caplog.text

    def test_readyz_turns_red_when_stopping(self, caller: Caller) -> None:
        caller.service.draining = True
        reply = caller.get("/readyz")
        assert (reply.status, reply.body) == (503, b"shutting down")
        assert caller.post("/filter", NAMES).json()["NodeNames"] == ["a", "b"]
        assert caller.get("/livez").status == 200


def test_decisions_are_made_one_after_the_other_on_one_thread() -> None:
    inside = threading.Lock()
    threads, pods = set(), []

    def check(pod: mr.Pod, *_: object) -> None:
        assert inside.acquire(blocking=False), "two decisions at a time"
        threads.add(threading.current_thread().name)
        pods.append(pod.name)
        json.dumps(list(range(1000)))
        inside.release()

    with extender(make_policy(check)) as caller:

        async def main() -> list[Reply]:
            return await asyncio.gather(
                *(
                    send(caller.app, "POST", verb, args(make_pod(f"p{n}"), [make_node("a")]))
                    for n in range(20)
                    for verb in ("/filter", "/prioritize", "/predicates/check")
                )
            )

        replies = caller.runner.run(main())
    assert all(reply.status == 200 for reply in replies)
    assert threads == {"decide"}
    assert pods == [f"p{n}" for n in range(20) for _ in range(3)]
