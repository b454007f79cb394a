"""Plans in virtual time: claims that are bound when their pod has a node."""

from tests.unit.simulator.scenarios import by_name, play

VOLUMES = """
cluster:
  nodeGroups: [{name: n, count: 2, cpu: 4, zones: [a, b]}]
  objects:
    - apiVersion: storage.k8s.io/v1
      kind: StorageClass
      metadata: {name: local}
      provisioner: kubernetes.io/no-provisioner
      volumeBindingMode: WaitForFirstConsumer
    - apiVersion: v1
      kind: PersistentVolume
      metadata: {name: disk}
      spec:
        capacity: {storage: 10Gi}
        accessModes: [ReadWriteOnce]
        storageClassName: local
        local: {path: /disk}
        nodeAffinity:
          required:
            nodeSelectorTerms:
              - matchExpressions:
                  - {key: topology.kubernetes.io/zone, operator: In, values: [b]}
    - apiVersion: v1
      kind: PersistentVolumeClaim
      metadata: {name: data}
      spec:
        accessModes: [ReadWriteOnce]
        storageClassName: local
        resources: {requests: {storage: 5Gi}}
workloads:
  - name: db
    pod:
      cpu: 1
      spec: {volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}
  - name: other
    pod:
      cpu: 1
      spec: {volumes: [{name: data, persistentVolumeClaim: {claimName: none}}]}
"""


def test_a_pod_goes_where_its_volume_is_and_waits_for_its_claim() -> None:
    result = play(VOLUMES)
    pods = by_name(result)
    assert pods["db-1"].node == "n-2"
    assert pods["db-1"].bound is not None
    assert pods["other-1"].node == ""
    assert 'persistentvolumeclaim "none" not found' in pods["other-1"].reason
