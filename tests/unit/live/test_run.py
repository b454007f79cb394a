"""The life of a scheduler, in this process: start, scheduling, signals, the Lease, the end."""

import asyncio
import dataclasses
import signal
from functools import partial
from typing import Any

import pytest

from mooring import Pod, Policy, hook
from mooring.errors import ApiError
from mooring.kube.event_body import reference
from mooring.live.assembly import assembled
from mooring.testing import make_node, make_pod
from tests.unit.live.fake_cluster import FakeCluster, fake_cluster
from tests.unit.live.running_scheduler import (
    BRIEF,
    FAST,
    eventually,
    kill,
    make_settings,
    scheduler,
)

# On a slow machine it could be the tests' own process that ends.
pytestmark = pytest.mark.usefixtures("left")


@pytest.fixture(autouse=True)
def logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")


class TestScheduling:
    def test_other_schedulers_cannot_flood_the_log(self, caplog: pytest.LogCaptureFixture) -> None:
        async def run() -> str:
            async with fake_cluster() as cluster:
                cluster.put_node(make_node("a"))
                async with scheduler(cluster) as started:
                    await started.ready()
                    for number in range(100):
                        spec = {"schedulerName": f"made-up-{number}"}
                        cluster.put_pod(make_pod(f"p{number}", node="a", spec=spec))
                    cluster.put_pod(make_pod("last"))
                    await cluster.until(lambda: cluster.bindings)
                    _, text = await started.get("/metrics")
                    kill()
                    assert await started.end() == 0
            return text

        text = asyncio.run(run())
        assert sum("binds pods to the same nodes" in one for one in caplog.messages) == 50
        assert text.count("mooring_foreign_binds_total{") == 51
        assert 'mooring_foreign_binds_total{scheduler="other"} 50.0' in text

    def test_it_says_how_much_a_policy_can_decide(self, caplog: pytest.LogCaptureFixture) -> None:
        policy = Policy("zones")
        policy.score(name="same")(lambda _pod, _node: 0)

        async def run() -> None:
            async with (
                fake_cluster() as cluster,
                scheduler(cluster, policies=(policy,)) as started,
            ):
                await started.ready()

        asyncio.run(run())
        said = "policy zones can decide 50% of a node's total score (weight 14 of 28)"
        assert said in caplog.messages

    def test_pods_are_bound_and_told(self, caplog: pytest.LogCaptureFixture) -> None:
        async def run() -> FakeCluster:
            async with fake_cluster() as cluster:
                cluster.put_node(make_node("a"))
                cluster.put_node(make_node("b"))
                cluster.put_pod(make_pod("early"))
                async with scheduler(cluster) as started:
                    await cluster.until(lambda: cluster.bindings)
                    await started.ready()
                    cluster.put_pod(make_pod("late"))
                    cluster.put_pod(make_pod("foreign", spec={"schedulerName": "other"}))
                    cluster.put_pod(make_pod("big", requests={"cpu": "100"}))
                    await cluster.until(lambda: len(cluster.bindings) == 2 and cluster.patches)
                    _, text = await started.get("/metrics")
                    assert 'scheduler_pending_pods{queue="unschedulable"} 1.0' in text
                    assert 'scheduler_cache_size{type="nodes"} 2.0' in text
                    kill()
                    assert await started.end() == 0
            return cluster

        cluster = asyncio.run(run())
        assert [name for name, _ in cluster.bindings] == ["early", "late"]
        told = {(one["regarding"]["name"], one["reason"]) for one in cluster.events}
        assert told == {
            ("early", "Scheduled"), ("late", "Scheduled"), ("big", "FailedScheduling"),
        }  # fmt: skip
        assert cluster.patches[0][0] == "big"
        assert cluster.leases == {}
        first = caplog.messages[0]
        assert first.startswith("mooring ")
        assert f"schedules pods for default-scheduler on {cluster.config.server}" in first
        assert "leader election off, health checks at http://127.0.0.1:" in first

    def test_several_profiles(self) -> None:
        async def run() -> list[tuple[str, str]]:
            config = {"profiles": [{"schedulerName": "one"}, {"schedulerName": "two"}]}
            async with fake_cluster() as cluster:
                cluster.put_node(make_node("a"))
                for name in ("one", "two", "three"):
                    cluster.put_pod(make_pod(name, spec={"schedulerName": name}))
                async with scheduler(cluster, config) as started:
                    await cluster.until(lambda: len(cluster.bindings) == 2)
                    kill(signal.SIGINT)
                    assert await started.end() == 0
                return cluster.bindings

        assert sorted(asyncio.run(run())) == [("one", "a"), ("two", "a")]


