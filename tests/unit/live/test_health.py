"""Checks, and the form in which Kubernetes components show them."""

import asyncio
from typing import Any

from mooring.errors import KubeError
from mooring.live.health import PING, STALE_SECONDS, STUCK_SECONDS, Check, Health, run_checks


class FakeInformer:
    """An informer that is told how it is."""

    def __init__(self) -> None:
        self.synced = asyncio.Event()
        self.error: KubeError | None = None
        self.lost_seconds = 0.0


class World:
    """A scheduler's health with everything it looks at."""

    def __init__(self) -> None:
        self.informers: dict[str, Any] = {"nodes": FakeInformer(), "pods": FakeInformer()}
        self.now = 100.0
        self.health = Health(self.informers, lambda: self.now)

    def sync(self) -> None:
        for informer in self.informers.values():
            informer.synced.set()
        self.health.handlers_synced = True

    def ready(self) -> dict[str, str]:
        return problems(self.health.ready_checks())

    def healthy(self) -> dict[str, str]:
        return problems(self.health.health_checks())

    def alive(self) -> dict[str, str]:
        return problems(self.health.live_checks())


def problems(checks: list[Check]) -> dict[str, str]:
    return {check.name: check.problem() for check in checks if check.problem()}


class TestExamine:
    def test_well(self) -> None:
        report = run_checks("livez", [PING, Check("other", lambda: "")])
        assert report.well
        assert report.text == "[+]ping ok\n[+]other ok\nlivez check passed\n"

    def test_not_well(self) -> None:
        report = run_checks("readyz", [PING, Check("other", lambda: "no reason")])
        assert not report.well
        assert report.text == "[+]ping ok\n[-]other failed: no reason\nreadyz check failed\n"

    def test_excluded(self) -> None:
        checks = [PING, Check("other", lambda: "no reason")]
        report = run_checks("readyz", checks, ["other", "x", "a"])
        assert report.well
        assert report.text == (
            "[+]ping ok\n[+]other excluded: ok\n"
            'warn: some health checks cannot be excluded: no matches for "a", "x"\n'
            "readyz check passed\n"
        )


class TestReady:
    def test_not_before_the_cluster_is_known(self) -> None:
        world = World()
        assert world.ready() == {
            "informer-sync": "2 informers not synced yet: nodes, pods",
            "sched-handler-sync": "handlers are not fully synchronized",
        }
        world.informers["nodes"].synced.set()
        world.informers["pods"].error = KubeError("The API server is away.")
        assert world.ready()["informer-sync"] == (
            "1 informers not synced yet: pods (The API server is away)"
        )
        world.health.api_server_error = "Nobody answers."
        assert world.ready()["informer-sync"].startswith("Nobody answers; 1 informers not synced")
        world.sync()
        assert world.ready() == {}

    def test_not_when_nothing_was_heard_of_the_cluster_for_a_minute(self) -> None:
        world = World()
        world.sync()
        world.informers["pods"].lost_seconds = STALE_SECONDS
        assert world.ready() == {}
        world.informers["pods"].lost_seconds = STALE_SECONDS + 1
        assert world.ready() == {"informer-stale": "no data for pods (61s)"}

    def test_not_while_it_stops(self) -> None:
        world = World()
        world.sync()
        world.health.stopping = True
        assert world.ready() == {"shutdown": "process is shutting down"}

    def test_who_waits_for_the_lease_is_ready(self) -> None:
        world = World()
        world.sync()
        world.health.expect_election()
        assert world.ready() == {}
        assert "leaderElection" in [check.name for check in world.health.ready_checks()]


class TestAlive:
    def test_from_the_start(self) -> None:
        assert World().alive() == World().healthy() == {}

    def test_a_loop_that_is_stuck(self) -> None:
        world = World()
        turned = world.now
        world.health.started_scheduling(lambda: turned)
        world.now += STUCK_SECONDS
        assert world.alive() == {}
        world.now += 1
        assert world.alive() == world.healthy() == {"scheduling-loop": "no progress for 61s"}
        world.health.stopping = True
        assert world.alive() == {}

    def test_a_lost_lease(self) -> None:
        world = World()
        leads = True
        world.health.expect_election()
        world.health.started_leading(lambda: leads)
        assert world.healthy() == {}
        leads = False
        lost = {"leaderElection": "the Lease was lost and the process has not exited"}
        assert world.healthy() == lost
        assert world.alive() == {}
        world.health.stopping = True  # it was given up
        assert world.healthy() == {}

    def test_without_an_election_there_is_no_such_check(self) -> None:
        names = [check.name for check in World().health.health_checks()]
        assert names == ["ping", "scheduling-loop"]
