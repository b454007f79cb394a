"""Which fault is met depends on the seed and on the request alone."""

import random

import pytest

from mooring.errors import InputError
from mooring.testing import Fault, Requests, WatchEvents
from mooring.testing.fault_script import FaultScript
from mooring.testing.fault_target import FaultTarget

POD = "/api/v1/namespaces/default/pods/p1"


@pytest.mark.parametrize(
    ("method", "target", "verb", "resource"),
    [
        ("GET", "/api/v1/pods", "list", "pods"),
        ("GET", "/api/v1/pods?watch=true&resourceVersion=5", "watch", "pods"),
        ("GET", "/api/v1/pods?watch=1", "watch", "pods"),
        ("GET", "/api/v1/pods?watch=false", "list", "pods"),
        ("GET", "/api/v1/watch/namespaces/default/pods", "watch", "pods"),
        ("GET", POD, "get", "pods"),
        ("POST", "/api/v1/namespaces/default/pods", "create", "pods"),
        ("POST", f"{POD}/binding", "create", "pods/binding"),
        ("PATCH", f"{POD}/status", "patch", "pods/status"),
        ("DELETE", POD, "delete", "pods"),
        ("DELETE", "/api/v1/namespaces/default/pods", "deletecollection", "pods"),
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/a/leases/b", "update", "leases"),
        ("GET", "/apis/storage.k8s.io/v1/storageclasses/fast", "get", "storageclasses"),
        ("GET", "/api/v1/namespaces/default", "get", "namespaces"),
        ("PUT", "/api/v1/namespaces/default/finalize", "update", "namespaces/finalize"),
        ("GET", "/api/v1/namespaces", "list", "namespaces"),
        ("GET", "/api/v1", "", ""),
        ("GET", "/readyz", "", ""),
    ],
)
def test_a_request_says_its_verb_and_its_resource(
    method: str, target: str, verb: str, resource: str
) -> None:
    request = FaultTarget.of("c", method, target)
    assert (request.verb, request.resource) == (verb, resource)
    assert request.watch is (verb == "watch")


BINDING = FaultTarget.of("a", "POST", f"{POD}/binding", "mooring/scheduler")


@pytest.mark.parametrize(
    ("on", "matches"),
    [
        (Requests(), True),
        (Requests(client="a"), True),
        (Requests(client="b"), False),
        (Requests(method="POST", verb="create", resource="pods/binding"), True),
        (Requests(resource="pods"), False),
        (Requests(resource="pods*"), True),
        (Requests(path="/api/v1/namespaces/*/pods/p1/binding"), True),
        (Requests(path="/api/v1/pods"), False),
        (Requests(user_agent="mooring/*"), True),
        (Requests(user_agent="kubectl/*"), False),
        (WatchEvents(), False),
    ],
)
def test_requests_are_matched_by_what_is_named(on: Requests | WatchEvents, matches: bool) -> None:
    assert on.match(BINDING) is matches


def test_words_of_a_fixed_set_may_be_patterns() -> None:
    assert Requests(verb="c*", method="P*").match(BINDING)
    unknown = BINDING._replace(event="?")
    assert WatchEvents(type="?").match(unknown)


def test_events_are_matched_by_what_is_named() -> None:
    event = FaultTarget.of("a", "GET", "/api/v1/pods?watch=1")._replace(event="ADDED")
    assert WatchEvents().match(event)
    assert WatchEvents(client="a", resource="pods", type="ADDED").match(event)
    assert not WatchEvents(type="DELETED").match(event)
    assert not WatchEvents(resource="nodes").match(event)
    assert not Requests().match(event)


def struck(script: FaultScript, requests: list[FaultTarget]) -> dict[tuple[str, int], str]:
    """What each request met, by its path and how many there were before."""
    met: dict[tuple[str, int], str] = {}
    counts: dict[str, int] = {}
    for target in requests:
        counts[target.path] = counts.get(target.path, 0) + 1
        strike = script.decide(target)
        met[target.path, counts[target.path]] = (
            f"{strike.fault.kind} {strike.seconds:.6f}" if strike is not None else ""
        )
    return met


FAULTS = (Fault.delay(0.1, 2.0, chance=0.3), Fault.refuse(503, chance=0.3))