class TestStarting:
    def test_not_ready_before_the_cluster_is_known(self) -> None:
        async def run() -> None:
            async with fake_cluster() as cluster:
                cluster.down = True
                async with scheduler(cluster) as started:
                    text = await started.readiness(500, "it is down")
                    assert "informers not synced yet: " in text
                    assert (await started.get("/healthz"))[0] == 200
                    cluster.down = False
                    await started.ready()
                    kill()
                    assert await started.end() == 0

        asyncio.run(run())

    def test_one_sentence_says_that_the_api_server_is_away(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def run() -> None:
            async with fake_cluster() as cluster:
                cluster.down = True
                async with scheduler(cluster) as started:
                    await started.readiness(500, "it is down")
                    for _ in range(2):  # it asks again
                        cluster.bell.clear()
                        await cluster.bell.wait()
                    kill()
                    assert await started.end() == 0

        asyncio.run(run())
        warnings = [one.message for one in caplog.records if one.levelname == "WARNING"]
        assert len(warnings) == 1
        assert warnings[0].endswith("answered 503: it is down. (retrying)")

    def test_who_may_not_ask_for_the_version_may_schedule(self) -> None:
        async def run() -> None:
            async with fake_cluster() as cluster:
                cluster.forbidden.add("version")
                async with scheduler(cluster) as started:
                    await started.ready()
                    kill()
                    assert await started.end() == 0

        asyncio.run(run())

    def test_a_signal_ends_a_process_that_waits(self) -> None:
        async def run() -> None:
            async with fake_cluster() as cluster:
                cluster.down = True
                async with scheduler(cluster, lease=FAST) as started:
                    await started.readiness(500, "it is down")
                    kill()
                    assert await started.end() == 0

        asyncio.run(run())

    def test_missing_rights_are_told(self) -> None:
        async def run() -> None:
            async with fake_cluster() as cluster:
                cluster.forbidden |= {"csinodes", "pods", "services"}
                async with scheduler(cluster) as started:
                    await started.end()

        with pytest.raises(ApiError) as rejected:
            asyncio.run(run())
        assert rejected.value.status == 403
        assert 'cannot list resource "pods"' in str(rejected.value)
        assert str(rejected.value).endswith(
            "grant the permission with an RBAC role. Also rejected: csinodes, services."
        )

    @pytest.mark.parametrize("status", [403, 404])
    def test_a_cluster_without_device_classes_is_scheduled(
        self, status: int, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def run() -> None:
            async with fake_cluster() as cluster:
                rejected = cluster.forbidden if status == 403 else cluster.unknown
                rejected.add("deviceclasses")
                cluster.put_node(make_node("a"))
                cluster.put_pod(make_pod("p"))
                async with scheduler(cluster) as started:
                    await started.ready()
                    await cluster.until(lambda: cluster.binding)
                    kill()
                    assert await started.end() == 0

        asyncio.run(run())
        told = [one.message for one in caplog.records if "deviceclasses" in one.message]
        assert len(told) == 1
        assert "it is treated as empty; retrying" in told[0]

    def test_only_what_plugins_need_is_asked_for(self) -> None:
        async def run() -> set[str]:
            names = ("PrioritySort", "DefaultBinder", "NodeResourcesFit")
            enabled = [{"name": name} for name in names]
            plugins = {"multiPoint": {"enabled": enabled, "disabled": [{"name": "*"}]}}
            async with fake_cluster() as cluster:
                cluster.forbidden |= {"csinodes", "services", "poddisruptionbudgets"}
                async with scheduler(cluster, {"profiles": [{"plugins": plugins}]}) as started:
                    await started.ready()
                    # Failed pods are looked at last, and nobody waits for them.
                    await cluster.until(lambda: "failed" in cluster.collections)
                    kill()
                    assert await started.end() == 0
                return set(cluster.collections)

        assert asyncio.run(run()) == {"nodes", "pods", "failed"}


class TestStopping:
    def test_nothing_is_scheduled_with_a_part_of_the_first_list(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        """After the signal no plugin is asked about the pods that are left in it."""
        asked: list[str] = []

        class Stopping(hook.PreEnqueue):
            name = "Stopping"

            def pre_enqueue(self, pod: Pod) -> None:
                asked.append(pod.name)
                kill()

        async def run() -> None:
            async with fake_cluster() as cluster:
                cluster.put_node(make_node("a"))
                for name in ("p", "q"):
                    cluster.put_pod(make_pod(name))
                async with scheduler(cluster, policies=(policy,)) as started:
                    assert await started.end() == 0
                assert not cluster.binding

        policy = Policy("stopping")
        policy.add(Stopping())
        asyncio.run(run())
        assert len(asked) == 1
        assert "stopped" in caplog.messages
        assert "scheduling" not in caplog.messages
        assert not any("the cluster is known" in one for one in caplog.messages)

    def test_bindings_under_way_are_finished_and_no_pods_taken(self) -> None:
        async def run() -> list[tuple[str, str]]:
            async with fake_cluster() as cluster:
                cluster.gate.clear()
                cluster.put_node(make_node("a"))
                cluster.put_pod(make_pod("first"))
                async with scheduler(cluster, lease=FAST) as started:
                    await cluster.until(lambda: cluster.binding)
                    kill()
                    await started.readiness(500, "process is shutting down")
                    cluster.put_pod(make_pod("second"))
                    await asyncio.sleep(0.1)
                    lease = cluster.leases["kube-scheduler"]["spec"]
                    assert lease["holderIdentity"]
                    cluster.gate.set()
                    assert await started.end() == 0
                lease = cluster.leases["kube-scheduler"]["spec"]
                assert lease["holderIdentity"] == ""
                assert [one["reason"] for one in cluster.events] == ["Scheduled"]
                return cluster.bindings

        assert asyncio.run(run()) == [("first", "a")]

    def test_the_lease_is_given_up_when_all_events_are_written(self) -> None:
        """Whoever takes it over must not find us writing."""

        async def run() -> None:
            async with fake_cluster() as cluster:
                cluster.told.clear()
                cluster.put_node(make_node("a"))
                cluster.put_pod(make_pod("first"))
                async with scheduler(cluster, lease=FAST) as started:
                    await cluster.until(lambda: cluster.telling)
                    kill()
                    await started.readiness(500, "process is shutting down")
                    await asyncio.sleep(0.2)
                    assert cluster.leases["kube-scheduler"]["spec"]["holderIdentity"]
                    cluster.told.set()
                    assert await started.end() == 0
                assert cluster.leases["kube-scheduler"]["spec"]["holderIdentity"] == ""
                assert [one["reason"] for one in cluster.events] == ["Scheduled"]

        asyncio.run(run())

    def test_a_second_signal_leaves_at_once(self, left: list[int]) -> None:
        async def run() -> None:
            async with fake_cluster() as cluster:
                cluster.gate.clear()
                cluster.put_node(make_node("a"))
                cluster.put_pod(make_pod("stuck"))
                async with scheduler(cluster) as started:
                    await cluster.until(lambda: cluster.binding)
                    kill()
                    await started.readiness(500, "process is shutting down")
                    assert left == []
                    kill()
                    await eventually(lambda: left)
                    cluster.gate.set()
                    await started.end()

        asyncio.run(run())
        assert left == [1]

    def test_a_loop_that_fails_ends_the_process(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def broken(self: Any) -> None:
            raise RuntimeError("a bug")

        monkeypatch.setattr("mooring.live.loop.LiveScheduler.run", broken)

        async def run() -> None:
            async with fake_cluster() as cluster, scheduler(cluster, lease=FAST) as started:
                assert await started.end() == 1
                assert cluster.leases["kube-scheduler"]["spec"]["holderIdentity"] == ""

        asyncio.run(run())
        assert "the scheduler failed and exits" in caplog.text
        assert "a bug" in caplog.text


class TestLeading:
    def test_one_leads_and_the_other_takes_over(self, caplog: pytest.LogCaptureFixture) -> None:
        async def run() -> None:
            async with fake_cluster() as cluster:
                cluster.put_node(make_node("a"))
                async with scheduler(cluster, lease=FAST) as one:
                    await one.ready()
                    await one.logged(caplog, "scheduling")
                    holder = cluster.leases["kube-scheduler"]["spec"]["holderIdentity"]
                    async with scheduler(cluster, lease=FAST) as other:
                        await other.ready()
                        for number in range(5):
                            cluster.put_pod(make_pod(f"p{number}"))
                        await cluster.until(lambda: len(cluster.bindings) == 5)
                        assert (
                            'leader_election_master_status{name="kube-scheduler"} 1.0'
                            in (await one.get("/metrics"))[1]
                        )
                        text = (await other.get("/metrics"))[1]
                        assert 'leader_election_master_status{name="kube-scheduler"} 0.0' in text
                        # What happened meanwhile is known to the one that waits.
                        assert 'scheduler_cache_size{type="pods"} 5.0' in text
                        one.task.cancel()
                        await asyncio.gather(one.task, return_exceptions=True)
                        cluster.put_pod(make_pod("after"))
                        await cluster.until(lambda: len(cluster.bindings) == 6)
                        spec = cluster.leases["kube-scheduler"]["spec"]
                        assert spec["holderIdentity"] not in ("", holder)

        asyncio.run(run())

    def test_a_lost_lease_ends_the_process_at_once(
        self, caplog: pytest.LogCaptureFixture, left: list[int]
    ) -> None:
        async def run() -> list[tuple[str, str]]:
            async with fake_cluster() as cluster:
                cluster.put_node(make_node("a"))
                async with scheduler(cluster, lease=FAST) as started:
                    await started.ready()
                    await started.logged(caplog, "scheduling")
                    cluster.gate.clear()
                    cluster.put_pod(make_pod("p"))
                    await cluster.until(lambda: cluster.binding)
                    lease = cluster.leases["kube-scheduler"]
                    lease["spec"]["holderIdentity"] = "somebody"
                    lease["metadata"]["resourceVersion"] += "1"
                    assert await started.end() == 1
                    cluster.gate.set()
                assert cluster.leases["kube-scheduler"]["spec"]["holderIdentity"] == "somebody"
                return cluster.bindings

        assert asyncio.run(run()) == []
        assert "this process is no longer the leader: it stops writing and exits" in caplog.messages
        assert left == []

    def test_events_are_not_written_by_a_process_that_does_not_lead(self) -> None:
        async def run() -> None:
            async with (
                fake_cluster() as cluster,
                assembled(make_settings(cluster, {}, lease=FAST)) as components,
            ):
                record = partial(
                    components.recorder.record,
                    reference(make_pod("p")),
                    None,
                    "Normal",
                    "Scheduled",
                )
                record("Binding", "nobody may say so")
                assert not await components.recorder.flush(0.5)
                assert components.elector is not None
                assert cluster.telling == 0
                await components.elector.acquire()
                record("Binding", "we may")
                await cluster.until(lambda: cluster.events)
                await components.elector.release()

        asyncio.run(run())

    def test_the_cache_may_wait_for_the_lease(self, caplog: pytest.LogCaptureFixture) -> None:
        async def run() -> None:
            async with fake_cluster() as cluster:
                cluster.leases["kube-scheduler"] = {
                    "metadata": {"name": "kube-scheduler", "resourceVersion": "1"},
                    "spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 1},
                }
                cluster.put_node(make_node("a"))
                cluster.put_pod(make_pod("p"))
                config = {"delayCacheUntilActive": True}
                async with scheduler(cluster, config, lease=BRIEF) as started:
                    await started.logged(caplog, "The leader is somebody.")
                    assert not cluster.collections["pods"].seen
                    await cluster.until(lambda: cluster.bindings)
                    kill()
                    assert await started.end() == 0

        asyncio.run(run())


class TestComparing:
    @pytest.mark.parametrize("equal", [True, False])
    def test_on_a_signal(self, caplog: pytest.LogCaptureFixture, equal: bool) -> None:
        async def run() -> None:
            async with fake_cluster() as cluster:
                cluster.put_node(make_node("a"))
                cluster.put_pod(make_pod("p"))
                async with scheduler(cluster) as started:
                    await cluster.until(lambda: cluster.bindings)
                    if not equal:
                        # Something that no watch tells of.
                        cluster.collections["nodes"].objects["b"] = {
                            **make_node("b").raw, "metadata": {"name": "b", "uid": "b"},
                        }  # fmt: skip
                    kill(signal.SIGUSR2)
                    await started.logged(caplog, "the state ")
                    expected = "0.0" if equal else "1.0"
                    text = (await started.get("/metrics"))[1]
                    assert f"mooring_state_differences {expected}" in text
                    kill()
                    assert await started.end() == 0

        asyncio.run(run())
        if equal:
            seen = "1 node, 1 pod, 0 of them assumed"
            assert f"the state matches the cluster: {seen}" in caplog.messages
        else:
            assert "  node b is missing from the state" in caplog.messages

    def test_not_before_anything_is_known(self, caplog: pytest.LogCaptureFixture) -> None:
        async def run() -> None:
            async with fake_cluster() as cluster:
                cluster.down = True
                async with scheduler(cluster) as started:
                    await started.readiness(500, "it is down")
                    kill(signal.SIGUSR2)
                    await started.logged(caplog, "there is nothing to compare")
                    kill()
                    assert await started.end() == 0

        asyncio.run(run())


def test_profiles_are_named_in_the_first_line(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with fake_cluster() as cluster:
            config = {"profiles": [{"schedulerName": "one"}, {"schedulerName": "two"}]}
            lease = dataclasses.replace(FAST, namespace="ns", name="mine")
            async with scheduler(cluster, config, lease=lease) as started:
                await started.logged(caplog, "leader election on (Lease ns/mine)")
                kill()
                assert await started.end() == 0

    asyncio.run(run())
    assert "schedules pods for one, two on http" in caplog.text
