"""Defaults; `tests/e2e/test_embedded_defaults.py` compares them with the real API server."""

import pytest

from mooring.embedded.resources import (
    CLUSTER_ROLE_BINDINGS,
    CRON_JOBS,
    CSI_DRIVERS,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINTS,
    JOBS,
    LIMIT_RANGES,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PRIORITY_CLASSES,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCES,
    SECRETS,
    SERVICES,
    STATEFUL_SETS,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
    Resource,
)
from tests.unit.embedded.defaults.builders import TEMPLATE, WHOLE_TEMPLATE, defaulted


def test_a_node() -> None:
    status = {"capacity": {"cpu": "4000m", "memory": "8388608Ki"}}
    node = defaulted(NODES, spec={"podCIDR": "10.0.0.0/24"}, status=status)

    assert node["status"]["capacity"] == node["status"]["allocatable"]
    assert node["status"]["allocatable"] == {"cpu": "4", "memory": "8Gi"}
    assert node["spec"]["podCIDRs"] == ["10.0.0.0/24"]
    assert defaulted(NODES, spec={"podCIDRs": ["a"]})["spec"]["podCIDR"] == "a"


def test_a_namespace_carries_its_name() -> None:
    namespace = defaulted(NAMESPACES)

    assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x"}
    assert namespace["status"] == {"phase": "Active"}


def test_texts_of_a_secret_become_data() -> None:
    secret = defaulted(SECRETS, stringData={"a": "b", "c": "new"}, data={"c": "b2xk"})

    assert secret["data"] == {"a": "Yg==", "c": "bmV3"}
    assert secret["type"] == "Opaque"
    assert "stringData" not in secret


def test_services() -> None:
    ports = [{"port": 80}, {"port": 53, "protocol": "UDP", "targetPort": "dns"}]
    plain = defaulted(SERVICES, spec={"ports": ports})

    assert plain["spec"] == {
        "ports": [
            {"port": 80, "protocol": "TCP", "targetPort": 80},
            {"port": 53, "protocol": "UDP", "targetPort": "dns"},
        ],
        "sessionAffinity": "None",
        "type": "ClusterIP",
        "internalTrafficPolicy": "Cluster",
    }
    assert plain["status"] == {"loadBalancer": {}}
    balanced = defaulted(
        SERVICES,
        spec={"type": "LoadBalancer", "sessionAffinity": "ClientIP"},
        status={"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}},
    )
    assert balanced["spec"] == {
        "type": "LoadBalancer",
        "sessionAffinity": "ClientIP",
        "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}},
        "externalTrafficPolicy": "Cluster",
        "internalTrafficPolicy": "Cluster",
        "allocateLoadBalancerNodePorts": True,
    }
    assert balanced["status"]["loadBalancer"]["ingress"] == [{"ip": "1.2.3.4", "ipMode": "VIP"}]
    outside = defaulted(SERVICES, spec={"type": "ExternalName", "externalName": "a"})["spec"]
    assert outside == {"type": "ExternalName", "externalName": "a", "sessionAffinity": "None"}


def test_volumes_and_claims() -> None:
    volume = defaulted(
        PERSISTENT_VOLUMES,
        spec={"capacity": {"storage": "1024Mi"}, "hostPath": {"path": "/"}, "rbd": {"pool": "p"}},
    )
    assert volume["spec"] == {
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/", "type": ""},
        "rbd": {
            "pool": "p",
            "user": "admin",
            "keyring": "/etc/ceph/keyring",
            "monitors": None,
            "image": "",
        },
        "persistentVolumeReclaimPolicy": "Retain",
        "volumeMode": "Filesystem",
    }
    assert volume["status"] == {"phase": "Pending"}
    claim = defaulted(PERSISTENT_VOLUME_CLAIMS, spec={"storageClassName": ""})
    assert claim["spec"] == {"storageClassName": "", "volumeMode": "Filesystem", "resources": {}}
    assert claim["status"] == {"phase": "Pending"}
    inline = {"iscsi": {"iqn": "i"}}
    attachment = defaulted(VOLUME_ATTACHMENTS, spec={"source": {"inlineVolumeSpec": inline}})
    made = attachment["spec"]["source"]["inlineVolumeSpec"]["iscsi"]
    assert made["iscsiInterface"] == "default"


def test_storage_classes_and_drivers() -> None:
    storage = defaulted(STORAGE_CLASSES, provisioner="p")
    assert storage["reclaimPolicy"] == "Delete"
    assert storage["volumeBindingMode"] == "Immediate"
    assert defaulted(CSI_DRIVERS, spec={"attachRequired": False})["spec"] == {
        "attachRequired": False,
        "podInfoOnMount": False,
        "storageCapacity": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "volumeLifecycleModes": ["Persistent"],
        "requiresRepublish": False,
        "seLinuxMount": False,
    }


def test_a_deployment() -> None:
    selector = {"matchLabels": {"app": "web"}}
    spec = defaulted(DEPLOYMENTS, spec={"selector": selector, "template": TEMPLATE})["spec"]

    assert spec == {
        "replicas": 1,
        "selector": selector,
        "template": WHOLE_TEMPLATE,
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
        },
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    }
    recreated = defaulted(DEPLOYMENTS, spec={"replicas": 0, "strategy": {"type": "Recreate"}})
    assert recreated["spec"]["strategy"] == {"type": "Recreate"}
    assert recreated["spec"]["replicas"] == 0


