"""Defaults of pods."""

import pytest

from mooring.embedded.resources import (
    POD_TEMPLATES,
    PODS,
    Obj,
)
from tests.unit.embedded.defaults.builders import (
    CONTAINER,
    POD_SPEC,
    container,
    defaulted,
    pod_spec,
)


def test_a_minimal_pod() -> None:
    assert defaulted(PODS, spec={"containers": [{"name": "c", "image": "nginx"}]}) == {
        "metadata": {"name": "x"},
        "spec": {
            **POD_SPEC,
            "enableServiceLinks": True,
            "containers": [{"name": "c", "image": "nginx", **CONTAINER}],
        },
        "status": {},
    }


def test_what_is_said_stays() -> None:
    said = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "dnsPolicy": "Default",
        "securityContext": {"runAsUser": 0},
        "schedulerName": "mooring",
        "enableServiceLinks": False,
    }

    assert pod_spec(**said) | said == pod_spec(**said)


def test_requests_of_a_pod_come_from_limits() -> None:
    resources = {"limits": {"cpu": "1000m", "memory": "1Gi"}, "requests": {"cpu": "0.5"}}

    assert container(resources=resources)["resources"] == {
        "limits": {"cpu": "1", "memory": "1Gi"},
        "requests": {"cpu": "500m", "memory": "1Gi"},
    }
    assert pod_spec(initContainers=[{"name": "i", "resources": {"limits": {"cpu": "1"}}}])[
        "initContainers"
    ][0]["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}


def test_requests_of_a_template_stay_open() -> None:
    limited = {"name": "c", "image": "nginx", "resources": {"limits": {"cpu": "1000m"}}}
    template = {"metadata": {}, "spec": {"containers": [limited]}}

    made = defaulted(POD_TEMPLATES, template=template)["template"]["spec"]["containers"][0]

    assert made["resources"] == {"limits": {"cpu": "1"}}


def test_pod_level_requests_are_what_containers_ask_for_together() -> None:
    asking = {"requests": {"cpu": "500m", "memory": "512Mi"}}
    spec = pod_spec(
        resources={"limits": {"cpu": "4", "memory": "4Gi"}},
        containers=[{"name": "c", "resources": dict(asking)}, {"name": "d", "resources": asking}],
        initContainers=[
            {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "250m"}}},
            {"name": "i", "resources": {"requests": {"memory": "3Gi"}}},
        ],
    )

    assert spec["resources"]["requests"] == {"cpu": "1250m", "memory": "3Gi"}


def test_pod_level_huge_pages_come_from_containers() -> None:
    huge = {"limits": {"hugepages-2Mi": "100Mi"}, "requests": {"hugepages-2Mi": "100Mi"}}
    spec = pod_spec(
        resources={"requests": {"cpu": "1"}}, containers=[{"name": "c", "resources": huge}]
    )

    assert spec["resources"] == {
        "limits": {"hugepages-2Mi": "100Mi"},
        "requests": {"cpu": "1", "hugepages-2Mi": "100Mi"},
    }
    assert pod_spec(resources={})["resources"] == {}


def test_ports() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP", "hostPort": 1053}]

    assert container(ports=ports)["ports"] == [
        {"containerPort": 80, "protocol": "TCP"},
        {"containerPort": 53, "protocol": "UDP", "hostPort": 1053},
    ]
    host = pod_spec(hostNetwork=True, containers=[{"name": "c", "ports": [{"containerPort": 80}]}])
    assert host["containers"][0]["ports"] == [
        {"containerPort": 80, "protocol": "TCP", "hostPort": 80}
    ]


def test_probes_and_handlers() -> None:
    made = container(
        livenessProbe={"httpGet": {"port": 80}},
        readinessProbe={"grpc": {"port": 90}, "periodSeconds": 0, "failureThreshold": 5},
        lifecycle={"preStop": {"httpGet": {"port": "web", "path": "/bye"}}},
    )
    usual = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1}

    assert made["livenessProbe"] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "failureThreshold": 3,
        **usual,
    }
    assert made["readinessProbe"] == {
        "grpc": {"port": 90, "service": ""},
        "failureThreshold": 5,
        **usual,
    }
    assert made["lifecycle"]["preStop"]["httpGet"]["scheme"] == "HTTP"


def test_variables() -> None:
    env = [
        {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "B", "valueFrom": {"fileKeyRef": {"key": "k", "path": "p", "volumeName": "v"}}},
        {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
    ]

    assert [one["valueFrom"] for one in container(env=env)["env"]] == [
        {"fieldRef": {"fieldPath": "spec.nodeName", "apiVersion": "v1"}},
        {"fileKeyRef": {"key": "k", "path": "p", "volumeName": "v", "optional": False}},
        {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}},
    ]


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({}, {"emptyDir": {}}),
        ({"emptyDir": {"sizeLimit": "1024Mi"}}, {"emptyDir": {"sizeLimit": "1Gi"}}),
        ({"hostPath": {"path": "/"}}, {"hostPath": {"path": "/", "type": ""}}),
        ({"secret": {"secretName": "s"}}, {"secret": {"secretName": "s", "defaultMode": 420}}),
        ({"configMap": {"name": "s"}}, {"configMap": {"name": "s", "defaultMode": 420}}),
        ({"image": {"reference": "a"}}, {"image": {"reference": "a", "pullPolicy": "Always"}}),
        ({"csi": {"driver": "d"}}, {"csi": {"driver": "d"}}),
        (
            {"downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "f"}}]}},
            {
                "downwardAPI": {
                    "items": [{"path": "l", "fieldRef": {"fieldPath": "f", "apiVersion": "v1"}}],
                    "defaultMode": 420,
                }
            },
        ),
        (
            {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            {
                "projected": {
                    "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
                    "defaultMode": 420,
                }
            },
        ),
        (
            {"ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}},
            {
                "ephemeral": {
                    "volumeClaimTemplate": {
                        "metadata": {},
                        "spec": {
                            "accessModes": ["ReadWriteOnce"],
                            "resources": {},
                            "volumeMode": "Filesystem",
                        },
                    }
                }
            },
        ),
    ],
)  # fmt: skip
def test_volumes_of_pods(given: Obj, made: Obj) -> None:
    assert pod_spec(volumes=[{"name": "v", **given}])["volumes"] == [{"name": "v", **made}]


def test_the_old_name_of_the_service_account() -> None:
    for given in ({"serviceAccount": "a"}, {"serviceAccountName": "a", "serviceAccount": "b"}):
        spec = pod_spec(**given)
        assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("a", "a")


def test_a_pod_has_no_negative_grace_period() -> None:
    assert pod_spec(terminationGracePeriodSeconds=-5)["terminationGracePeriodSeconds"] == 1


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"podIP": "1"}, {"podIP": "1", "podIPs": [{"ip": "1"}]}),
        ({"podIPs": [{"ip": "1"}]}, {"podIP": "1", "podIPs": [{"ip": "1"}]}),
        ({"podIP": "1", "podIPs": [{"ip": "2"}]}, {"podIP": "1", "podIPs": [{"ip": "1"}]}),
    ],
)
def test_addresses_of_pods_agree(given: Obj, made: Obj) -> None:
    assert defaulted(PODS, spec={"containers": [{"name": "c"}]}, status=given)["status"] == made