def test_the_same_seed_strikes_the_same_requests_in_whatever_order_they_come() -> None:
    paths = [f"/api/v1/namespaces/default/pods/p{i}/binding" for i in range(100)]
    requests = [FaultTarget.of("a", "POST", path) for path in paths for _ in range(3)]
    shuffled = list(requests)
    random.Random(1).shuffle(shuffled)
    first, second = FaultScript(FAULTS, seed=7), FaultScript(FAULTS, seed=7)
    assert struck(first, requests) == struck(second, shuffled)
    assert struck(FaultScript(FAULTS, seed=8), requests) != struck(
        FaultScript(FAULTS, seed=7), requests
    )


def test_a_chance_is_met_about_as_often_as_it_says() -> None:
    script = FaultScript([Fault.drop(chance=0.25)], seed=3)
    hits = [script.decide(FaultTarget.of("a", "GET", f"/api/v1/nodes/n{i}")) for i in range(4000)]
    assert 900 < sum(hit is not None for hit in hits) < 1100


def test_seconds_are_drawn_between_the_least_and_the_most() -> None:
    script = FaultScript([Fault.delay(1, 3)], seed=3)
    strikes = [script.decide(FaultTarget.of("a", "GET", f"/api/v1/nodes/n{i}")) for i in range(500)]
    seconds = [one.seconds for one in strikes if one is not None]
    assert len(seconds) == 500
    assert 1 <= min(seconds) < 1.1
    assert 2.9 < max(seconds) <= 3


def test_some_are_spared_and_some_are_enough() -> None:
    script = FaultScript([Fault.refuse(500, skip=2, times=3)])
    hits = [script.decide(BINDING) is not None for _ in range(8)]
    assert hits == [False, False, True, True, True, False, False, False]


def test_the_first_fault_that_strikes_is_met() -> None:
    script = FaultScript([Fault.cut(times=1), Fault.refuse(429, times=1)])
    kinds = [strike.fault.kind if (strike := script.decide(BINDING)) else "" for _ in range(3)]
    assert kinds == ["cut", "refuse", ""]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Fault.drop(chance=1.5), "chance of a fault is 1.5"),
        (lambda: Fault.delay(2, 1), "2 to 1s"),
        (lambda: Fault.delay(-1), "the least must come first"),
        (lambda: Fault.refuse(200), "status from 400 to 599"),
        (lambda: Fault.cut(times=-1), "not be negative"),
        (lambda: Fault.refuse(429, retry_after=-1), "not be negative"),
        (lambda: Fault(kind="explode"), "kind is 'explode'; it must be one of delay, drop, cut,"),  # type: ignore[arg-type]
        (lambda: Fault.drop(on="pods"), "on is 'pods'; it must be Requests"),  # type: ignore[arg-type]
        (
            lambda: Requests(verb="lists"),
            "verb is 'lists'; it must be one of get, list, watch, .*, deletecollection",
        ),
        (lambda: Requests(verb="Get"), "verb is 'Get'"),
        (lambda: Requests(resource=["pods"]), "resource is .*'pods'.*; it must be one string"),  # type: ignore[arg-type]
        (lambda: Requests(resource="pod"), "resource is 'pod'; it must be pods"),
        (lambda: Requests(resource="Pods/binding"), "is 'Pods/binding'; it must be pods/binding"),
        (
            lambda: WatchEvents(resource="StorageClass"),
            ("is 'StorageClass'; it must be storageclasses"),
        ),
        (lambda: Requests(resource="Widgets"), "resource is 'Widgets'; it must be widgets"),
        (
            lambda: Fault.duplicate(on=Requests(), later=5),
            "later is for duplicates of watch events; use on=WatchEvents",
        ),
        (lambda: Fault.duplicate(later=5), "later is for duplicates of watch events"),
        (
            lambda: Fault.refuse(410, retry_after=1, on=WatchEvents()),
            "retry_after is for requests that are refused with a status",
        ),
        (lambda: Fault.refuse(retry_after=1), "retry_after is for requests that are refused"),
        (
            lambda: Requests(method="post"),
            ("method is 'post'; it must be one of GET, HEAD, POST, PUT,"),
        ),
        (
            lambda: WatchEvents(type="CREATED"),
            "type is 'CREATED'; it must be one of ADDED, MODIFIED, DELETED, BOOKMARK",
        ),
    ],
)
def test_what_cannot_be_meant_is_rejected(make: object, words: str) -> None:
    assert callable(make)
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize("resource", ["pods", "pods/binding", "pod*", "widgets", "endpoints", "*"])
def test_resources_of_all_kinds_can_be_meant(resource: str) -> None:
    assert Requests(resource=resource).resource == resource
    assert WatchEvents(resource=resource).resource == resource
