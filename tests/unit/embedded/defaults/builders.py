"""Objects before and after they got their defaults."""

from typing import Any

from mooring.embedded.defaults.defaults import set_defaults
from mooring.embedded.resources import (
    PODS,
    Obj,
    Resource,
)

CONTAINER = {
    "imagePullPolicy": "Always",
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "resources": {},
}
POD_SPEC = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "image": "nginx"}]},
}
WHOLE_TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {**POD_SPEC, "containers": [{"name": "c", "image": "nginx", **CONTAINER}]},
}


def defaulted(resource: Resource, **fields: Any) -> Obj:
    obj = {"metadata": {"name": "x"}, **fields}
    set_defaults(resource, obj)
    return obj


def pod_spec(**fields: Any) -> Obj:
    spec = {"containers": [{"name": "c", "image": "nginx"}], **fields}
    found: Obj = defaulted(PODS, spec=spec)["spec"]
    return found


def container(**fields: Any) -> Obj:
    one = {"name": "c", "image": "nginx", **fields}
    found: Obj = pod_spec(containers=[one])["containers"][0]
    return found
