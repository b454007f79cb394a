"""New pods, and metadata of new objects, in which something is wrong."""

from tests.unit.embedded.validation.builders import (
    LONG,
    RBAC,
    Obj,
    container,
    obj,
    pod,
    resources,
    with_meta,
)

#: By what is wrong.
NEW_PODS: dict[str, Obj] = {
    # metadata
    "name with capitals": obj("v1", "Pod", "Web", spec={"containers": [container()]}),
    "name too long": obj("v1", "ConfigMap", "a" * 254),
    "name with a slash": obj("v1", "ConfigMap", "a/b"),
    "namespace with a dot": obj("v1", "Namespace", "a.b"),
    "namespace too long": obj("v1", "Namespace", LONG),
    "no name": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}},
    "generateName": with_meta(obj("v1", "ConfigMap", ""), generateName="Web-"),
    "role name": obj(RBAC, "Role", "a%b"),
    "budget name": obj("policy/v1", "PodDisruptionBudget", "..", spec={}),
    "label key": with_meta(obj("v1", "ConfigMap"), labels={"a b": "c"}),
    "label key without a name": with_meta(obj("v1", "ConfigMap"), labels={"example.com/": "c"}),
    "label key with a bad domain": with_meta(obj("v1", "ConfigMap"), labels={"Ex_a/b": "c"}),
    "label key with two slashes": with_meta(obj("v1", "ConfigMap"), labels={"a/b/c": "c"}),
    "label key with no domain": with_meta(obj("v1", "ConfigMap"), labels={"/c": "c"}),
    "label key too long": with_meta(obj("v1", "ConfigMap"), labels={LONG: "c"}),
    "label value": with_meta(obj("v1", "ConfigMap"), labels={"a": "-b"}),
    "label value too long": with_meta(obj("v1", "ConfigMap"), labels={"a": LONG}),
    "label value with quotes": with_meta(obj("v1", "ConfigMap"), labels={"a": 'b"\\\n<ü>\x01'}),
    "annotation key": with_meta(obj("v1", "ConfigMap"), annotations={"a b": "c"}),
    "annotations too large": with_meta(
        obj("v1", "ConfigMap"), annotations={"a": "b" * (256 * 1024)}
    ),
    "finalizer": with_meta(obj("v1", "ConfigMap"), finalizers=["mine"]),
    "finalizer with a space": with_meta(obj("v1", "Secret"),
                                        finalizers=["example.com/a b"]),
    "both finalizers": with_meta(
        obj("v1", "ConfigMap"), finalizers=["foregroundDeletion", "orphan"]
    ),
    "owner without a uid": with_meta(
        obj("v1", "ConfigMap"),
        ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": ""}],
    ),
    "owner without anything": with_meta(
        obj("v1", "ConfigMap"),
        ownerReferences=[{"apiVersion": "", "kind": "", "name": "", "uid": ""}],
    ),
    "two controllers": with_meta(
        obj("v1", "ConfigMap"),
        ownerReferences=[
            {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1", "controller": True},
            {"apiVersion": "v1", "kind": "Pod", "name": "q", "uid": "2", "controller": True},
        ],
    ),
    "owner is an event": with_meta(
        obj("v1", "ConfigMap"),
        ownerReferences=[{"apiVersion": "v1", "kind": "Event", "name": "p", "uid": "1"}],
    ),
    # containers
    "no containers": obj("v1", "Pod", spec={"containers": []}),
    "container without a name": pod({"image": "i"}),
    "container name": pod(container(name="C_1")),
    "container name with a dot": pod(container(name="a.b")),
    "container name too long": pod(container(name=LONG)),
    "container without an image": pod({"name": "c"}),
    "image with spaces": pod(container(image=" i ")),
    "duplicate container": pod(container(), container()),
    "container and init container": pod(container(), initContainers=[container()]),
    "pull policy": pod(container(imagePullPolicy="Sometimes")),
    "termination message policy": pod(container(terminationMessagePolicy="Mail")),
    "port name": pod(container(ports=[{"name": "A--1234567890123-", "containerPort": 1}])),
    "port name of digits": pod(container(ports=[{"name": "80", "containerPort": 80}])),
    "port missing": pod(container(ports=[{"name": "a"}])),
    "port too high": pod(container(ports=[{"containerPort": 70000, "hostPort": -1}])),
    "port protocol": pod(container(ports=[{"containerPort": 1, "protocol": "tcp"}])),
    "duplicate port name": pod(
        container(ports=[{"name": "a", "containerPort": 1}, {"name": "a", "containerPort": 2}])
    ),
    "host port twice": pod(
        container(ports=[{"containerPort": 1, "hostPort": 80}]),
        container(name="d", ports=[{"containerPort": 2, "hostPort": 80}]),
    ),
    "host network": pod(
        container(ports=[{"containerPort": 1, "hostPort": 2}]), hostNetwork=True
    ),
    "env name": pod(container(env=[{"name": "a=b", "value": "c"}])),
    "env without a name": pod(container(env=[{"value": "c"}])),
    "env from nowhere": pod(container(env=[{"name": "a", "valueFrom": {}}])),
    "env value and source": pod(
        container(
            env=[
                {
                    "name": "a",
                    "value": "b",
                    "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}},
                }
            ]
        )
    ),
    "env field": pod(
        container(env=[{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodename"}}}])
    ),
    "env field of volumes": pod(
        container(
            env=[{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}}]
        )
    ),
    "env field with a bad key": pod(
        container(
            env=[{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a b']"}}}]
        )
    ),
    "env resource": pod(
        container(
            env=[{"name": "a", "valueFrom": {"resourceFieldRef": {"resource": "limits.gpu"}}}]
        )
    ),
    "env divisor": pod(
        container(
            env=[
                {
                    "name": "a",
                    "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}},
                }
            ]
        )
    ),
    "env key": pod(
        container(
            env=[{"name": "a", "valueFrom": {"configMapKeyRef": {"name": "A", "key": "a/b"}}}]
        )
    ),
    "env from": pod(container(envFrom=[{"prefix": "a=", "configMapRef": {"name": "A_"}}, {}])),
    "probe without a handler": pod(container(livenessProbe={"periodSeconds": 1})),
    "probe numbers": pod(
        container(
            readinessProbe={
                "tcpSocket": {"port": 0}, "periodSeconds": -1, "timeoutSeconds": -2,
                "initialDelaySeconds": -3, "failureThreshold": -4, "successThreshold": -5,
            }
        )
    ),
    "liveness threshold": pod(
        container(livenessProbe={"exec": {"command": []}, "successThreshold": 2})
    ),
    "two handlers": pod(
        container(startupProbe={"exec": {"command": ["a"]}, "grpc": {"port": 1}})
    ),
    "http probe": pod(
        container(
            livenessProbe={
                "httpGet": {"port": "x_y", "scheme": "ftp", "httpHeaders": [{"name": "a b"}]}
            }
        )
    ),
    "readiness grace": pod(
        container(
            readinessProbe={"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 0}
        )
    ),
    "lifecycle": pod(container(lifecycle={"preStop": {"sleep": {"seconds": 100}}})),
    "init container with a probe": pod(
        container(),
        initContainers=[container(name="d", readinessProbe={"tcpSocket": {"port": 1}})],
    ),
    "init restart policy": pod(
        container(), initContainers=[container(name="d", restartPolicy="Sometimes")]
    ),
    "restart rules": pod(container(restartPolicyRules=[{"action": "Stop"}])),
    "resize policy": pod(
        container(resizePolicy=[{"resourceName": "gpu", "restartPolicy": "Never"}])
    ),
    "run as user": pod(container(securityContext={"runAsUser": -1, "runAsGroup": 2**32})),
    "privileges": pod(
        container(securityContext={"privileged": True, "allowPrivilegeEscalation": False})
    ),
    "seccomp": pod(container(securityContext={"seccompProfile": {"type": "Localhost"}})),
    "ephemeral containers": pod(
        container(), ephemeralContainers=[container(name="e", ports=[{"containerPort": 1}])]
    ),
    # resources
    "request above limit": resources({"memory": "2Gi"}, {"memory": "1Gi"}),
    "request of cpu above limit": resources({"cpu": "1500m"}, {"cpu": "1"}),
    "negative request": resources({"cpu": "-1"}),
    "unknown resource": resources({"gpu": "1"}, {"gpu": "1"}),
    "resource name": resources({"example.com/a b": "1"}, {"example.com/a b": "1"}),
    "extended resource in parts": resources(
        {"example.com/gpu": "500m"}, {"example.com/gpu": "500m"}
    ),
    "extended resource without limit": resources({"example.com/gpu": "1"}),
    "extended resource unequal": resources({"example.com/gpu": "1"}, {"example.com/gpu": "2"}),
    "requests prefix": resources(
        {"requests.example.com/gpu": "1"}, {"requests.example.com/gpu": "1"}
    ),
    "huge pages alone": resources({"hugepages-2Mi": "4Mi"}, {"hugepages-2Mi": "4Mi"}),
    "huge pages in parts": resources(
        {"hugepages-2Mi": "3Mi", "cpu": "1"}, {"hugepages-2Mi": "3Mi", "cpu": "1"}
    ),
    "storage for a container": resources({"storage": "1Gi"}),
    "overhead": pod(overhead={"gpu": "1"}),
    "resource claim": pod(container(resources={"claims": [{"name": "a"}]})),
    "resource claims": pod(
        resourceClaims=[
            {"name": "A"}, {"name": "b", "resourceClaimName": "C"},
            {"name": "b", "resourceClaimTemplateName": "d"},
        ]
    ),
    "pod level resources": pod(
        container(resources={"requests": {"cpu": "2"}}), resources={"requests": {"cpu": "1500m"}}
    ),
    "pod level memory": pod(
        container(resources={"requests": {"memory": "1Gi"}}),
        container(name="d", resources={"requests": {"memory": "512Mi"}}),
        resources={"requests": {"memory": "1Gi"}},
    ),
    "pod level names": pod(resources={"requests": {"ephemeral-storage": "1"}}),
    "pod level limits": pod(
        container(resources={"limits": {"cpu": "2"}}), resources={"limits": {"cpu": "1"}}
    ),
}  # fmt: skip
