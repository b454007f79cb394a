"""What the API server works out itself about objects of single kinds.

`strategy` calls it by way of the tables at the end. Pods have a module of their own.
"""

from collections.abc import Callable, Mapping
from typing import Final

from mooring.embedded import resources as kinds
from mooring.embedded.admission.device_strategy import complete_slice
from mooring.embedded.admission.pod_strategy import drop_disabled
from mooring.embedded.resources import Obj, Resource

_KUBERNETES: Final = "kubernetes"
_TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
_JOB_NAMES: Final = ("job-name", "batch.kubernetes.io/job-name")
_JOB_UIDS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")


def keep(obj: Obj, old: Obj, field: str) -> None:
    """Have a field as it was."""
    if field in old:
        obj[field] = old[field]
    else:
        obj.pop(field, None)


def _new_namespace(namespace: Obj, _now: str) -> None:
    namespace["status"]["phase"] = "Active"
    finalizers = namespace["spec"].setdefault("finalizers", [])
    if _KUBERNETES not in finalizers:
        finalizers.append(_KUBERNETES)


def _changed_namespace(namespace: Obj, old: Obj) -> None:
    keep(namespace["spec"], old["spec"], "finalizers")


def _node(node: Obj, _other: object) -> None:
    node["spec"].pop("configSource", None)
    node["status"].pop("config", None)


def _new_volume(volume: Obj, now: str) -> None:
    volume["status"]["phase"] = "Pending"
    if now:
        volume["status"]["lastPhaseTransitionTime"] = now


def _new_claim(claim: Obj, _now: str) -> None:
    claim["status"]["phase"] = "Pending"
    _agree_on_source(claim["spec"], in_use=False)


def _changed_claim(claim: Obj, old: Obj) -> None:
    before = old["spec"]
    _agree_on_source(claim["spec"], in_use="dataSource" in before or "dataSourceRef" in before)


def _agree_on_source(spec: Obj, *, in_use: bool) -> None:
    """A claim names where its content comes from under an old and a new name."""
    # parity v1.36.4: pkg/api/persistentvolumeclaim/util.go
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if reference is not None and reference.get("namespace") and not in_use:
        del spec["dataSourceRef"]  # a gate that is closed
        reference = None
    if source is not None and reference is None and not in_use and not _is_old_source(source):
        del spec["dataSource"]
        source = None
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {
            "apiGroup": None,
            **{name: value for name, value in reference.items() if name != "namespace"},
        }


def _is_old_source(source: Obj) -> bool:
    kind, group = source.get("kind"), source.get("apiGroup") or ""
    return (group, kind) in (
        ("", "PersistentVolumeClaim"),
        ("snapshot.storage.k8s.io", "VolumeSnapshot"),
    )


def _service_account(account: Obj, _other: object) -> None:
    # parity v1.36.4: pkg/registry/core/serviceaccount/strategy.go cleanSecretReferences
    secrets = account.get("secrets")
    if secrets:
        account["secrets"] = [{"name": one["name"]} if "name" in one else {} for one in secrets]


def _changed_service(service: Obj, _old: Obj) -> None:
    if service["spec"].get("type") != "LoadBalancer":
        service["status"] = {**service.get("status", {}), "loadBalancer": {}}


def _workload(workload: Obj, _other: object) -> None:
    drop_disabled(workload["spec"]["template"]["spec"])


def _controller(controller: Obj, _other: object) -> None:
    if "template" in controller["spec"]:
        drop_disabled(controller["spec"]["template"]["spec"])


def _pod(pod: Obj, _old: Obj) -> None:
    drop_disabled(pod["spec"])


def _pod_template(template: Obj, _other: object) -> None:
    drop_disabled(template["template"]["spec"])


