from typing import Any

import numpy as np
import pytest

from mooring.framework.cycle import Cycle
from mooring.framework.hook import SKIP
from mooring.framework.plans.plan import Plan, Write
from mooring.framework.verdict import ACCEPT, Verdict, fail, reject
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    default_storage,
)
from mooring.plugins.volumes.pod_claims import claims_of
from mooring.plugins.volumes.volume_binding import VolumeBinding
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import (
    accepted,
    begin,
    cluster_of,
    filtered,
    made,
    pre_filtered,
    problems,
)
from tests.unit.plugins.volumes.volume_objects import (
    ZONE,
    affinity,
    capacity,
    claim,
    csi_node,
    driver,
    pod_with,
    storage_class,
    volume,
)

NODES = (make_node("a", labels={ZONE: "z1"}), make_node("b", labels={ZONE: "z2"}))
POD = pod_with("claim")
LOCAL = storage_class("local", provisioner="kubernetes.io/no-provisioner")
ELSEWHERE = reject("node(s) didn't match PersistentVolume's node affinity", unresolvable=True)
NO_VOLUME = reject("node(s) didn't find available persistent volumes to bind", unresolvable=True)
NO_SPACE = reject("node(s) did not have enough free storage", unresolvable=True)
LOST = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


#: These objects were never stored.
VERSION = None


def writes(plan: Plan) -> list[Write]:
    """A plan's writes; none of them depends on others."""
    assert all(isinstance(one, Write) for one in plan.writes)
    return [one for one in plan.writes if isinstance(one, Write)]


def binding() -> VolumeBinding:
    return made(VolumeBinding)


def answers(*things: KubeObject, pod: Pod = POD) -> dict[str, Verdict]:
    return filtered(binding(), cluster_of(*NODES, *things), pod)


def decided(plugin: VolumeBinding, cluster: Cluster, pod: Pod) -> Cycle:
    """A decision up to the filters."""
    cycle = begin(cluster, pod)
    assert plugin.pre_filter(cycle) is None
    plugin.filter_nodes(pod, cycle.nodes)
    return cycle