def test_other_workloads() -> None:
    assert defaulted(REPLICA_SETS, spec={"template": TEMPLATE})["spec"] == {
        "replicas": 1,
        "selector": None,
        "template": WHOLE_TEMPLATE,
    }
    daemon_set = defaulted(DAEMON_SETS, spec={"template": TEMPLATE})["spec"]
    assert daemon_set["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
    }
    controller = defaulted(REPLICATION_CONTROLLERS, spec={"template": TEMPLATE})
    assert controller["spec"]["selector"] == controller["metadata"]["labels"] == {"app": "web"}
    assert defaulted(REPLICATION_CONTROLLERS)["spec"] == {"replicas": 1}


def test_a_stateful_set() -> None:
    claims = [{"metadata": {"name": "data"}, "spec": {}}]
    spec = defaulted(STATEFUL_SETS, spec={"template": TEMPLATE, "volumeClaimTemplates": claims})

    assert spec["spec"]["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"partition": 0},
    }
    assert spec["spec"]["podManagementPolicy"] == "OrderedReady"
    assert spec["spec"]["persistentVolumeClaimRetentionPolicy"] == {
        "whenDeleted": "Retain",
        "whenScaled": "Retain",
    }
    assert spec["spec"]["volumeClaimTemplates"] == [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data"},
            "spec": {"resources": {}, "volumeMode": "Filesystem"},
            "status": {"phase": "Pending"},
        }
    ]
    on_delete = defaulted(STATEFUL_SETS, spec={"updateStrategy": {"type": "OnDelete"}})
    assert on_delete["spec"]["updateStrategy"] == {"type": "OnDelete"}


def test_jobs() -> None:
    job = defaulted(JOBS, spec={"template": TEMPLATE})
    spec = {name: value for name, value in job["spec"].items() if name != "template"}
    assert spec == {
        "completions": 1,
        "parallelism": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "TerminatingOrFailed",
        "manualSelector": False,
    }
    assert job["metadata"]["labels"] == {"app": "web"}
    rules = [{"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}]
    other = defaulted(
        JOBS,
        spec={"parallelism": 3, "backoffLimitPerIndex": 1, "podFailurePolicy": {"rules": rules}},
    )["spec"]
    assert "completions" not in other
    assert other["backoffLimit"] == 2147483647
    assert other["podReplacementPolicy"] == "Failed"
    assert other["podFailurePolicy"]["rules"][0]["onPodConditions"] == [
        {"type": "DisruptionTarget", "status": "True"}
    ]


def test_a_cron_job_leaves_its_jobs_open() -> None:
    spec = defaulted(CRON_JOBS, spec={"jobTemplate": {"spec": {"template": TEMPLATE}}})["spec"]

    assert spec == {
        "schedule": "",
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": {"metadata": {}, "spec": {"template": WHOLE_TEMPLATE}},
    }


def test_a_limit_range_completes_itself() -> None:
    limits = [
        {"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}, "default": {"a": 1}},
        {"type": "Pod", "max": {"cpu": "2"}},
        {"type": "Container"},
    ]

    assert defaulted(LIMIT_RANGES, spec={"limits": limits})["spec"]["limits"] == [
        {
            "type": "Container",
            "max": {"cpu": "2"},
            "min": {"memory": "1Mi"},
            "default": {"cpu": "2", "a": "1"},
            "defaultRequest": {"cpu": "2", "a": "1", "memory": "1Mi"},
        },
        {"type": "Pod", "max": {"cpu": "2"}},
        {"type": "Container"},
    ]


def test_the_rest() -> None:
    assert defaulted(PRIORITY_CLASSES, value=0)["preemptionPolicy"] == "PreemptLowerPriority"
    ends = defaulted(ENDPOINTS, subsets=[{"ports": [{"port": 80}]}])
    assert ends["subsets"] == [{"ports": [{"port": 80, "protocol": "TCP"}]}]
    subjects = [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}]
    binding = defaulted(
        CLUSTER_ROLE_BINDINGS, roleRef={"kind": "ClusterRole", "name": "r"}, subjects=subjects
    )
    group = "rbac.authorization.k8s.io"
    assert binding["roleRef"]["apiGroup"] == group
    assert [one.get("apiGroup") for one in binding["subjects"]] == [group, None]


def test_claims_to_devices() -> None:
    requests = [
        {"name": "a", "exactly": {"deviceClassName": "c", "tolerations": [{"key": "k"}]}},
        {"name": "b", "firstAvailable": [{"name": "x", "allocationMode": "All"}]},
    ]
    spec = {"devices": {"requests": requests}}
    made = [
        {
            "name": "a",
            "exactly": {
                "deviceClassName": "c",
                "allocationMode": "ExactCount",
                "count": 1,
                "tolerations": [{"key": "k", "operator": "Equal"}],
            },
        },
        {
            "name": "b",
            "firstAvailable": [{"name": "x", "allocationMode": "All", "deviceClassName": ""}],
        },
    ]
    results = [{"tolerations": [{"key": "k"}]}]
    status = {"allocation": {"devices": {"results": results}}}
    claim = defaulted(RESOURCE_CLAIMS, spec=spec, status=status)
    template = defaulted(RESOURCE_CLAIM_TEMPLATES, spec={"spec": spec})

    assert claim["spec"]["devices"]["requests"] == made
    assert template["spec"]["spec"]["devices"]["requests"] == made
    told = claim["status"]["allocation"]["devices"]["results"][0]["tolerations"]
    assert told == [{"key": "k", "operator": "Equal"}]


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda one: one.full_name)
def test_an_object_with_nothing_in_it_is_completed_and_then_stays(resource: Resource) -> None:
    obj = defaulted(resource)
    again = defaulted(resource, **{name: obj[name] for name in obj if name != "metadata"})

    assert again == obj | {"metadata": again["metadata"]}
