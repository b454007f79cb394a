"""Checks the content of objects, in the API server's own words.

Knows which check is for which kind; `api` calls it for everything that is written, after defaults
and after what a client may not set has been put right. What is wrong is named with the fields, the
reasons and the sentences of kube-apiserver v1.36.4, in its order where that is not by chance.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from mooring.embedded.resources import EVENTS, Obj, Resource
from mooring.embedded.status_errors import Cause
from mooring.embedded.validation import (
    config,
    events,
    lease,
    names,
    namespace,
    network_policy,
    node,
    pod_disruption_budget,
    priority_class,
    rbac,
    resource_quota,
    runtime_class,
)
from mooring.embedded.validation.devices import (
    claim_specs,
    claim_status,
    device_classes,
    slices,
)
from mooring.embedded.validation.field_errors import ErrorList, not_supported, required
from mooring.embedded.validation.limit_range import check_limit_range
from mooring.embedded.validation.numbers import StatusCounts
from mooring.embedded.validation.object_meta import check_meta, check_meta_update
from mooring.embedded.validation.pod.pod import check_pod
from mooring.embedded.validation.pod.pod_update import check_pod_status, check_pod_update
from mooring.embedded.validation.service import service
from mooring.embedded.validation.storage import csi, persistent_volumes
from mooring.embedded.validation.workloads import apps, jobs

New = Callable[[Obj, ErrorList], None]
Changed = Callable[[Obj, Obj, ErrorList], None]


def validate(
    resource: Resource, obj: Obj, old: Obj | None, *, subresource: str = ""
) -> list[Cause]:
    """What is wrong with an object.

    Args:
        resource: its resource.
        obj: the object as it would be stored.
        old: what is stored now; None for a new object.
        subresource: such as ``status``, if only that is written.
    """
    errors: ErrorList = []
    checks = _CHECKS.get(resource.plural if resource is not EVENTS else "events.k8s.io")
    if old is None:
        if checks is not None:
            checks.new(obj, errors)
        if checks is None or (checks.new_meta and not errors):
            _check_any(resource, obj, errors)
        return errors
    # parity v1.36.4: apiserver/pkg/registry/rest/update.go: the rules for all objects come first,
    # and those of the kind may repeat them
    _check_any(resource, obj, errors)
    check_meta_update(obj, old, errors, kube_finalizers=False)
    if checks is not None:
        changed = checks.parts.get(subresource) if subresource else checks.changed
        if changed is not None:
            changed(obj, old, errors)
        elif not subresource:
            checks.new(obj, errors)
    return errors


def _check_any(resource: Resource, obj: Obj, errors: ErrorList) -> None:
    """The rules for the metadata of all objects."""
    check_meta(
        obj, names.path_segment, errors, namespaced=resource.namespaced, kube_finalizers=False
    )


def _check_binding(binding: Obj, errors: ErrorList) -> None:
    # parity v1.36.4: core/validation/validation.go ValidatePodBinding
    target = binding.get("target") or {}
    if target.get("kind") not in (None, "", "Node"):
        errors.append(not_supported("target.kind", target["kind"], ("Node", "<empty>")))
    if not target.get("name"):
        errors.append(required("target.name"))


class _Checks(msgspec.Struct, frozen=True):
    """The checks of one kind.

    Attributes:
        new: for new objects; also for changed ones if there is no other.
        changed: for changed objects.
        parts: for subresources.
        new_meta: whether `new` leaves the metadata to the rules for all objects.
    """

    new: New
    changed: Changed | None = None
    parts: dict[str, Changed] = {}
    new_meta: bool = False


_REPLICAS: Final = StatusCounts(
    "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas",
    "observedGeneration", "terminatingReplicas",
    below=("fullyLabeledReplicas", "readyReplicas", "availableReplicas"), ready="readyReplicas",
)  # fmt: skip
_CHECKS: Final[dict[str, _Checks]] = {
    "pods": _Checks(check_pod, check_pod_update, {"status": check_pod_status}),
    "nodes": _Checks(node.check_node, node.check_node_update, {"status": node.check_node_status}),
    "namespaces": _Checks(
        namespace.check_namespace,
        namespace.check_namespace_update,
        {
            "status": namespace.check_namespace_status,
            "finalize": namespace.check_namespace_finalize,
        },
    ),
    "bindings": _Checks(_check_binding),
    "events": _Checks(
        events.check_core_event, events.check_core_event_update, new_meta=True
    ),
    "events.k8s.io": _Checks(events.check_event, events.check_event_update),
    "configmaps": _Checks(config.check_config_map, config.check_config_map_update),
    "secrets": _Checks(config.check_secret, config.check_secret_update),
    "serviceaccounts": _Checks(
        config.check_service_account, config.check_service_account_update
    ),
    "limitranges": _Checks(check_limit_range),
    "resourcequotas": _Checks(resource_quota.check_quota, resource_quota.check_quota_update),
    "services": _Checks(
        service.check_service, service.check_service_update, {"status": check_meta_update}
    ),
    "endpoints": _Checks(service.check_endpoints, service.check_endpoints_update),
    "podtemplates": _Checks(apps.check_pod_template, apps.check_pod_template_update),
    "controllerrevisions": _Checks(apps.check_revision, apps.check_revision_update),
    "deployments": _Checks(
        apps.check_deployment,
        apps.check_deployment_update,
        {
            "status": StatusCounts(
                "observedGeneration", "replicas", "updatedReplicas", "readyReplicas",
                "availableReplicas", "unavailableReplicas", "terminatingReplicas",
                "collisionCount",
                below=("updatedReplicas", "readyReplicas", "availableReplicas"),
                ready="readyReplicas",
            )
        },
    ),
    "replicasets": _Checks(
        apps.check_replica_set, apps.check_replica_set_update, {"status": _REPLICAS}
    ),
    "replicationcontrollers": _Checks(
        apps.check_replication_controller,
        apps.check_replication_controller_update,
        {"status": _REPLICAS},
    ),
    "statefulsets": _Checks(
        apps.check_stateful_set,
        apps.check_stateful_set_update,
        {
            "status": StatusCounts(
                "replicas", "readyReplicas", "currentReplicas", "updatedReplicas",
                "availableReplicas", "observedGeneration", "collisionCount",
                below=("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
                ready="status.readyReplicas", status_first=True,
            )
        },
    ),
    "daemonsets": _Checks(
        apps.check_daemon_set,
        apps.check_daemon_set_update,
        {
            "status": StatusCounts(
                "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled",
                "numberReady", "observedGeneration", "updatedNumberScheduled", "numberAvailable",
                "numberUnavailable", "collisionCount",
            )
        },
    ),
    "jobs": _Checks(jobs.check_job, jobs.check_job_update, {"status": jobs.check_job_status}),
    "cronjobs": _Checks(jobs.check_cron_job, jobs.check_cron_job_update),
    "persistentvolumes": _Checks(
        persistent_volumes.check_volume,
        persistent_volumes.check_volume_update,
        {"status": check_meta_update},
    ),
    "persistentvolumeclaims": _Checks(
        persistent_volumes.check_claim,
        persistent_volumes.check_claim_update,
        {"status": persistent_volumes.check_claim_status},
    ),
    "storageclasses": _Checks(csi.check_storage_class, csi.check_storage_class_update),
    "csinodes": _Checks(csi.check_csi_node, csi.check_csi_node_update),
    "csidrivers": _Checks(csi.check_csi_driver, csi.check_csi_driver_update),
    "csistoragecapacities": _Checks(csi.check_capacity, csi.check_capacity_update),
    "volumeattachments": _Checks(csi.check_attachment, csi.check_attachment_update),
    "poddisruptionbudgets": _Checks(
        pod_disruption_budget.check_budget,
        parts={"status": pod_disruption_budget.check_budget_status},
        new_meta=True,
    ),
    "networkpolicies": _Checks(
        network_policy.check_network_policy, network_policy.check_network_policy_update
    ),
    "priorityclasses": _Checks(
        priority_class.check_priority_class, priority_class.check_priority_class_update
    ),
    "runtimeclasses": _Checks(
        runtime_class.check_runtime_class, runtime_class.check_runtime_class_update
    ),
    "leases": _Checks(lease.check_lease, lease.check_lease_update),
    "resourceclaims": _Checks(
        claim_specs.check_claim,
        claim_specs.check_claim_update,
        {"status": claim_status.check_claim_status},
    ),
    "resourceclaimtemplates": _Checks(
        claim_specs.check_claim_template, claim_specs.check_claim_template_update
    ),
    "resourceslices": _Checks(slices.check_slice, slices.check_slice_update),
    "deviceclasses": _Checks(device_classes.check_class, device_classes.check_class_update),
    "roles": _Checks(rbac.check_role, rbac.check_role_update),
    "clusterroles": _Checks(rbac.check_cluster_role, rbac.check_cluster_role_update),
    "rolebindings": _Checks(rbac.check_role_binding, rbac.check_role_binding_update),
    "clusterrolebindings": _Checks(
        rbac.check_cluster_role_binding, rbac.check_cluster_role_binding_update
    ),
}  # fmt: skip
