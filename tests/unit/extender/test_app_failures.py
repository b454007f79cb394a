"""What callers are told when functions fail, hang or take too long."""

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
from mooring.testing import make_node, make_pod
from tests.unit.extender.app_requests import (
    BODIES,
    NAMES,
    VERBS,
    WEB,
    errors,
    fail,
    make_policy,
    sentence,
)
from tests.unit.extender.asgi import Caller, Reply, args, eventually, extender, send
from tests.unit.extender.written_log import written_log


@pytest.fixture
def caller() -> Iterator[Caller]:
    with extender(make_policy()) as made:
        yield made


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

    def test_each_kind_of_failure_of_a_function_is_logged_in_full_once(self) -> None:
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
        with written_log() as messages, extender(policy) as caller:
            while failures:
                sentence("prioritize", caller.post("/prioritize", NAMES))
                failures.pop(0)
        full = [one for one in messages if "more like this" not in one]
        assert [message.partition("'rate' ")[2].split(";")[0] for message in full] == [
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

    def test_the_same_failure_is_of_one_kind_for_all_pods(self) -> None:
        with written_log() as messages, extender(make_policy(fail)) as caller:
            for name in ("one", "two", "n" * 5000):
                sentence("filter", caller.post("/filter", args(make_pod(name), names=["a"])))
        line, others = messages
        assert line.startswith("filter for pod default/one: filter 'check' failed on node a: ")
        assert others.startswith("2 more like this in the last 0s, the latest: filter for pod ")

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
            assert error == "internal error; see the log of mooring for details"
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
        assert replies[0].json() == {"error": "internal error; see the log of mooring for details"}
        assert "GET /metrics failed: internal error" in caplog.text


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
            assert caplog.messages == [f"{verb} took 4.10s, near the caller's timeout of 5s"]
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
                r"the request waited 2.5s for its turn behind filter 'check' on node a "
                r"\(pod default/web, at test_app_failures.py:\d+\), "
                r"too long for the caller's timeout of 2s",
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
                    b"filter 'check' on node a has not returned 1s after the decision began "
                    b"and cannot be interrupted"
                )
                assert (await send(caller.app, "GET", "/healthz")).status == 200
                rejected = await send(caller.app, "POST", "/prioritize", NAMES)
                assert "no request can be processed" in sentence("prioritize", rejected, 503)
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
