"""A right extender passes, and each planted fault is found by its own check and by no other."""

import asyncio
import gzip
from typing import Any

import msgspec
import pytest

from mooring.config.types import Extender, ExtenderManagedResource
from mooring.deploy.extender_test import latency_checks
from mooring.deploy.extender_test.bind_checks import RealBinding
from mooring.deploy.extender_test.checks import CHECKS, Severity
from mooring.deploy.extender_test.conformance import ConformancePlan, run_conformance
from mooring.deploy.extender_test.findings import VERBS, ExtenderReport, LatencyRow, Verb
from mooring.model.duration import Duration
from tests.unit.deploy.extender_test.faults import FAULTS
from tests.unit.deploy.extender_test.wrong_extender import Answered, Fault, serving


def _settings(url: str, *verbs: str, **more: Any) -> Extender:
    fields: dict[str, Any] = {f"{verb}_verb": verb for verb in verbs or VERBS}
    return Extender(url_prefix=url, weight=1, **fields, **more)


def _run(fault: Fault | None, **plan: Any) -> ExtenderReport:
    async def run() -> ExtenderReport:
        async with serving(fault) as extender:
            verbs = [fault.verb] if fault is not None else list(VERBS)
            names = fault is None or fault.mode == "names"
            seconds = fault.seconds if fault is not None else 30.0
            settings = _settings(
                extender.url,
                *verbs,
                node_cache_capable=names,
                http_timeout=Duration(round(seconds * 1e9)),
            )
            usual = {"modes": ("names" if names else "whole",), "sizes": (10, 40), "requests": 2}
            return await run_conformance(
                ConformancePlan(**{"settings": settings, "huge": 1 << 16, **usual, **plan})
            )

    return asyncio.run(run())


def _failed(report: ExtenderReport) -> set[str]:
    return {one.check for one in report.failures}


@pytest.mark.parametrize("mode", ["names", "whole"])
def test_a_right_extender_passes_every_check(mode: str) -> None:
    report = _run(None, modes=(mode,))
    assert report.failures == []
    assert report.reachable
    assert report.conforms
    skipped = [one for one in report.findings if one.outcome == "skipped"]
    assert [one.check for one in skipped] == ["bind-binds"]


def test_every_check_is_made_of_a_right_extender() -> None:
    made = {one.check for mode in ("names", "whole") for one in _run(None, modes=(mode,)).findings}
    # These need TLS.
    assert set(CHECKS) - made == {"speaks-tls", "tls"}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_by_its_own_check_alone(name: str) -> None:
    fault = FAULTS[name]
    report = _run(fault, **fault.plan)
    assert _failed(report) == fault.checks
    for one in report.failures:
        assert all((one.sent, one.came, one.kube_scheduler, one.advice))
    hints = all(CHECKS[one].severity is Severity.HINT for one in fault.checks)
    assert hints or not report.conforms


def test_every_check_has_a_planted_fault() -> None:
    found = {check for fault in FAULTS.values() for check in fault.checks}
    # The others have tests of their own.
    assert set(CHECKS) - found == {
        "reachable", "speaks-tls", "tls", "bind-binds", "latency-margin"
    }  # fmt: skip


def test_an_answer_is_read_as_go_reads_it() -> None:
    def odd(_: dict[str, Any], value: Any) -> Any:
        return {key.upper(): found for key, found in value.items() if found}

    assert _failed(_run(Fault(verb="filter", checks=set(), change=odd))) == set()


def test_a_packed_answer_is_unpacked() -> None:
    def pack(found: Answered) -> Answered:
        return Answered(gzip.compress(found.body), 200, ("Content-Encoding: gzip",))

    assert _failed(_run(Fault(verb="filter", checks=set(), send=pack))) == set()


def test_nothing_breaks_where_kube_scheduler_goes_on_without_the_extender() -> None:
    fault = FAULTS["status-201"]

    async def run() -> ExtenderReport:
        async with serving(fault) as extender:
            settings = _settings(extender.url, "filter", ignorable=True)
            return await run_conformance(ConformancePlan(settings=settings, modes=("whole",)))

    (failure,) = asyncio.run(run()).failures
    assert failure.severity is Severity.COSTS
    assert "without this extender (ignorable)" in failure.kube_scheduler


def test_slow_answers_are_a_hint_before_they_are_too_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    async def measure(*_: object) -> LatencyRow:
        return LatencyRow(
            verb="filter", mode="names", nodes=10, requests=1, failed=0, request_bytes=1,
            p50=1.0, p90=1.0, p99=16_000.0, max=16_000.0,
        )  # fmt: skip

    monkeypatch.setattr(latency_checks, "measure", measure)
    report = _run(Fault(verb="filter", checks=set()))
    assert _failed(report) == {"latency-margin"}
    assert report.failures[0].came == "99 % of the answers within 16000 ms, of 30000"


def test_verbs_that_need_not_be_served_are_left_out_with_a_note() -> None:
    async def run(url_path: str) -> ExtenderReport:
        fault = Fault(verb="preempt", checks=set(), raw=lambda *_: Answered(b"", 404))
        async with serving(fault) as extender:
            settings = _settings(extender.url + url_path)
            plan = ConformancePlan(
                settings=settings, optional=VERBS, modes=("whole", "names"), sizes=(10,), requests=1
            )
            return await run_conformance(plan)

    report = asyncio.run(run(""))
    assert report.failures == []
    assert report.notes[1:] == ["It does not serve preempt; leave preemptVerb unset."]
    assert {one.verb for one in report.findings} == {"", "filter", "prioritize", "bind"}


