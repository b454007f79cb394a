"""New objects other than pods in which something is wrong."""

from tests.unit.embedded.validation.builders import (
    FULL_EVENT,
    LONG,
    NEW_EVENTS,
    RBAC,
    TIME,
    Obj,
    budget,
    claim,
    container,
    event,
    expression,
    job,
    node,
    obj,
    pv,
    service,
    storage_class,
    template,
    workload,
)

#: By what is wrong.
NEW_KINDS: dict[str, Obj] = {
    # nodes
    "taint": node({"taints": [{"key": "a b", "value": "c d", "effect": "Never"}, {"key": "a"}]}),
    "taint twice": node(
        {"taints": [{"key": "a", "effect": "NoSchedule"},
                    {"key": "a", "value": "b", "effect": "NoSchedule"}]}
    ),
    "capacity": node(status={"capacity": {"cpu": "-1"}, "allocatable": {"pods": "1500m"}}),
    "pod networks": node({"podCIDR": "10.0.0.1/24", "podCIDRs": ["10.0.0.1/24"]}),
    "pod network": node({"podCIDR": "a", "podCIDRs": ["a"]}),
    "two pod networks": node(
        {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"]}
    ),
    # workloads
    "no selector": workload("Deployment", selector=None),
    "empty selector": workload("Deployment", selector={}),
    "selector of another": workload("Deployment", selector={"matchLabels": {"app": "b"}}),
    "selector operator": workload(
        "Deployment", selector=expression("a", "Equals", "b")
    ),
    "negative replicas": workload("Deployment", replicas=-1, minReadySeconds=-1),
    "deployment strategy": workload("Deployment", strategy={"type": "Never"}),
    "recreate with numbers": workload(
        "Deployment", strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}
    ),
    "rolling update of nothing": workload(
        "Deployment",
        strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}},
    ),
    "rolling update percent": workload(
        "Deployment",
        strategy={"type": "RollingUpdate",
                  "rollingUpdate": {"maxSurge": "a%", "maxUnavailable": "101%"}},
    ),
    "progress deadline": workload("Deployment", progressDeadlineSeconds=1, minReadySeconds=2),
    "template restart policy": workload("Deployment", template=template(restartPolicy="Never")),
    "template deadline": workload("Deployment", template=template(activeDeadlineSeconds=1)),
    "template without containers": workload("Deployment", template=template(containers=[])),
    "template labels": workload("Deployment", template=template({"app": "a", "b": "c d"})),
    "replica set": workload("ReplicaSet", selector={"matchLabels": {"app": "b"}}, replicas=-1),
    "replica set without template": obj("apps/v1", "ReplicaSet", spec={"replicas": 1}),
    "stateful set": workload(
        "StatefulSet", serviceName="A", podManagementPolicy="Any",
        updateStrategy={"type": "Never"},
    ),
    "stateful set on delete": workload(
        "StatefulSet", updateStrategy={"type": "OnDelete", "rollingUpdate": {"partition": 1}},
        replicas=-1, template=template({"app": "b"}),
    ),
    "stateful set claims": workload(
        "StatefulSet", volumeClaimTemplates=[{"metadata": {"name": "v"}, "spec": {}}],
        template=template(containers=[container(volumeMounts=[{"name": "v", "mountPath": "/a"},
                                                {"name": "w", "mountPath": "/b"}])]),
    ),
    "stateful set name": obj("apps/v1", "StatefulSet", "a.b", spec=workload("StatefulSet")["spec"]),
    "daemon set": workload(
        "DaemonSet", selector={"matchLabels": {"app": "b"}}, minReadySeconds=-1,
        updateStrategy={"type": "Sometimes"},
    ),
    "daemon set update": workload(
        "DaemonSet",
        updateStrategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}},
    ),
    "daemon set without update": workload(
        "DaemonSet", updateStrategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}
    ),
    "daemon set empty selector": workload("DaemonSet", selector={}),
    "replication controller": obj(
        "v1", "ReplicationController",
        spec={"selector": {"app": "b"}, "replicas": -1, "template": template()},
    ),
    "replication controller without template": obj("v1", "ReplicationController", spec={}),
    "pod template": obj("v1", "PodTemplate", template=template(containers=[])),
    "job restart policy": job(template=template({})),
    "job policy": job(template=template({}, restartPolicy="Sometimes")),
    "job numbers": job(
        parallelism=-1, completions=-2, backoffLimit=-3, activeDeadlineSeconds=-4,
        ttlSecondsAfterFinished=-5,
    ),
    "job mode": job(completionMode="Some", podReplacementPolicy="Never"),
    "job indexed": job(completionMode="Indexed", maxFailedIndexes=1),
    "job not indexed": job(backoffLimitPerIndex=1),
    "job selector": job(selector={"matchLabels": {"a": "b"}}),
    "job manual selector": job(
        manualSelector=True, selector={"matchLabels": {"a": "b"}},
        template=template({"c": "d"}, restartPolicy="Never"),
    ),
    "job manager": job(managedBy="me"),
    "job failure policy": job(
        podFailurePolicy={"rules": [
            {"action": "Retry", "onExitCodes": {"operator": "Is", "values": [2, 1]}},
            {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [0, 0]}},
        ]},
    ),
    "job failure conditions": job(
        podFailurePolicy={"rules": [
            {"action": "FailJob", "onPodConditions": [{"type": "a b", "status": "Some"}]},
            {"action": "FailJob"},
            {"action": "Count", "onExitCodes": {"operator": "In", "values": [1],
             "containerName": "d"}, "onPodConditions": [{"type": "a", "status": "True"}]},
        ]},
    ),
    "cron job": obj(
        "batch/v1", "CronJob",
        spec={"schedule": "", "concurrencyPolicy": "Maybe", "successfulJobsHistoryLimit": -1,
              "jobTemplate": {"spec": {"template": template({})}}},
    ),
    # storage
    "claim without anything": obj("v1", "PersistentVolumeClaim", spec={}),
    "claim modes": claim(accessModes=["ReadWriteOncePod", "ReadWriteOnce", "Any"]),
    "claim size": claim(resources={"requests": {"storage": "0"}}),
    "claim names": claim(storageClassName="A_B", volumeMode="Tape", selector=expression("a", "In")),
    "claim source": claim(dataSource={"kind": "Pod", "name": ""}),
    "volume without anything": obj("v1", "PersistentVolume", spec={}),
    "volume capacity": pv(capacity={"cpu": "1"}),
    "volume size": pv(capacity={"storage": "-1Gi"}),
    "volume modes": pv(
        accessModes=["Any"], volumeMode="Tape", persistentVolumeReclaimPolicy="Keep",
        storageClassName="A",
    ),
    "volume of two kinds": pv(nfs={"server": "a", "path": "/b"}),
    "local volume": pv(hostPath=None, local={"path": "/a"}),
    "local volume path": pv(hostPath=None, local={"path": ""}, nodeAffinity={}),
    "volume affinity": pv(
        nodeAffinity={"required": {"nodeSelectorTerms": [expression("a", "Is")]}}
    ),
    "csi persistent volume": pv(hostPath=None, csi={"driver": "", "volumeHandle": "",
                                "nodePublishSecretRef": {"name": "A"}}),
    "recycled root": pv(hostPath={"path": "/"}, persistentVolumeReclaimPolicy="Recycle"),
    "storage class": storage_class(
        provisioner="a b", reclaimPolicy="Keep", volumeBindingMode="Later"
    ),
    "storage class without provisioner": storage_class(provisioner=""),
    "storage class topology": storage_class(
        allowedTopologies=[
            {"matchLabelExpressions": [{"key": "a b", "values": []},
                                       {"key": "c", "values": ["d", "d"]},
                                       {"key": "c", "values": ["e"]}]},
        ]
    ),
    "storage class topology twice": storage_class(
        allowedTopologies=[
            {"matchLabelExpressions": [{"key": "c", "values": ["d"]}]},
            {"matchLabelExpressions": [{"key": "c", "values": ["d"]}]},
        ]
    ),
    "csi node": obj(
        "storage.k8s.io/v1", "CSINode",
        spec={"drivers": [{"name": "a_b", "nodeID": "", "topologyKeys": ["a", "a", "b c"]},
                          {"name": "a_b", "nodeID": "n", "allocatable": {"count": -1}}]},
    ),
    "csi driver": obj(
        "storage.k8s.io/v1", "CSIDriver",
        spec={"fsGroupPolicy": "Some", "volumeLifecycleModes": ["Short"],
              "nodeAllocatableUpdatePeriodSeconds": 1},
    ),
    "csi capacity": obj(
        "storage.k8s.io/v1", "CSIStorageCapacity", storageClassName="A", capacity="-1",
        nodeTopology=expression("a", "In"),
    ),
    "volume attachment": obj(
        "storage.k8s.io/v1", "VolumeAttachment", spec={"attacher": "", "source": {}, "nodeName": ""}
    ),
    "volume attachment volume": obj(
        "storage.k8s.io/v1", "VolumeAttachment",
        spec={"attacher": LONG, "source": {"persistentVolumeName": "A"}, "nodeName": "n"},
    ),
    # policy and scheduling
    "budget of both": budget(minAvailable=1, maxUnavailable="50%"),
    "budget percent": budget(minAvailable="101%"),
    "budget text": budget(maxUnavailable="some"),
    "budget negative": budget(minAvailable=-1, unhealthyPodEvictionPolicy="Never"),
    "budget selector": budget(selector=expression("a b", "Is")),
    "priority too high": obj("scheduling.k8s.io/v1", "PriorityClass", value=1000000001),
    "system priority": obj("scheduling.k8s.io/v1", "PriorityClass", "system-mine", value=1),
    "lease": obj(
        "coordination.k8s.io/v1", "Lease",
        spec={"leaseDurationSeconds": 0, "leaseTransitions": -1},
    ),
    # services, config
    "service without ports": service(),
    "service ports": service({"port": 0, "targetPort": "A"}, {"port": 80, "protocol": "IP"}),
    "service port names": service({"name": "a", "port": 1}, {"name": "a", "port": 2},
                                  {"name": "b.c", "port": 3}),
    "service port twice": service({"name": "a", "port": 1}, {"name": "b", "port": 1}),
    "service type": service({"port": 1}, type="Some", sessionAffinity="All"),
    "service name": obj("v1", "Service", "a.b", spec={"ports": [{"port": 1}]}),
    "service selector": service({"port": 1}, selector={"a": "b c"}),
    "service node port": service({"port": 1, "nodePort": 30000}),
    "service external name": service(type="ExternalName", externalName="A"),
    "service affinity": service(
        {"port": 1}, sessionAffinity="ClientIP",
        sessionAffinityConfig={"clientIP": {"timeoutSeconds": 0}},
    ),
    "service traffic": service(
        {"port": 1}, externalTrafficPolicy="Local", internalTrafficPolicy="Some",
        trafficDistribution="Some", loadBalancerSourceRanges=["a"],
    ),
    "service of a balancer": service(
        {"port": 1}, type="LoadBalancer", externalTrafficPolicy="Some",
        loadBalancerSourceRanges=["10.0.0.1/8"],
    ),
    "service families": service({"port": 1}, clusterIP="None", ipFamilies=["IPv5"]),
    "endpoints": obj(
        "v1", "Endpoints",
        subsets=[{}, {"addresses": [{"ip": "127.0.0.1", "hostname": "A"}, {"ip": "a"}],
                      "ports": [{"port": 0}, {"port": 1, "name": "A", "protocol": "x"}]}],
    ),
    "config key": obj("v1", "ConfigMap", data={"a/b": "c"}),
    "config dots": obj("v1", "ConfigMap", data={"..": "c"}),
    "config twice": obj("v1", "ConfigMap", data={"a": "c"}, binaryData={"a": "Yg=="}),
    "config too large": obj("v1", "ConfigMap", data={"a": "b" * (1024 * 1024 + 1)}),
    "secret key": obj("v1", "Secret", data={"..a": "Yg=="}),
    "secret tls": obj("v1", "Secret", type="kubernetes.io/tls"),
    "secret docker": obj("v1", "Secret", type="kubernetes.io/dockerconfigjson"),
    "secret basic": obj("v1", "Secret", type="kubernetes.io/basic-auth"),
    "secret ssh": obj("v1", "Secret", type="kubernetes.io/ssh-auth"),
    "secret token": obj("v1", "Secret", type="kubernetes.io/service-account-token"),
    "limit range": obj(
        "v1", "LimitRange",
        spec={"limits": [
            {"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}},
            {"type": "Container"},
            {"type": "Pod", "default": {"cpu": "1"}, "max": {"gpu": "1"}},
            {"type": "PersistentVolumeClaim"},
            {"type": "Box"},
        ]},
    ),
    "quota": obj("v1", "ResourceQuota", spec={"hard": {"gpu": "1"}}),
    "quota amount": obj("v1", "ResourceQuota", spec={"hard": {"pods": "1500m"}}),
    # events
    "event of another namespace": event(
        involvedObject={"kind": "Pod", "namespace": "other", "name": "p"}
    ),
    "event with a time": event(eventTime=TIME),
    "event too long": event(
        eventTime=TIME, reportingComponent="example.com/c", reportingInstance="i" * 129,
        action="a" * 129, reason="r" * 129, message="m" * 1025,
    ),
    "new event": event(NEW_EVENTS, type="Some"),
    "new event with old fields": event(
        NEW_EVENTS, **FULL_EVENT, deprecatedCount=1,
        deprecatedFirstTimestamp="2026-01-02T03:04:05Z",
        deprecatedSource={"component": "c"}, series={"count": 1, "lastObservedTime": TIME},
    ),
    # access
    "role": obj(RBAC, "Role", rules=[{"verbs": []}, {"verbs": ["get"], "nonResourceURLs": ["/"]}]),
    "cluster role": obj(RBAC, "ClusterRole", rules=[{"verbs": ["get"]}], aggregationRule={}),
    "role binding": obj(
        RBAC, "RoleBinding", roleRef={"apiGroup": "a", "kind": "User", "name": ""},
        subjects=[{"kind": "Person", "name": ""}, {"kind": "User", "name": "u", "apiGroup": "a"}],
    ),
    "cluster role binding": obj(
        RBAC, "ClusterRoleBinding",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a/b"},
        subjects=[{"kind": "ServiceAccount", "name": "A"}],
    ),
}  # fmt: skip
