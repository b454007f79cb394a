"""New pods that say something wrong about where they want to be, or about their volumes."""

from tests.unit.embedded.validation.builders import (
    Obj,
    container,
    expression,
    node_affinity,
    obj,
    pod,
    pod_affinity,
    spread,
    volume,
    with_meta,
)

#: By what is wrong.
NEW_PLACEMENTS: dict[str, Obj] = {
    # placement
    "node selector": pod(nodeSelector={"a b": "c d"}),
    "no node terms": node_affinity(),
    "node operator": node_affinity(expression("a", "Equals", "b")),
    "node In without values": node_affinity(expression("a", "In")),
    "node Exists with values": node_affinity(expression("a", "Exists", "b")),
    "node Gt": node_affinity(expression("a", "Gt", "1", "2")),
    "node key": node_affinity(expression("a b", "In", "c d")),
    "node field": node_affinity({"matchFields": [{"key": "metadata.uid", "operator": "Exists"}]}),
    "node field values": node_affinity(
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "B"]}]}
    ),
    "node weight": node_affinity(
        preferred=[{"weight": 0, "preference": expression("a", "In", "b")},
                   {"weight": 101, "preference": {}}]
    ),
    "node preference": node_affinity(
        preferred=[{"weight": 1, "preference": expression("", "in", "b")}]
    ),
    "no topology key": pod_affinity({"labelSelector": {}, "topologyKey": ""}),
    "topology key": pod_affinity({"labelSelector": {}, "topologyKey": "a b"}, "podAntiAffinity"),
    "pod weight": pod_affinity({"topologyKey": "a"}, weight=1000),
    "pod selector": pod_affinity(
        {"topologyKey": "a", "labelSelector": expression("a", "Gt", "1")}, "podAntiAffinity"
    ),
    "pod selector values": pod_affinity(
        {"topologyKey": "a", "namespaceSelector": expression("a", "NotIn"),
         "labelSelector": expression("a", "DoesNotExist", "b")}
    ),
    "pod selector labels": pod_affinity(
        {"topologyKey": "a", "labelSelector": {"matchLabels": {"a": "b c"}}}
    ),
    "pod namespaces": pod_affinity({"topologyKey": "a", "namespaces": ["A", "b.c"]}),
    "match label keys without selector": pod_affinity(
        {"topologyKey": "a", "matchLabelKeys": ["b"]}
    ),
    "match and mismatch": pod_affinity(
        {"topologyKey": "a", "labelSelector": {}, "matchLabelKeys": ["b"],
         "mismatchLabelKeys": ["b", "c d"]}
    ),
    "match label keys in selector": with_meta(
        pod_affinity(
            {"topologyKey": "a", "labelSelector": {"matchLabels": {"b": "c"}},
             "matchLabelKeys": ["b"]}
        ),
        labels={"b": "c"},
    ),
    "toleration key": pod(tolerations=[{"key": "a b", "operator": "Exists"}]),
    "toleration without key": pod(tolerations=[{"operator": "Equal", "value": "a"}]),
    "toleration operator": pod(tolerations=[{"key": "a", "operator": "In"}]),
    "toleration Gt": pod(tolerations=[{"key": "a", "operator": "Gt", "value": "1"}]),
    "toleration Exists with value": pod(
        tolerations=[{"key": "a", "operator": "Exists", "value": "b"}]
    ),
    "toleration value": pod(tolerations=[{"key": "a", "value": "b c"}]),
    "toleration effect": pod(tolerations=[{"key": "a", "effect": "Never"}]),
    "toleration seconds": pod(
        tolerations=[{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 1}]
    ),
    "max skew": spread({"maxSkew": 0}),
    "spread without key": spread({"topologyKey": ""}),
    "spread action": spread({"whenUnsatisfiable": "Maybe"}),
    "spread twice": spread({}, {}),
    "min domains": spread({"minDomains": 0, "whenUnsatisfiable": "ScheduleAnyway"}),
    "spread policies": spread({"nodeAffinityPolicy": "Obey", "nodeTaintsPolicy": "Obey"}),
    "spread selector": spread({"labelSelector": expression("a", "In")}),
    "spread match label keys": spread({"matchLabelKeys": ["a"]}),
    "spread match label keys twice": with_meta(
        spread({"labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["a"]}),
        labels={"a": "b"},
    ),
    "gates": pod(schedulingGates=[{"name": "a b"}, {"name": "c"}, {"name": "c"}]),
    "gated with a node": pod(schedulingGates=[{"name": "a"}], nodeName="n"),
    "node name": pod(nodeName="N_1"),
    "restart policy": pod(restartPolicy="Sometimes"),
    "dns policy": pod(dnsPolicy="Sometimes"),
    "dns None": pod(dnsPolicy="None"),
    "dns None without servers": pod(dnsPolicy="None", dnsConfig={"searches": ["a"]}),
    "dns config": pod(
        dnsConfig={"nameservers": ["a", "1.2.3.04"], "searches": ["A"], "options": [{}]}
    ),
    "active deadline": pod(activeDeadlineSeconds=0),
    "hostname": pod(hostname="a.b", subdomain="A"),
    "host aliases": pod(hostAliases=[{"ip": "a", "hostnames": ["B"]}]),
    "service account name": pod(serviceAccountName="A"),
    "preemption policy": obj("scheduling.k8s.io/v1", "PriorityClass", value=1,
                             preemptionPolicy="Sometimes"),
    "readiness gate": pod(readinessGates=[{"conditionType": "a b"}]),
    "share process namespace": pod(shareProcessNamespace=True, hostPID=True),
    "pod security context": pod(
        securityContext={"fsGroup": -1, "supplementalGroups": [-2],
                         "sysctls": [{"name": "a b", "value": "c"}]}
    ),
    "host users": pod(hostUsers=False, hostNetwork=True, hostPID=True),
    "operating system": pod(os={"name": "plan9"}),
    "deletion cost": with_meta(
        pod(), annotations={"controller.kubernetes.io/pod-deletion-cost": "01"}
    ),
    "mirror pod": with_meta(pod(), annotations={"kubernetes.io/config.mirror": "a"}),
    # volumes
    "volume without a source": volume(),
    "volume with two sources": volume(hostPath={"path": "/a"}, configMap={"name": "a"}),
    "volume name": pod(volumes=[{"name": "V", "emptyDir": {}}, {"emptyDir": {}}]),
    "duplicate volume": pod(
        volumes=[{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]
    ),
    "claim without a name": volume(persistentVolumeClaim={"claimName": ""}),
    "host path": volume(hostPath={"path": "/a/../b", "type": "Folder"}),
    "host path missing": volume(hostPath={"path": ""}),
    "config map volume": volume(
        configMap={"items": [{"key": "", "path": "../a"}], "defaultMode": 512}
    ),
    "secret volume": volume(secret={"items": [{"key": "a", "path": "/b", "mode": -1}]}),
    "size limit": volume(emptyDir={"sizeLimit": "-1Gi"}),
    "downward volume": volume(
        downwardAPI={"items": [{"path": "a"}, {"path": "b", "resourceFieldRef":
                     {"resource": "limits.cpu"}}]}
    ),
    "projected volume": volume(
        projected={"sources": [
            {"secret": {"name": "a", "items": [{"key": "k", "path": "p"}]}},
            {"configMap": {"name": "", "items": [{"key": "k", "path": "p"}]}},
            {"serviceAccountToken": {"path": "", "expirationSeconds": 1}},
        ]}
    ),
    "csi volume": volume(csi={"driver": "a_b"}),
    "nfs volume": volume(nfs={"server": "", "path": "a"}),
    "ephemeral volume": volume(ephemeral={"volumeClaimTemplate": {"spec": {}}}),
    "ephemeral without template": volume(ephemeral={}),
    "mount of nothing": pod(container(volumeMounts=[{"name": "v", "mountPath": "/a"}])),
    "mount twice": pod(
        container(volumeMounts=[{"name": "v", "mountPath": "/a"},
                                {"name": "v", "mountPath": "/a", "subPath": "../b"},
                                {"name": "v", "mountPath": ""}]),
        volumes=[{"name": "v", "emptyDir": {}}],
    ),
    "mount propagation": pod(
        container(volumeMounts=[
            {"name": "v", "mountPath": "/a", "mountPropagation": "Bidirectional"},
            {"name": "v", "mountPath": "/b", "mountPropagation": "Both"},
            {"name": "v", "mountPath": "/c", "recursiveReadOnly": "Enabled"},
        ]),
        volumes=[{"name": "v", "emptyDir": {}}],
    ),
    "device of a directory": pod(
        container(volumeDevices=[{"name": "v", "devicePath": "/a/../b"},
                                 {"name": "w", "devicePath": ""}]),
        volumes=[{"name": "v", "emptyDir": {}}],
    ),
}  # fmt: skip