@pytest.mark.parametrize("verb", ["preempt", "bind"])
def test_a_verb_is_left_out_if_an_extender_crashes_on_what_is_no_json(verb: Verb) -> None:
    """It reads the body before it looks at the path."""

    def crash(_: object, body: bytes) -> Answered:
        if not body.startswith(b"{"):
            raise ConnectionError
        return Answered(b"", 404)

    async def run() -> ExtenderReport:
        async with serving(Fault(verb=verb, checks=set(), raw=crash)) as extender:
            plan = ConformancePlan(
                settings=_settings(extender.url),
                optional=VERBS,
                modes=("whole", "names"),
                sizes=(10,),
                requests=1,
            )
            return await run_conformance(plan)

    report = asyncio.run(run())
    assert report.failures == []
    assert f"It does not serve {verb}; leave {verb}Verb unset." in report.notes
    assert verb not in {one.verb for one in report.findings}


def test_an_extender_without_any_verb_is_wrong() -> None:
    async def run() -> ExtenderReport:
        async with serving() as extender:
            settings = Extender(url_prefix=extender.url, weight=1, filter_verb="a", bind_verb="b")
            plan = ConformancePlan(settings=settings, optional=VERBS, modes=("whole", "names"))
            return await run_conformance(plan)

    (failure,) = asyncio.run(run()).failures
    assert (failure.check, failure.came) == ("served", "no verb is served: filter, bind")


def test_a_mode_that_it_does_not_take_is_left_out_with_a_note() -> None:
    def blind(request: dict[str, Any], value: Any) -> Any:
        return [] if request["Nodes"] is None else value

    async def run() -> ExtenderReport:
        async with serving(Fault(verb="prioritize", checks=set(), change=blind)) as extender:
            settings = _settings(extender.url, "prioritize")
            plan = ConformancePlan(
                settings=settings, optional=VERBS, modes=("whole", "names"), sizes=(10,), requests=1
            )
            return await run_conformance(plan)

    report = asyncio.run(run())
    assert report.failures == []
    assert report.notes == ["prioritize does not take nodes by name; set nodeCacheCapable: false."]


def test_pods_request_what_the_extender_manages() -> None:
    async def run() -> list[bytes]:
        async with serving() as extender:
            settings = _settings(
                extender.url, managed_resources=(ExtenderManagedResource("example.com/disk"),)
            )
            plan = ConformancePlan(
                settings=settings, modes=("whole",), sizes=(10,), requests=1, huge=1
            )
            assert (await run_conformance(plan)).failures == []
            return [body for path, body in extender.asked if path in ("/filter", "/prioritize")]

    for body in asyncio.run(run()):
        request = _decoded(body)
        pod = request.get("Pod") if isinstance(request, dict) else None
        if isinstance(pod, dict):
            assert pod["spec"]["containers"][0]["resources"]["requests"]["example.com/disk"] == "1"


def test_nothing_is_bound_unless_the_user_names_a_pod() -> None:
    async def run() -> list[dict[str, Any]]:
        async with serving() as extender:
            plan = ConformancePlan(settings=_settings(extender.url, "bind"), modes=("whole",))
            assert (await run_conformance(plan)).failures == []
            return [
                request
                for _, body in extender.asked
                if isinstance(request := _decoded(body), dict) and "PodUID" in request
            ]

    (first,) = asyncio.run(run())
    (second,) = asyncio.run(run())
    assert first["PodNamespace"] == "moor-extender-test"
    assert first["PodName"].startswith("moor-extender-test-")
    assert first["Node"] == f"{first['PodName']}-node"
    # Nobody can have made a pod with this name.
    assert first["PodName"] != second["PodName"]
    assert first["PodUID"] != second["PodUID"]


def test_a_bind_that_always_fails_is_not_judged_without_a_pod_to_bind() -> None:
    def bind(_: dict[str, Any], value: Any) -> Any:
        return {"Error": "there is no cluster\n to bind pods in"}

    report = _run(Fault(verb="bind", checks=set(), change=bind))
    assert report.failures == []
    [skipped] = [one for one in report.findings if one.outcome == "skipped"]
    assert (skipped.check, skipped.came) == ("bind-binds", "no pod to bind was named with --bind")
    [note] = report.notes
    assert note == (
        "Whether bind works was not judged; test it with --bind POD --bind-node NODE. "
        "For a pod that does not exist, it says: there is no cluster to bind pods in"
    )


@pytest.mark.parametrize(
    ("error", "node", "came"),
    [
        ("", "n1", None),
        ("", "", "no error, and the pod is still pending"),
        ("", "n2", "no error, and the pod is on node n2"),
        ("no room", "", 'status 200: {"Error": "no room"}'),
    ],
)
def test_a_pod_that_the_user_names_is_bound_and_looked_up(
    error: str, node: str, came: str | None
) -> None:
    def bind(request: dict[str, Any], value: Any) -> Any:
        return {"Error": error} if request.get("PodName") == "web" else value

    async def where() -> str:
        return node

    real = RealBinding(name="web", namespace="shop", uid="1", node="n1", node_of=where)
    report = _run(Fault(verb="bind", checks=set(), change=bind), real_binding=real)
    assert [one.came for one in report.failures] == ([] if came is None else [came])
    assert {one.check for one in report.findings} >= {"bind-binds"}


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None
