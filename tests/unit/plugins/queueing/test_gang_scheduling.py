from mooring.config.plugin_entry import extension_points_of
from mooring.plugins.queueing.gang_scheduling import GangScheduling
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import begin, cluster_of

GROUPED = make_pod(spec={"schedulingGroup": {"podGroupName": "g"}})
REASON = "pod groups (spec.schedulingGroup) are not supported by mooring yet"


def test_it_has_the_extension_points_of_kube_scheduler() -> None:
    assert extension_points_of(GangScheduling) == ("preEnqueue", "permit")


def test_pods_of_a_group_are_held_back() -> None:
    cluster = cluster_of(make_node("a"))
    plugin = GangScheduling()
    for verdict in (
        plugin.pre_enqueue(GROUPED),
        plugin.permit(begin(cluster, GROUPED), cluster.nodes["a"]),
    ):
        assert verdict is not None
        assert (verdict.code, verdict.reason) == ("UnschedulableAndUnresolvable", REASON)


def test_other_pods_pass_through() -> None:
    cluster = cluster_of(make_node("a"))
    plugin = GangScheduling()
    assert plugin.pre_enqueue(make_pod()) is None
    assert plugin.permit(begin(cluster, make_pod()), cluster.nodes["a"]) is None
