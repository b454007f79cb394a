"""Defaults of workloads: what makes pods from a template.

`defaults` calls it with objects in their stored form, so that what is empty is not there.
"""

from typing import Final

from mooring.embedded.defaults.pod import default_template
from mooring.embedded.defaults.volumes import default_claim_spec
from mooring.embedded.resources import Obj

_ROLLING: Final = "RollingUpdate"
_MANY: Final = 2**31 - 1


def default_deployment(deployment: Obj) -> None:
    """Complete a Deployment, in place."""
    # parity v1.36.4: pkg/apis/apps/v1/defaults.go
    spec = deployment["spec"]
    spec.setdefault("replicas", 1)
    strategy = spec["strategy"]
    if strategy.setdefault("type", _ROLLING) == _ROLLING:
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    default_template(spec["template"])


def default_replica_set(replica_set: Obj) -> None:
    """Complete a ReplicaSet, in place."""
    spec = replica_set["spec"]
    spec.setdefault("replicas", 1)
    default_template(spec["template"])


def default_replication_controller(controller: Obj) -> None:
    """Complete a ReplicationController, in place."""
    # parity v1.36.4: pkg/apis/core/v1/defaults.go SetDefaults_ReplicationController
    spec = controller["spec"]
    spec.setdefault("replicas", 1)
    template = spec.get("template")
    if template is None:
        return
    labels = template["metadata"].get("labels")
    if labels:
        if "selector" not in spec:
            spec["selector"] = dict(labels)
        if "labels" not in controller["metadata"]:
            controller["metadata"]["labels"] = dict(labels)
    default_template(template)


def default_stateful_set(stateful_set: Obj) -> None:
    """Complete a StatefulSet, in place."""
    spec = stateful_set["spec"]
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec["updateStrategy"]
    if "type" not in strategy:
        strategy["type"] = _ROLLING
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == _ROLLING and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    default_template(spec["template"])
    for claim in spec.get("volumeClaimTemplates", ()):
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"
        claim["status"].setdefault("phase", "Pending")
        default_claim_spec(claim["spec"])


def default_daemon_set(daemon_set: Obj) -> None:
    """Complete a DaemonSet, in place."""
    spec = daemon_set["spec"]
    strategy = spec["updateStrategy"]
    if strategy.setdefault("type", _ROLLING) == _ROLLING:
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    default_template(spec["template"])


def default_job(job: Obj) -> None:
    """Complete a Job, in place."""
    # parity v1.36.4: pkg/apis/batch/v1/defaults.go SetDefaults_Job
    spec = job["spec"]
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _MANY if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    replaced = "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"
    spec.setdefault("podReplacementPolicy", replaced)
    spec.setdefault("manualSelector", False)
    labels = spec["template"]["metadata"].get("labels")
    if labels and "labels" not in job["metadata"]:
        job["metadata"]["labels"] = dict(labels)
    _job_template(spec)


def default_cron_job(cron_job: Obj) -> None:
    """Complete a CronJob, in place."""
    spec = cron_job["spec"]
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    # A job gets its own defaults when it is made.
    _job_template(spec["jobTemplate"]["spec"])


def _job_template(spec: Obj) -> None:
    for rule in spec.get("podFailurePolicy", {}).get("rules") or ():
        for pattern in rule.get("onPodConditions", ()):
            if not pattern.get("status"):
                pattern["status"] = "True"
    default_template(spec["template"])
