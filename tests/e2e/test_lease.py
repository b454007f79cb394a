"""Leader election on a Lease of the real API server, among ourselves and with kube-scheduler."""

import asyncio
import datetime
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mooring.errors import ApiError
from mooring.kube.client import Client
from mooring.kube.config import load_kubeconfig
from mooring.kube.leader import LeaderElector
from mooring.kube.lease import LeaseSettings
from mooring.testing.real_kubernetes import ControlPlane, KubeScheduler

pytestmark = pytest.mark.kube

COORDINATION = "coordination.k8s.io/v1"


def short(namespace: str, name: str = "mooring") -> LeaseSettings:
    """An election that takes seconds: six until others take over."""
    return LeaseSettings(
        namespace=namespace, name=name, lease_seconds=6, renew_seconds=5, retry_seconds=0.5
    )


def long(namespace: str, name: str = "mooring") -> LeaseSettings:
    """An election in which nobody takes over because time has passed."""
    return LeaseSettings(
        namespace=namespace, name=name, lease_seconds=300, renew_seconds=200, retry_seconds=0.5
    )


@asynccontextmanager
async def electors(
    kubeconfig: Path, settings: LeaseSettings, *names: str
) -> AsyncIterator[list[LeaderElector]]:
    """Electors that are gone afterwards, each with a client of its own."""
    config = load_kubeconfig(kubeconfig)
    clients = [Client(config) for _ in names]
    made = [
        LeaderElector(client, settings, name) for client, name in zip(clients, names, strict=True)
    ]
    for client in clients:
        await client.__aenter__()
    try:
        yield made
    finally:
        for one, client in zip(made, clients, strict=True):
            one._stop()
            await client.__aexit__(None, None, None)


def leads(one: LeaderElector) -> bool:
    return one.leading


