"""``moor run`` is killed, cut off and left without an API server: no pod is lost or bound twice."""

import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mooring.testing.kube import wait_for
from mooring.testing.run import MoorRun
from tests.e2e.fleet import (
    PATIENCE,
    Audit,
    audited_plane,
    check_bound_once,
    check_nothing_left,
    check_room,
    compact_history,
    many_nodes,
    many_pods,
    wait_all_bound,
)

pytestmark = pytest.mark.kube

NODES, PODS = 300, 3000
OUTAGE_SECONDS = 10.0


def test_three_kills_lose_no_pod_and_bind_none_twice(tmp_path: Path) -> None:
    """The nodes have room for exactly all pods: one that counts twice leaves another without."""
    chance = random.Random(4)
    moments = [third * 900 + chance.randrange(50, 900) for third in range(3)]
    with audited_plane(tmp_path) as plane, ThreadPoolExecutor(1) as creating:
        audit = Audit(plane)
        plane.create_many(many_nodes((f"n{i}" for i in range(NODES)), cpu=str(PODS // NODES)))
        with MoorRun(plane) as scheduler:
            created = creating.submit(plane.create_many, many_pods(f"p{i}" for i in range(PODS)))
            for moment in moments:
                wait_for(
                    lambda moment=moment: len(audit.bound()) >= moment,
                    f"{moment} pods to be bound",
                    PATIENCE,
                )
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


def test_a_kill_while_pods_are_preempted_leaves_no_promise(tmp_path: Path) -> None:
    nodes, important = 20, 40
    with audited_plane(tmp_path) as plane:
        audit = Audit(plane)
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
                    or (one["metadata"]["name"].startswith("high")
                    and one["spec"].get("nodeName"))
                    for one in plane.list_objects("Pod")
                ),
                "a pod to be preempted",
                PATIENCE,
            )
            scheduler.kill()
            scheduler.start()
            # Each takes the place of one: not one victim more than needed.
            pods = wait_all_bound(plane, 4 * nodes)
            names = Counter(one["metadata"]["name"].partition("-")[0] for one in pods)
            assert names == {"high": important, "low": 4 * nodes - important}
            check_bound_once(pods, audit)
            check_room(plane, pods)
            check_nothing_left(pods, scheduler)


def test_it_goes_on_after_the_api_server_was_away_for_ten_seconds(tmp_path: Path) -> None:
    """The API server is killed in the middle of bindings, and comes back without its history."""
    pods_wanted, nodes = 1000, 100
    with audited_plane(tmp_path) as plane, ThreadPoolExecutor(1) as creating:
        audit = Audit(plane)
        plane.create_many(many_nodes((f"n{i}" for i in range(nodes)), cpu="10"))
        with MoorRun(plane) as scheduler:
            pid = scheduler.pid
            first = many_pods(f"p{i}" for i in range(pods_wanted // 2))
            created = creating.submit(plane.create_many, first)
            wait_for(lambda: len(audit.bound()) >= 100, "100 pods to be bound", PATIENCE)
            created.result()
            plane.create_many(many_pods(f"p{i}" for i in range(pods_wanted // 2, pods_wanted)))
            plane.send_signal = None
            plane.stop_apiserver()
            away = time.monotonic()
            compact_history(plane)
            wait_for(
                lambda: time.monotonic() - away > OUTAGE_SECONDS, "the outage to last", PATIENCE
            )
            assert scheduler.answer("/livez")[0] == 200
            plane.start_apiserver()
            pods = wait_all_bound(plane, pods_wanted)
            check_bound_once(pods, audit)
            check_room(plane, pods)
            check_nothing_left(pods, scheduler)
            assert scheduler.pid == pid
