"""Which kinds are watched for which plugins, and what is kept of the objects."""

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest

import mooring as mr
from mooring import hook
from mooring.kube.client import Client
from mooring.live.informers import make_informers, watched_kinds
from mooring.model.kinds import BY_NAME
from mooring.model.meta import KubeObject
from mooring.model.storage import StorageClass
from mooring.model.workloads import PriorityClass
from mooring.plugins.in_tree import DEFAULT_PLUGINS
from mooring.testing import make_node, make_pod
from tests.unit.live.fake_cluster import fake_cluster
from tests.unit.scheduler.world import World


def kinds(config: dict[str, Any] | None = None, policy: mr.Policy | None = None) -> set[str]:
    world = World(config=config, policy=policy)
    found = watched_kinds(world.runtimes.values(), [policy] if policy is not None else [])
    return {kind.resource for kind in found}


def only(*plugins: str) -> dict[str, Any]:
    """A configuration with these plugins and what no scheduler can do without."""
    enabled = [{"name": name} for name in ("PrioritySort", "DefaultBinder", *plugins)]
    return {"profiles": [{"plugins": {"multiPoint": {"enabled": enabled, "disabled": ALL}}}]}


ALL = [{"name": "*"}]
CLAIMS = {"persistentvolumes", "persistentvolumeclaims", "storageclasses"}
#: What is watched for each plugin of the default set, besides nodes and pods.
WATCHED: dict[str, set[str]] = {
    "SchedulingGates": set(),
    "NodeUnschedulable": set(),
    "NodeName": set(),
    "TaintToleration": set(),
    "NodeAffinity": set(),
    "NodePorts": set(),
    "NodeResourcesFit": set(),
    "VolumeRestrictions": {"persistentvolumeclaims"},
    "NodeVolumeLimits": {"csinodes", "csidrivers", "volumeattachments", *CLAIMS},
    "VolumeBinding": {"csinodes", "csidrivers", "csistoragecapacities", *CLAIMS},
    "VolumeZone": CLAIMS,
    "PodTopologySpread": {"services", "replicasets", "statefulsets", "replicationcontrollers"},
    "InterPodAffinity": {"namespaces"},
    "DynamicResources": {"deviceclasses", "resourceclaims", "resourceslices"},
    "DefaultPreemption": {"poddisruptionbudgets"},
    "NodeResourcesBalancedAllocation": set(),
    "ImageLocality": set(),
    "NodeDeclaredFeatures": set(),
}


class TestKinds:
    def test_all_default_plugins(self) -> None:
        assert kinds() == {
            "nodes", "pods", "namespaces", "poddisruptionbudgets",
            "services", "replicasets", "statefulsets", "replicationcontrollers",
            "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments", *CLAIMS,
            "deviceclasses", "resourceclaims", "resourceslices",
        }  # fmt: skip

    def test_the_table_has_all_default_plugins(self) -> None:
        every = {one.name for one in DEFAULT_PLUGINS}
        assert {*WATCHED, "PrioritySort", "DefaultBinder"} == every  # these two are always there

    @pytest.mark.parametrize("plugin", WATCHED)
    def test_one_plugin(self, plugin: str) -> None:
        assert kinds(only(plugin)) == {"nodes", "pods", *WATCHED[plugin]}

    @pytest.mark.parametrize("seed", range(20))
    def test_some_plugins(self, seed: int) -> None:
        chance = random.Random(seed)
        some = chance.sample(list(WATCHED), chance.randint(2, 8))
        more = set().union(*(WATCHED[one] for one in some))
        assert kinds(only(*some)) == {"nodes", "pods", *more}

    def test_a_plugin_names_kinds_of_its_own(self) -> None:
        class Classes(hook.Filter, hook.Requeues):
            """Looks at priority classes."""

            name = "Classes"

            def filter(self, pod: mr.Pod, node: mr.Node) -> bool:
                return True

            def requeue_on(self) -> Sequence[hook.RequeueHint]:
                return [hook.RequeueHint(PriorityClass, hook.Action.ADD)]

        policy = mr.Policy("mine")
        policy.add(Classes())
        assert kinds(only(), policy) == {"nodes", "pods", "priorityclasses"}

    def test_a_plugin_reads_more_than_requeues_its_pods(self) -> None:
        class Quiet(hook.Filter, hook.Requeues):
            """Looks at storage classes, whose changes help nobody."""

            name = "Quiet"
            reads = (StorageClass,)

            def filter(self, pod: mr.Pod, node: mr.Node) -> bool:
                return True

            def requeue_on(self) -> Sequence[hook.RequeueHint]:
                return [hook.RequeueHint(PriorityClass, hook.Action.ADD)]

        policy = mr.Policy("mine")
        policy.add(Quiet())
        assert kinds(only(), policy) == {"nodes", "pods", "storageclasses"}

    def test_a_plugin_that_says_nothing_has_nothing_watched(self) -> None:
        policy = mr.Policy("mine")

        @policy.filter
        def fine(pod: mr.Pod, node: mr.Node) -> bool:
            return True

        assert kinds(only(), policy) == {"nodes", "pods"}

    def test_every_change_of_everything_is_no_kind(self) -> None:
        class Anything(hook.Filter, hook.Requeues):
            """Is requeued by everything."""

            name = "Anything"

            def filter(self, pod: mr.Pod, node: mr.Node) -> bool:
                return True

            def requeue_on(self) -> Sequence[hook.RequeueHint]:
                return [hook.RequeueHint(KubeObject, hook.Action.ANY)]

        policy = mr.Policy("mine")
        policy.add(Anything())
        assert kinds(only(), policy) == {"nodes", "pods"}


class TestInformers:
    def seen(self, *, whole_objects: bool, whole_victims: bool) -> dict[str, Any]:
        """What informers make of a node, a waiting pod and a pod on a node."""

        async def run() -> dict[str, Any]:
            found: dict[str, Any] = {}

            def on_changes(changes: list[Any]) -> None:
                found.update({change.object.name: change.object for change in changes})

            async with fake_cluster() as cluster, Client(cluster.config) as client:
                cluster.put_node(make_node("node"))
                cluster.put_pod(make_pod("waiting"))
                cluster.put_pod(make_pod("placed", node="node"))
                informers = make_informers(
                    client,
                    [BY_NAME["Node"], BY_NAME["Pod"]],
                    on_changes,
                    whole_objects=whole_objects,
                    whole_victims=whole_victims,
                )
                assert list(informers) == ["nodes", "pods"]
                tasks = [asyncio.create_task(one.run()) for one in informers.values()]
                for informer in informers.values():
                    await informer.wait_synced()
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                selectors = {
                    one.query.get("fieldSelector") for one in cluster.collections["pods"].seen
                }
                assert selectors == {"status.phase!=Succeeded,status.phase!=Failed"}
            return found

        return asyncio.run(run())

    @pytest.mark.parametrize(
        ("objects", "victims", "whole"),
        [
            (False, False, []),
            (True, False, ["node", "waiting"]),
            (True, True, ["node", "placed", "waiting"]),
        ],
    )
    def test_what_is_kept(self, objects: bool, victims: bool, whole: list[str]) -> None:
        found = self.seen(whole_objects=objects, whole_victims=victims)
        assert sorted(found) == ["node", "placed", "waiting"]
        kept = sorted(name for name, thing in found.items() if thing.source is not None)
        assert kept == whole