async def until(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - polls the clock, too
            await asyncio.sleep(0.01)


def spec(plane: ControlPlane, settings: LeaseSettings) -> dict[str, Any]:
    lease = plane.get("Lease", settings.name, settings.namespace, api_version=COORDINATION)
    found: dict[str, Any] = lease["spec"]
    return found


def seconds_between(earlier: str, later: str) -> float:
    """How far apart two times of a Lease are."""
    first, second = (datetime.datetime.fromisoformat(text) for text in (earlier, later))
    return (second - first).total_seconds()


def test_one_leads_the_other_follows_when_it_dies(
    control_plane: ControlPlane, namespace: str
) -> None:
    settings = short(namespace)

    async def main() -> None:
        async with electors(control_plane.kubeconfig, settings, "a", "b") as (a, b):
            await a.acquire()
            assert leads(a)
            stored = spec(control_plane, settings)
            assert stored["holderIdentity"] == "a"
            assert stored["leaseDurationSeconds"] == 6
            assert stored["leaseTransitions"] == 0
            assert stored["acquireTime"] == stored["renewTime"]
            waiting = asyncio.create_task(b.acquire())
            await until(lambda: b.leader == "a")

            def renewed() -> float:
                now: str = spec(control_plane, settings)["renewTime"]
                return seconds_between(stored["renewTime"], now)

            await until(lambda: renewed() > settings.lease_seconds)
            assert leads(a)
            assert not leads(b)

            a._stop()
            last = spec(control_plane, settings)["renewTime"]
            await until(lambda: b.leading)
            await waiting
            stored = spec(control_plane, settings)
            assert stored["holderIdentity"] == "b"
            assert stored["leaseTransitions"] == 1
            # b did not know better than that a might still be there
            assert seconds_between(last, stored["acquireTime"]) > settings.lease_seconds - 1

    asyncio.run(main())


def test_a_released_lease_is_taken_at_once(control_plane: ControlPlane, namespace: str) -> None:
    settings = long(namespace)

    async def main() -> None:
        async with electors(control_plane.kubeconfig, settings, "b", "c") as (b, c):
            await b.acquire()
            waiting = asyncio.create_task(c.acquire())
            await until(lambda: c.leader == "b")
            await b.release()
            await until(lambda: c.leading)
            await waiting
            await c.release()
            stored = spec(control_plane, settings)
            assert stored["holderIdentity"] == ""
            assert stored["leaseDurationSeconds"] == 1
            assert stored["leaseTransitions"] == 1

    asyncio.run(main())


def test_many_at_once_make_one_leader(control_plane: ControlPlane, namespace: str) -> None:
    settings = long(namespace)
    names = [f"elector-{number}" for number in range(8)]

    async def main() -> None:
        async with electors(control_plane.kubeconfig, settings, *names) as crowd:
            tasks = [asyncio.create_task(one.acquire()) for one in crowd]
            terms = []
            for _ in range(3):
                await until(lambda: any(one.leading for one in crowd))
                for _ in range(50):
                    assert sum(one.leading for one in crowd) == 1
                    await asyncio.sleep(0.01)
                leader = next(one for one in crowd if one.leading)
                terms.append(leader.identity)
                await leader.release()
            assert len(set(terms)) == 3
            for task in tasks:
                task.cancel()

    asyncio.run(main())


def test_kube_scheduler_and_we_respect_each_other(
    control_plane: ControlPlane, namespace: str
) -> None:
    settings = short("kube-system", "shared-lease")
    election = {
        "leaderElect": True,
        "resourceName": settings.name,
        "leaseDuration": "6s",
        "renewDeadline": "5s",
        "retryPeriod": "500ms",
    }
    profile = {"profiles": [{"schedulerName": "nobody"}], "leaderElection": election}

    async def main() -> None:
        async with electors(control_plane.kubeconfig, settings, "ours", "again") as (ours, again):
            scheduler = KubeScheduler(control_plane, profile)
            await asyncio.to_thread(scheduler.start)
            try:
                await asyncio.to_thread(
                    control_plane.wait_for,
                    lambda: "Successfully acquired lease" in scheduler.log(),
                    "kube-scheduler to lead",
                )
                waiting = asyncio.create_task(ours.acquire())
                await until(lambda: ours.leader != "")
                theirs = ours.leader
                await asyncio.sleep(6.5)  # longer than a lease: it is renewed
                assert not leads(ours)
            finally:
                await asyncio.to_thread(scheduler.stop)
            await until(lambda: ours.leading)
            await waiting
            assert spec(control_plane, settings)["holderIdentity"] == "ours"
            assert spec(control_plane, settings)["leaseTransitions"] == 1

            second = KubeScheduler(control_plane, profile)
            await asyncio.to_thread(second.start)
            try:
                await asyncio.sleep(6.5)
                assert leads(ours)
                assert "Successfully acquired lease" not in second.log()
                await ours.release()
                await asyncio.to_thread(
                    control_plane.wait_for,
                    lambda: "Successfully acquired lease" in second.log(),
                    "kube-scheduler to take the released lease",
                )
                waiting = asyncio.create_task(again.acquire())
                await until(lambda: again.leader not in ("", "ours", theirs))
                waiting.cancel()
            finally:
                await asyncio.to_thread(second.stop)

    asyncio.run(main())


def test_the_lease_is_lost_in_time_when_the_api_server_is_gone() -> None:
    async def main(plane: ControlPlane) -> None:
        settings = short("default")
        async with electors(plane.kubeconfig, settings, "a", "b") as (a, b):
            await a.acquire()
            waiting = asyncio.create_task(b.acquire())
            await until(lambda: b.leader == "a")
            stopping = asyncio.create_task(asyncio.to_thread(plane.stop_apiserver))
            await a.lost.wait()
            assert not leads(a)
            await stopping
            assert not leads(b)
            assert b.error is not None
            await asyncio.to_thread(plane.start_apiserver)
            await until(lambda: b.leading)
            await waiting
            assert not leads(a)
            await b.release()

    with ControlPlane() as plane:
        asyncio.run(main(plane))


def test_without_the_right_to_leases_the_error_names_it(
    control_plane: ControlPlane, namespace: str
) -> None:
    kubeconfig = control_plane.kubeconfig_for("nobody-special")

    async def main() -> None:
        async with electors(kubeconfig, short(namespace), "a") as (a,):
            waiting = asyncio.create_task(a.acquire())
            await until(lambda: a.error is not None)
            waiting.cancel()
            error = a.error
            assert isinstance(error, ApiError)
            assert error.status == 403
            assert 'cannot get resource "leases" in API group "coordination.k8s.io"' in str(error)

    asyncio.run(main())