class TestClaims:
    def test_pods_without_claims_are_none_of_its_business(self) -> None:
        for pod in (make_pod(), pod_with({"emptyDir": {}}), pod_with({"csi": {"driver": "d"}})):
            assert pre_filtered(binding(), cluster_of(*NODES), pod) is SKIP

    @pytest.mark.parametrize(
        ("things", "reason"),
        [
            ((), 'persistentvolumeclaim "claim" not found'),
            ((claim(of="now"),), "pod has unbound immediate PersistentVolumeClaims"),
            (
                (claim(of="now"), storage_class("now", waits=False)),
                "pod has unbound immediate PersistentVolumeClaims",
            ),
            ((claim(),), "pod has unbound immediate PersistentVolumeClaims"),
            (
                (claim(of="local", volumeName="pv"), LOCAL),  # meant for it, but not bound for good
                "pod has unbound immediate PersistentVolumeClaims",
            ),
        ],
    )
    def test_what_hinders_on_every_node_rejects_the_pod(
        self, things: tuple[KubeObject, ...], reason: str
    ) -> None:
        answer = pre_filtered(binding(), cluster_of(*NODES, *things), POD)
        assert answer == reject(reason, unresolvable=True)

    def test_lost_and_dying_claims_reject_the_pod(self) -> None:
        lost = {"metadata": {"name": "claim"}, "spec": {"volumeName": "pv"}}
        things = [
            PersistentVolumeClaim.from_dict({**lost, "status": {"phase": "Lost"}}),
            PersistentVolumeClaim.from_dict(
                {"metadata": {"name": "claim", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
            ),
        ]
        reasons = [
            pre_filtered(binding(), cluster_of(*NODES, default_storage(one)), POD) for one in things
        ]
        assert reasons == [
            reject(
                'persistentvolumeclaim "claim" bound to non-existent persistentvolume "pv"',
                unresolvable=True,
            ),
            reject('persistentvolumeclaim "claim" is being deleted', unresolvable=True),
        ]

    def test_a_claim_of_the_pods_own_is_waited_for_and_must_be_its_own(self) -> None:
        pod = pod_with({"ephemeral": {}})
        cluster = cluster_of(*NODES, storage_class("c"))
        assert pre_filtered(binding(), cluster, pod) == reject(
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "pod-v0"',
            unresolvable=True,
        )
        cluster.put(claim("pod-v0", of="c"))
        assert pre_filtered(binding(), cluster, pod) == reject(
            "PVC default/pod-v0 was not created for pod default/pod (pod is not owner)",
            unresolvable=True,
        )
        cluster.put(claim("pod-v0", of="c", owner="uid-default-pod"))
        assert accepted(binding(), cluster, pod) == ["a", "b"]

    def test_a_class_that_does_not_say_when_it_binds_cannot_be_used(self) -> None:
        unfinished = StorageClass.from_dict({"metadata": {"name": "c"}, "provisioner": "p"})
        cluster = cluster_of(*NODES, claim(of="c"), unfinished)
        assert pre_filtered(binding(), cluster, POD) == fail(
            'VolumeBindingMode not set for StorageClass "c"'
        )

    def test_a_claim_that_vanishes_meanwhile_is_an_error(self) -> None:
        cluster, other = cluster_of(claim(of="local"), LOCAL), cluster_of()
        answer = claims_of(POD, cluster.catalog, other.assume_cache)
        assert answer == fail(
            'error getting PVC "default/claim": persistentvolumeclaims "default/claim" not found'
        )


class TestBoundClaims:
    def test_the_volume_must_be_reachable(self) -> None:
        found = answers(claim(bound="pv"), volume("pv", nodeAffinity=affinity(ZONE, "z2")))
        assert found == {"a": ELSEWHERE, "b": ACCEPT}

    def test_a_volume_without_affinity_is_everywhere(self) -> None:
        assert answers(claim(bound="pv"), volume("pv")) == {"a": ACCEPT, "b": ACCEPT}

    def test_names_of_nodes_do_not_count_for_volumes(self) -> None:
        fields = [{"key": "metadata.name", "operator": "In", "values": ["b"]}]
        terms = {"required": {"nodeSelectorTerms": [{"matchFields": fields}]}}
        assert answers(claim(bound="pv"), volume("pv", nodeAffinity=terms))["a"] == ACCEPT

    def test_a_volume_that_is_gone_hinders_where_nothing_else_did_before(self) -> None:
        found = answers(
            claim("one", bound="pv"),
            claim("two", bound="gone"),
            volume("pv", nodeAffinity=affinity(ZONE, "z2")),
            pod=pod_with("one", "two"),
        )
        assert found == {"a": ELSEWHERE, "b": reject(LOST, unresolvable=True)}

    def test_migrated_volumes_go_by_the_drivers_label(self) -> None:
        nodes = [make_node(name, labels={"topology.gke.io/zone": "z"}) for name in ("new", "old")]
        disk = volume("pv", nodeAffinity=affinity(ZONE, "z"), gcePersistentDisk={"pdName": "d"})
        cluster = cluster_of(*NODES, *nodes, claim(bound="pv"), disk)
        assert accepted(binding(), cluster, POD) == []
        cluster.put(csi_node("gone", {}, migrated="kubernetes.io/gce-pd"))
        cluster.put(csi_node("new", {}, migrated="kubernetes.io/aws-ebs,kubernetes.io/gce-pd"))
        assert accepted(binding(), cluster, POD) == ["new"]

    def test_a_volume_that_cannot_be_translated_is_an_error_where_it_is_migrated(self) -> None:
        disk = volume("pv", azureDisk={"diskURI": "u"})
        found = answers(
            claim(bound="pv"), disk, csi_node("b", {}, migrated="kubernetes.io/azure-disk")
        )
        problem = "could not translate pv: kind(Shared) is not supported in csi migration"
        assert found == {"a": ACCEPT, "b": fail(problem)}


class TestExistingVolumes:
    def test_a_claim_gets_a_volume_where_there_is_one(self) -> None:
        found = answers(claim(of="local"), LOCAL, volume("pv", of="local", node="b"))
        assert found == {"a": NO_VOLUME, "b": ACCEPT}

    def test_reasons_add_up(self) -> None:
        found = answers(
            claim("one", bound="pv"),
            claim("two", of="local"),
            LOCAL,
            volume("pv", nodeAffinity=affinity(ZONE, "z2")),
            pod=pod_with("one", "two"),
        )
        both = Verdict(
            accepted=False, reason=ELSEWHERE.reason, also=(NO_VOLUME.reason,), unresolvable=True
        )
        assert found == {"a": both, "b": NO_VOLUME}

    def test_two_claims_need_two_volumes(self) -> None:
        found = answers(
            *(claim(name, of="local") for name in ("one", "two")),
            LOCAL,
            volume("a1", of="local", node="a"),
            volume("b1", of="local", node="b"),
            volume("b2", of="local", node="b"),
            pod=pod_with("one", "two"),
        )
        assert found == {"a": NO_VOLUME, "b": ACCEPT}

    def test_the_smaller_claim_chooses_first(self) -> None:
        found = answers(
            claim("large", of="local", size="8Gi"),
            claim("small", of="local", size="1Gi"),
            LOCAL,
            volume("pv1", of="local", size="2Gi", node="a"),
            volume("pv2", of="local", size="9Gi", node="a"),
            pod=pod_with("large", "small"),
        )
        assert found["a"] == ACCEPT

    def test_volumes_without_affinity_are_shared_by_all_nodes(self) -> None:
        things = [LOCAL, volume("any", of="local", size="5Gi"), volume("pv", of="local", node="a")]
        pod = pod_with("one", "two")
        claims = [claim(name, of="local") for name in ("one", "two")]
        assert answers(*things, *claims, pod=pod) == {"a": ACCEPT, "b": NO_VOLUME}


class TestNewVolumes:
    def test_the_class_says_where_volumes_can_be_made(self) -> None:
        zones = [{"matchLabelExpressions": [{"key": ZONE, "values": ["z2", "z3"]}]}]
        found = answers(claim(of="c"), storage_class("c", allowedTopologies=zones))
        assert found == {"a": NO_VOLUME, "b": ACCEPT}

    def test_a_class_that_makes_no_volumes(self) -> None:
        assert answers(claim(of="local"), LOCAL) == {"a": NO_VOLUME, "b": NO_VOLUME}

    def test_there_must_be_enough_storage_left_if_the_driver_counts(self) -> None:
        things = [
            claim(of="c", size="5Gi"),
            storage_class("c", provisioner="d"),
            capacity("one", "c", "4Gi", {ZONE: "z1"}),
            capacity("two", "c", "9Gi", {ZONE: "z2"}),
        ]
        assert answers(*things, driver("d", capacity=True)) == {"a": NO_SPACE, "b": ACCEPT}
        assert answers(*things, driver("d", capacity=False)) == {"a": ACCEPT, "b": ACCEPT}

    def test_an_existing_volume_is_preferred_to_making_one(self) -> None:
        cluster = cluster_of(
            *NODES, claim(of="c"), storage_class("c"), volume("pv", of="c", node="a")
        )
        plugin = binding()
        for name, written in (("a", "pv"), ("b", "claim")):
            cycle = decided(plugin, cluster, POD)
            plan = plugin.reserve(cycle, cluster.nodes[name])
            assert isinstance(plan, Plan)
            assert [one.key.rpartition("/")[2] for one in writes(plan)] == [written]
            plugin.unreserve(cycle, cluster.nodes[name])

    def test_a_class_that_vanishes_meanwhile_is_an_error(self) -> None:
        cluster, plugin = cluster_of(*NODES, claim(of="c"), storage_class("c")), binding()
        cluster.put(volume("pv", of="c", node="a"))
        cycle = begin(cluster, POD)
        assert plugin.pre_filter(cycle) is None
        cluster.remove(storage_class("c"))
        verdicts = plugin.filter_nodes(POD, cycle.nodes)
        assert list(verdicts) == [ACCEPT, fail('failed to find storage class "c"')]

    def test_a_claim_whose_volume_is_being_made_stays_on_its_node(self) -> None:
        found = answers(claim(of="c", annotations={SELECTED_NODE: "b"}), storage_class("c"))
        assert found == {"a": NO_VOLUME, "b": ACCEPT}
        gone = answers(claim(of="c", annotations={SELECTED_NODE: "gone"}), storage_class("c"))
        assert gone == {"a": NO_VOLUME, "b": NO_VOLUME}


class TestReserve:
    @staticmethod
    def two_claims() -> Cluster:
        return cluster_of(
            *NODES,
            LOCAL,
            storage_class("c"),
            *(claim(name, of="local") for name in ("one", "two")),
            *(claim(name, of="c") for name in ("new", "newer")),
            volume("pv", of="local"),
        )

    def test_a_volume_that_was_given_away_is_not_free_for_the_next_pod(self) -> None:
        cluster, plugin = self.two_claims(), binding()
        first = decided(plugin, cluster, pod_with("one", name="first"))
        assert isinstance(plugin.reserve(first, cluster.nodes["a"]), Plan)
        assert accepted(plugin, cluster, pod_with("two")) == []
        # The same claim, used by another pod, has its volume already.
        assert accepted(plugin, cluster, pod_with("one")) == ["a", "b"]
        plugin.unreserve(first, cluster.nodes["a"])
        plugin.unreserve(first, cluster.nodes["a"])
        assert len(cluster.assume_cache) == 0
        assert accepted(plugin, cluster, pod_with("two")) == ["a", "b"]

    def test_profiles_share_what_they_assume(self) -> None:
        cluster, plugin = self.two_claims(), binding()
        first = decided(plugin, cluster, pod_with("one", name="first"))
        plugin.reserve(first, cluster.nodes["a"])
        assert accepted(binding(), cluster, pod_with("two")) == []

    def test_a_volume_to_be_made_is_for_the_chosen_node(self) -> None:
        cluster, plugin = self.two_claims(), binding()
        cycle = decided(plugin, cluster, pod_with("new"))
        plugin.reserve(cycle, cluster.nodes["b"])
        assert accepted(plugin, cluster, pod_with("new", name="other")) == ["b"]

    def test_the_plan_says_what_has_to_be_written(self) -> None:
        cluster, plugin = self.two_claims(), binding()
        cycle = decided(plugin, cluster, pod_with("new", "one"))
        plan = plugin.reserve(cycle, cluster.nodes["b"])
        assert isinstance(plan, Plan)
        assert (plan.doing, plan.seconds) == ("binding volumes", 600)
        bound, made_later = writes(plan)
        assert (bound.verb, bound.kind, bound.key) == ("patch", PersistentVolume, "pv")
        reference = {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "default",
            "name": "one", "uid": "uid-default-one", "resourceVersion": VERSION,
        }  # fmt: skip
        assert bound.body == {
            "metadata": {"resourceVersion": VERSION, "annotations": {BOUND_BY_CONTROLLER: "yes"}},
            "spec": {"claimRef": reference},
        }
        assert (made_later.kind, made_later.key) == (PersistentVolumeClaim, "default/new")
        assert made_later.body == {
            "metadata": {"resourceVersion": VERSION, "annotations": {SELECTED_NODE: "b"}}
        }
        assert set(plan.objects) == {
            (Node, "b"),
            (PersistentVolumeClaim, "default/one"),
            (PersistentVolume, "pv"),
            (PersistentVolumeClaim, "default/new"),
        }

    def test_a_volume_the_user_reserved_is_not_marked(self) -> None:
        mine = {"namespace": "default", "name": "claim"}
        cluster = cluster_of(
            *NODES, LOCAL, claim(of="local"), volume("pv", of="local", claimRef=mine)
        )
        plugin = binding()
        cycle = decided(plugin, cluster, POD)
        plan = plugin.reserve(cycle, cluster.nodes["a"])
        assert isinstance(plan, Plan)
        (written,) = writes(plan)
        assert written.body["metadata"] == {"resourceVersion": VERSION, "annotations": {}}

    def test_bound_claims_need_no_plan(self) -> None:
        cluster, plugin = cluster_of(*NODES, claim(bound="pv"), volume("pv")), binding()
        cycle = decided(plugin, cluster, POD)
        assert plugin.reserve(cycle, cluster.nodes["a"]) is None

    def test_pods_without_claims_need_no_plan(self) -> None:
        cluster, plugin = cluster_of(*NODES), binding()
        cycle = begin(cluster, make_pod())
        assert plugin.pre_filter(cycle) is SKIP
        assert plugin.reserve(cycle, cluster.nodes["a"]) is None
        plugin.unreserve(cycle, cluster.nodes["a"])

    def test_what_cannot_be_assumed_undoes_the_rest(self) -> None:
        cluster, plugin = self.two_claims(), binding()
        cycle = decided(plugin, cluster, pod_with("one", "new"))
        cluster.remove(claim("new"))
        answer = plugin.reserve(cycle, cluster.nodes["a"])
        assert answer == fail('persistentvolumeclaims "default/new" not found')
        assert accepted(plugin, cluster, pod_with("two")) == ["a", "b"]


def test_asking_again_gives_the_same_answer() -> None:
    cluster = cluster_of(*NODES, LOCAL, claim(of="local"), volume("pv", of="local", node="b"))
    plugin = binding()
    cycle = decided(plugin, cluster, POD)
    assert list(plugin.filter_nodes(POD, cycle.nodes)) == [NO_VOLUME, ACCEPT]


def test_some_nodes_get_the_same_answers_as_all() -> None:
    cluster = cluster_of(*NODES, claim(bound="pv"), volume("pv", nodeAffinity=affinity(ZONE, "z2")))
    assert filtered(binding(), cluster, POD, ["b"]) == {"b": ACCEPT}
    assert filtered(binding(), cluster, POD, ["a"]) == {"a": ELSEWHERE}


def test_it_does_not_score() -> None:
    cluster: Cluster = cluster_of(*NODES)
    cycle = begin(cluster, POD)
    assert binding().pre_score(cycle, cycle.nodes) is SKIP
    scores = binding().score_nodes(POD, cycle.nodes)
    assert scores.dtype == np.int64
    assert scores.tolist() == [0, 0]


def test_arguments() -> None:
    assert made(VolumeBinding).bind_timeout_seconds == 600
    assert made(VolumeBinding, bindTimeoutSeconds=5).bind_timeout_seconds == 5
    assert problems(VolumeBinding, bindTimeoutSeconds=0) == []
    (negative,) = problems(VolumeBinding, bindTimeoutSeconds=-1)
    assert "-1 is negative" in negative
    point: Any = {"utilization": 0, "score": 10}
    (shape,) = problems(VolumeBinding, shape=[point])
    assert "StorageCapacityScoring" in shape
