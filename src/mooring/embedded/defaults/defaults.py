"""Defaults: what the API server adds to an object that a client left open.

`api` calls `set_defaults` for every object that is created or changed, before admission and
validation. Objects have fields of the right types already (`schema.check_fields`). What depends on
other objects is admission's business, what depends on the request is that of `strategy`.
"""

from collections.abc import Callable, Mapping
from typing import Final

from mooring.embedded import resources as kinds
from mooring.embedded.defaults.cluster import (
    default_driver,
    default_endpoints,
    default_limit_range,
    default_namespace,
    default_network_policy,
    default_node,
    default_priority_class,
    default_role_binding,
    default_secret,
    default_service,
    default_storage_class,
)
from mooring.embedded.defaults.devices import default_claim_template, default_resource_claim
from mooring.embedded.defaults.pod import default_pod, default_template
from mooring.embedded.defaults.volumes import default_claim_spec, default_source
from mooring.embedded.defaults.workloads import (
    default_cron_job,
    default_daemon_set,
    default_deployment,
    default_job,
    default_replica_set,
    default_replication_controller,
    default_stateful_set,
)
from mooring.embedded.resources import Obj, Resource
from mooring.embedded.schema.stored_form import stored_form_of


def set_defaults(resource: Resource, obj: Obj) -> None:
    """Complete an object and bring it into the form in which it is stored, in place.

    Raises:
        QuantityError: an amount in it is no quantity.
    """
    stored_form_of(resource).write(obj)
    complete = _DEFAULTS.get(resource)
    if complete is not None:
        complete(obj)


def _pod_template(obj: Obj) -> None:
    default_template(obj["template"])


def _volume(volume: Obj) -> None:
    # parity v1.36.4: pkg/apis/core/v1/defaults.go SetDefaults_PersistentVolume
    spec = volume["spec"]
    volume["status"].setdefault("phase", "Pending")
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    default_source(spec)


def _claim(claim: Obj) -> None:
    # parity v1.36.4: pkg/apis/core/v1/defaults.go SetDefaults_PersistentVolumeClaim
    claim["status"].setdefault("phase", "Pending")
    default_claim_spec(claim["spec"])


def _attachment(attachment: Obj) -> None:
    inline = attachment["spec"]["source"].get("inlineVolumeSpec")
    if inline is not None:
        default_source(inline)


_DEFAULTS: Final[Mapping[Resource, Callable[[Obj], None]]] = {
    kinds.PODS: default_pod,
    kinds.NODES: default_node,
    kinds.NAMESPACES: default_namespace,
    kinds.SERVICES: default_service,
    kinds.SECRETS: default_secret,
    kinds.ENDPOINTS: default_endpoints,
    kinds.LIMIT_RANGES: default_limit_range,
    kinds.POD_TEMPLATES: _pod_template,
    kinds.REPLICATION_CONTROLLERS: default_replication_controller,
    kinds.PERSISTENT_VOLUMES: _volume,
    kinds.PERSISTENT_VOLUME_CLAIMS: _claim,
    kinds.DEPLOYMENTS: default_deployment,
    kinds.REPLICA_SETS: default_replica_set,
    kinds.STATEFUL_SETS: default_stateful_set,
    kinds.DAEMON_SETS: default_daemon_set,
    kinds.JOBS: default_job,
    kinds.CRON_JOBS: default_cron_job,
    kinds.NETWORK_POLICIES: default_network_policy,
    kinds.PRIORITY_CLASSES: default_priority_class,
    kinds.STORAGE_CLASSES: default_storage_class,
    kinds.CSI_DRIVERS: default_driver,
    kinds.VOLUME_ATTACHMENTS: _attachment,
    kinds.RESOURCE_CLAIMS: default_resource_claim,
    kinds.RESOURCE_CLAIM_TEMPLATES: default_claim_template,
    kinds.ROLE_BINDINGS: default_role_binding,
    kinds.CLUSTER_ROLE_BINDINGS: default_role_binding,
}
