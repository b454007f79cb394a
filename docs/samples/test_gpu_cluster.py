from pathlib import Path

from mooring.testing import cluster, make_node

GPU = "nvidia.com/gpu"
POLICY = Path(__file__).with_name("fair_gpus.py")


def test_gpus_are_packed_on_a_cluster() -> None:
    nodes = [make_node("a", extended={GPU: 4}), make_node("b", extended={GPU: 4})]
    with cluster(nodes, policy=POLICY) as c:
        c.create_pod("first", requests={GPU: 1})
        node = c.wait_scheduled("first")
        c.create_pod("second", requests={GPU: 1})
        assert c.wait_scheduled("second") == node

        c.create_pod("large", requests={GPU: 3})
        rejection = c.wait_unschedulable("large")
        assert "1 Insufficient nvidia.com/gpu" in rejection.message
        assert "1 namespace would use more than half of the GPUs" in rejection.message
        assert c.wait_event("large", "FailedScheduling").message == rejection.message


def test_a_deployment_comes_to_life() -> None:
    with cluster(nodes=3) as c:
        c.apply(
            """
            apiVersion: apps/v1
            kind: Deployment
            metadata: {name: web}
            spec:
              replicas: 3
              selector: {matchLabels: {app: web}}
              template:
                metadata: {labels: {app: web}}
                spec:
                  containers: [{name: web, image: "nginx:1"}]
                  topologySpreadConstraints:
                  - maxSkew: 1
                    topologyKey: kubernetes.io/hostname
                    whenUnsatisfiable: DoNotSchedule
                    labelSelector: {matchLabels: {app: web}}
            """
        )
        assert set(c.wait_placements(3).values()) == {"node-1", "node-2", "node-3"}
