"""``moor run`` is killed, cut off and left without an API server: no pod is lost or bound twice."""

import random
import re
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import BaseControlPlane, wait_for
from tests.e2e.fault_helpers import (
    PATIENCE,
    AuditLog,
    CuttableConnection,
    check_bound_once,
    check_capacity,
    check_nothing_left,
    each,
    many_nodes,
    many_pods,
    wait_all_bound,
    wait_bound,
)

NODES, PODS = 300, 3000
OUTAGE_SECONDS = 10.0


def test_three_kills_lose_no_pod_and_bind_none_twice(own_plane: BaseControlPlane) -> None:
    """The nodes have room for exactly all pods: one that counts twice leaves another without."""
    chance = random.Random(4)
    moments = [third * 900 + chance.randrange(50, 900) for third in range(3)]
    plane = own_plane
    with ThreadPoolExecutor(1) as creating:
        audit = AuditLog(plane)
        plane.create_many(many_nodes((f"n{i}" for i in range(NODES)), cpu=str(PODS // NODES)))
        with MoorRun(plane) as scheduler:
            created = creating.submit(plane.create_many, many_pods(f"p{i}" for i in range(PODS)))
            for moment in moments:
                wait_bound(audit, moment)
                scheduler.kill()
                assert len(audit.bound()) < PODS
                scheduler.start()
            created.result()
            pods = wait_all_bound(plane, PODS)
            check_bound_once(pods, audit)
            assert Counter(one["spec"]["nodeName"] for one in pods) == {
                f"n{i}": PODS // NODES for i in range(NODES)
            }
            check_nothing_left(pods, scheduler)


def test_a_kill_while_pods_are_preempted_leaves_no_nomination(own_plane: BaseControlPlane) -> None:
    nodes, important = 20, 40
    plane = own_plane
    audit = AuditLog(plane)
    plane.create(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "high"},
            "value": 1000,
        }
    )
    plane.create_many(many_nodes((f"n{i}" for i in range(nodes)), cpu="4"))
    with MoorRun(plane) as scheduler:
        plane.create_many(many_pods(f"low-{i}" for i in range(4 * nodes)))
        wait_all_bound(plane, 4 * nodes)
        plane.create_many(
            many_pods((f"high-{i}" for i in range(important)), priorityClassName="high")
        )
        wait_for(
            lambda: any(
                one["status"].get("nominatedNodeName")
                or (one["metadata"]["name"].startswith("high") and one["spec"].get("nodeName"))
                for one in plane.list_objects("Pod")
            ),
            "a pod to be preempted",
            PATIENCE,
        )
        scheduler.kill()
        scheduler.start()
        wait_for(lambda: settled(plane), "all pods to be bound", PATIENCE)
        pods = plane.list_objects("Pod")
        names = Counter(one["metadata"]["name"].partition("-")[0] for one in pods)
        assert names["high"] == important
        # What was evicted before the kill made room that is used after it.
        assert names["low"] > 4 * nodes - 2 * important
        check_bound_once(pods, audit)
        check_capacity(plane, pods)
        check_nothing_left(pods, scheduler)


def test_it_goes_on_after_the_api_server_was_away_for_ten_seconds(
    own_plane: BaseControlPlane,
) -> None:
    """The API server is killed in the middle of bindings, and comes back without its history."""
    nodes, half = 100, 500
    plane = own_plane
    audit = AuditLog(plane)
    plane.create_many(many_nodes((f"n{i}" for i in range(nodes)), cpu="10"))
    with MoorRun(plane) as scheduler:
        pid = scheduler.pid
        # Pods that nobody has bound yet are there when the API server goes.
        scheduler.send(signal.SIGSTOP)
        plane.create_many(many_pods(f"p{i}" for i in range(half)))
        scheduler.send(signal.SIGCONT)
        wait_bound(audit, half // 5)
        plane.kill_apiserver()
        away = time.monotonic()
        plane.compact()
        wait_for(lambda: time.monotonic() - away > OUTAGE_SECONDS, "the outage to last", PATIENCE)
        assert scheduler.answer("/livez")[0] == 200
        plane.start_apiserver()
        plane.create_many(many_pods(f"p{i}" for i in range(half, 2 * half)))
        pods = wait_all_bound(plane, 2 * half)
        check_bound_once(pods, audit, unwritten=True)
        check_capacity(plane, pods)
        check_nothing_left(pods, scheduler)
        assert scheduler.pid == pid


def test_what_happened_while_watches_were_cut_and_history_was_compacted_is_known(
    own_plane: BaseControlPlane,
) -> None:
    """The scheduler hears nothing of many changes, and cannot hear of them later: 410."""
    plane = own_plane
    with CuttableConnection(plane) as line:
        audit = AuditLog(plane)
        plane.create_many(many_nodes((f"old-{i}" for i in range(50)), cpu="4"))
        with MoorRun(plane, kubeconfig=line.kubeconfig) as scheduler:
            # Thirty pods wait for the room that comes while nobody hears of it.
            plane.create_many(many_pods(f"p{i}" for i in range(230)))
            wait_bound(audit, 200)
            before = informer_events(scheduler)
            line.cut()
            wait_for(lambda: line.refused > 0, "the scheduler to notice", PATIENCE)

            bound = [one for one in plane.list_objects("Pod") if one["spec"].get("nodeName")]
            gone = [one["metadata"]["name"] for one in bound[:40]]
            each(lambda name: plane.delete("Pod", name), gone)
            # Some come again under the same name, as pods of a StatefulSet do.
            plane.create_many(many_pods(gone[:20]))
            left = {
                one["spec"]["nodeName"]
                for one in plane.list_objects("Pod")
                if "nodeName" in one["spec"]
            }
            empty = sorted({f"old-{i}" for i in range(50)} - left)
            each(lambda name: plane.delete("Node", name), empty)
            plane.create_many(many_nodes((f"new-{i}" for i in range(20)), cpu="4"))
            plane.create_many(many_pods(f"later-{i}" for i in range(20)))
            plane.stop_apiserver()
            plane.compact()
            plane.start_apiserver()
            line.mend()

            pods = wait_all_bound(plane, 230 - 40 + 20 + 20)
            check_bound_once(pods, audit)
            check_capacity(plane, pods)
            check_nothing_left(pods, scheduler)
            # It listed again, because the API server could not tell it what it had missed.
            after = informer_events(scheduler)
            assert after["pods", "lists"] > before["pods", "lists"]
            assert after["nodes", "lists"] > before["nodes", "lists"]


def test_cut_watches_go_on_where_they_were(own_plane: BaseControlPlane) -> None:
    """A watch that breaks now and then costs no list."""
    plane = own_plane
    with CuttableConnection(plane) as line:
        audit = AuditLog(plane)
        plane.create_many(many_nodes((f"n{i}" for i in range(40)), cpu="10"))
        with (
            MoorRun(plane, kubeconfig=line.kubeconfig) as scheduler,
            ThreadPoolExecutor(1) as creating,
        ):
            created = creating.submit(plane.create_many, many_pods(f"p{i}" for i in range(400)), 2)
            for watches, moment in enumerate((50, 150, 250), start=1):
                wait_bound(audit, moment)
                wait_watching(scheduler, watches)
                line.cut()
                line.mend()
            created.result()
            pods = wait_all_bound(plane, 400)
            check_bound_once(pods, audit)
            check_capacity(plane, pods)
            check_nothing_left(pods, scheduler)
            wait_watching(scheduler, 4)
            assert informer_events(scheduler)["pods", "lists"] == 1


def settled(plane: BaseControlPlane) -> bool:
    """Whether every pod has a node and none is ending.

    The API server stops in the middle of a deletion when the one who asked for it is killed. A
    kubelet would end such a pod; there is none.
    """
    pods = plane.list_objects("Pod")
    ending = [one for one in pods if one["metadata"].get("deletionTimestamp")]
    each(lambda name: plane.delete("Pod", name), (one["metadata"]["name"] for one in ending))
    return not ending and all(one["spec"].get("nodeName") for one in pods)


def wait_watching(scheduler: MoorRun, count: int) -> None:
    """Wait until a watch of pods has been opened so often."""
    wait_for(
        lambda: informer_events(scheduler)["pods", "watches"] >= count,
        f"watch {count} of pods",
        PATIENCE,
    )


def informer_events(scheduler: MoorRun) -> Counter[tuple[str, str]]:
    """How often informers listed and watched, by resource."""
    found: Counter[tuple[str, str]] = Counter()
    pattern = r'^mooring_informer_events_total\{resource="(\w+)",what="(\w+)"\} ([0-9.]+)'
    for resource, what, count in re.findall(pattern, scheduler.metrics(), re.MULTILINE):
        found[resource, what] = int(float(count))
    return found
