"""The pod that is scheduled over and over in both parts; about 4.5 kB of JSON.

Nothing here talks to a server.
"""

from benchmarks.extender.nodes import FIRST_VERSION, HEARTBEAT, POD_IMAGES, Object, uid


def _container(name: str, image: str, port: int) -> Object:
    probe = {
        "httpGet": {"path": "/healthz", "port": port, "scheme": "HTTP"},
        "initialDelaySeconds": 5,
        "timeoutSeconds": 2,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    environment: list[Object] = [
        {"name": f"{name.upper()}_SETTING_{number}", "value": f"https://svc-{number}.example.com"}
        for number in range(8)
    ]
    environment.append(
        {
            "name": "POD_IP",
            "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}},
        }
    )
    return {
        "name": name,
        "image": image,
        "args": ["--listen", f":{port}", "--config", "/etc/config/settings.yaml"],
        "ports": [{"name": "http", "containerPort": port, "protocol": "TCP"}],
        "env": environment,
        "resources": {
            "limits": {"memory": "64Mi"},
            "requests": {"cpu": "10m", "memory": "32Mi"},
        },
        "volumeMounts": [
            {"name": "config", "readOnly": True, "mountPath": "/etc/config"},
            {"name": "scratch", "mountPath": "/var/scratch"},
        ],
        "livenessProbe": probe,
        "readinessProbe": probe,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
        },
    }


def _toleration(key: str) -> Object:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}


def pod_spec(scheduler: str) -> Object:
    """The spec of the measured pod, for the scheduler of this name; two small containers."""
    return {
        "volumes": [
            {"name": "config", "configMap": {"name": "web-config", "defaultMode": 420}},
            {"name": "scratch", "emptyDir": {}},
        ],
        "containers": [
            _container("web", POD_IMAGES[0], 8080),
            _container("envoy", POD_IMAGES[1], 9901),
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "automountServiceAccountToken": False,
        "securityContext": {"fsGroup": 2000, "seccompProfile": {"type": "RuntimeDefault"}},
        "schedulerName": scheduler,
        "tolerations": [
            _toleration("node.kubernetes.io/not-ready"),
            _toleration("node.kubernetes.io/unreachable"),
        ],
        "enableServiceLinks": True,
    }


def pod_labels() -> dict[str, str]:
    """The labels of the measured pods."""
    return {
        "app.kubernetes.io/instance": "web-prod",
        "app.kubernetes.io/name": "web",
        "pod-template-hash": "7c9d8f6b5d",
    }


def pod_name(number: int) -> str:
    """The name of the pod with this number; all names have the same length."""
    return f"web-7c9d8f6b5d-{number:06d}"


def pod(number: int) -> Object:
    """A pending pod as kube-scheduler holds it, which drops a pod's managed fields."""
    name = pod_name(number)
    return {
        "metadata": {
            "name": name,
            "generateName": "web-7c9d8f6b5d-",
            "namespace": "default",
            "uid": uid(name),
            "resourceVersion": str(FIRST_VERSION * 3 + number),
            "generation": 1,
            "creationTimestamp": HEARTBEAT,
            "labels": pod_labels(),
            "annotations": {
                "prometheus.io/port": "8080",
                "prometheus.io/scrape": "true",
                "kubectl.kubernetes.io/restartedAt": "2026-02-27T14:11:05+01:00",
            },
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "web-7c9d8f6b5d",
                    "uid": uid("web-7c9d8f6b5d"),
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": pod_spec("bench"),
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }
