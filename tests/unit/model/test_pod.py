from mooring import Pod
from mooring.testing import make_pod


def test_a_bare_pod_has_kubernetes_defaults() -> None:
    pod = Pod.from_dict({"metadata": {"name": "a"}})
    assert (pod.namespace, pod.key) == ("default", "default/a")
    assert pod.scheduler_name == "default-scheduler"
    assert (pod.priority, pod.node_name, pod.phase) == (0, "", "Pending")
    assert (pod.containers, pod.images, pod.node_selector, pod.tolerations) == ([], (), {}, [])
    assert not pod.finished


def test_what_a_pod_asks_for_is_at_hand() -> None:
    pod = Pod.from_dict(
        {
            "metadata": {"name": "a", "namespace": "b"},
            "spec": {
                "containers": [
                    {"name": "x", "image": "one", "ports": [{"hostPort": 80, "hostIP": "::1"}]},
                    {"name": "y", "image": "two"},
                ],
                "initContainers": [{"name": "z", "image": "three", "restartPolicy": "Always"}],
                "nodeSelector": {"disk": "ssd"},
                "tolerations": [{"key": "gpu", "operator": "Exists"}],
                "schedulerName": "mine",
                "priority": -5,
                "nodeName": "n1",
                "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "zone"}],
                "schedulingGates": [{"name": "quota"}],
            },
        }
    )
    assert pod.key == "b/a"
    assert pod.images == ("one", "two")
    assert [container.name for container in pod.containers] == ["x", "y"]
    port = (pod.containers[0].ports or [])[0]
    assert (port.host_port, port.host_ip, port.protocol) == (80, "::1", "TCP")
    assert pod.node_selector == {"disk": "ssd"}
    assert pod.tolerations[0].operator == "Exists"
    assert (pod.scheduler_name, pod.priority, pod.node_name) == ("mine", -5, "n1")
    assert (pod.spec.topology_spread_constraints or [])[0].max_skew == 2
    assert (pod.spec.scheduling_gates or [])[0].name == "quota"
    assert repr(pod) == "<Pod b/a>"


def test_what_decides_where_a_pod_can_run_is_read() -> None:
    pod = Pod.from_dict(
        {
            "spec": {
                "containers": [{"restartPolicyRules": [{"action": "RestartAllContainers"}]}],
                "hostUsers": False,
                "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
                "resourceClaims": [{"name": "gpu", "resourceClaimName": "x"}],
                "schedulingGroup": {"podGroupName": "g"},
            }
        }
    )
    rules = pod.containers[0].restart_policy_rules or []
    assert [rule.action for rule in rules] == ["RestartAllContainers"]
    assert pod.spec.host_users is False
    assert [volume.claim_for("a") for volume in pod.spec.volumes or ()] == ["c"]
    assert [claim.name for claim in pod.spec.resource_claims or ()] == ["gpu"]
    assert pod.spec.scheduling_group is not None
    assert Pod().spec.scheduling_group is None


def test_a_pod_is_finished_in_its_last_two_phases() -> None:
    phases = ("Pending", "Running", "Unknown", "Succeeded", "Failed")
    finished = [Pod.from_dict({"status": {"phase": phase}}).finished for phase in phases]
    assert finished == [False, False, False, True, True]


def test_requests_are_computed_once() -> None:
    pod = make_pod(requests={"cpu": "1"})
    assert pod.requests is pod.requests


def test_pods_share_tolerations_and_have_lists_of_their_own() -> None:
    toleration = {"key": "node.kubernetes.io/not-ready", "operator": "Exists"}
    first, second = (
        Pod.from_dict({"spec": {"tolerations": [dict(toleration)]}}).spec.tolerations
        for _ in range(2)
    )
    assert first is not None
    assert second is not None
    assert first is not second
    assert first[0] is second[0]