def _cron_job(cron_job: Obj, _other: object) -> None:
    drop_disabled(cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"])


def _stateful_set(stateful_set: Obj, other: object) -> None:
    stateful_set["spec"]["updateStrategy"].get("rollingUpdate", {}).pop("maxUnavailable", None)
    _workload(stateful_set, other)


def _new_daemon_set(daemon_set: Obj, now: str) -> None:
    annotations = daemon_set["metadata"].setdefault("annotations", {})
    if _number(annotations) < 1:
        annotations[_TEMPLATE_GENERATION] = "1"
    _workload(daemon_set, now)


def _changed_daemon_set(daemon_set: Obj, old: Obj) -> None:
    _workload(daemon_set, old)
    number = _number(old["metadata"].get("annotations", {}))
    if daemon_set["spec"]["template"] != old["spec"]["template"]:
        number += 1
    daemon_set["metadata"].setdefault("annotations", {})[_TEMPLATE_GENERATION] = str(number)


def _number(annotations: Obj) -> int:
    text = annotations.get(_TEMPLATE_GENERATION, "")
    return int(text) if text.isdecimal() else 0


def _new_job(job: Obj, now: str) -> None:
    """A job knows its pods by its own id, unless it says how."""
    # parity v1.36.4: pkg/registry/batch/job/strategy.go generateSelector
    metadata, spec = job["metadata"], job["spec"]
    if not spec["manualSelector"]:
        given = spec["template"]["metadata"].get("labels", {})
        made = dict.fromkeys(_JOB_NAMES, metadata.get("name", ""))
        made |= dict.fromkeys(_JOB_UIDS, metadata["uid"])
        labels = spec["template"]["metadata"]["labels"] = {**made, **given}
        # Labels that are the template's by default remain so.
        if metadata.get("labels", given) == given:
            metadata["labels"] = dict(labels)
        selector = spec.setdefault("selector", {}).setdefault("matchLabels", {})
        selector.setdefault(_JOB_UIDS[1], metadata["uid"])
    _workload(job, now)


def _driver(driver: Obj, _other: object) -> None:
    driver["spec"].pop("preventPodSchedulingIfMissing", None)


def _lease(lease: Obj, _other: object) -> None:
    lease["spec"].pop("strategy", None)
    lease["spec"].pop("preferredHolder", None)


#: What is done with new objects, by kind; it gets the time.
CREATE: Final[Mapping[Resource, Callable[[Obj, str], None]]] = {
    kinds.NAMESPACES: _new_namespace,
    kinds.NODES: _node,
    kinds.PERSISTENT_VOLUMES: _new_volume,
    kinds.PERSISTENT_VOLUME_CLAIMS: _new_claim,
    kinds.SERVICE_ACCOUNTS: _service_account,
    kinds.POD_TEMPLATES: _pod_template,
    kinds.REPLICATION_CONTROLLERS: _controller,
    kinds.DEPLOYMENTS: _workload,
    kinds.REPLICA_SETS: _workload,
    kinds.STATEFUL_SETS: _stateful_set,
    kinds.DAEMON_SETS: _new_daemon_set,
    kinds.JOBS: _new_job,
    kinds.CRON_JOBS: _cron_job,
    kinds.CSI_DRIVERS: _driver,
    kinds.LEASES: _lease,
    kinds.RESOURCE_SLICES: complete_slice,
}
#: What is done with changed objects, by kind; it gets the old one.
UPDATE: Final[Mapping[Resource, Callable[[Obj, Obj], None]]] = {
    kinds.PODS: _pod,
    kinds.NAMESPACES: _changed_namespace,
    kinds.NODES: _node,
    kinds.SERVICES: _changed_service,
    kinds.SERVICE_ACCOUNTS: _service_account,
    kinds.PERSISTENT_VOLUME_CLAIMS: _changed_claim,
    kinds.POD_TEMPLATES: _pod_template,
    kinds.REPLICATION_CONTROLLERS: _controller,
    kinds.DEPLOYMENTS: _workload,
    kinds.REPLICA_SETS: _workload,
    kinds.STATEFUL_SETS: _stateful_set,
    kinds.DAEMON_SETS: _changed_daemon_set,
    kinds.JOBS: _workload,
    kinds.CRON_JOBS: _cron_job,
    kinds.CSI_DRIVERS: _driver,
    kinds.LEASES: _lease,
}
