"""The columns of what makes pods and protects them: deployments, jobs, disruption budgets.

Owns what ``kubectl get`` shows of them; `tables` calls it.
"""

# parity v1.36.4: pkg/printers/internalversion/printers.go
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.tables.ages import age, duration, seconds
from mooring.embedded.tables.printer import (
    AGE,
    NAME,
    NONE,
    TEMPLATE,
    UNSET,
    Cell,
    Printer,
    age_of,
    being_deleted,
    boolean,
    containers,
    has_condition,
    integer,
    labels_text,
    listed,
    name_of,
    number,
    part,
    selector_text,
    text,
    wide,
)


def _deployment(deployment: Obj, now: float) -> list[Cell]:
    spec, status = part(deployment, "spec"), part(deployment, "status")
    return [
        name_of(deployment),
        f"{number(status, 'readyReplicas')}/{number(spec, 'replicas')}",
        number(status, "updatedReplicas"),
        number(status, "availableReplicas"),
        age_of(deployment, now),
        *containers(part(spec, "template")),
        selector_text(spec.get("selector"), absent=""),
    ]


def _replicas(obj: Obj, now: float) -> list[Cell]:
    spec, status = part(obj, "spec"), part(obj, "status")
    return [
        name_of(obj),
        number(spec, "replicas"),
        number(status, "replicas"),
        number(status, "readyReplicas"),
        age_of(obj, now),
        *containers(part(spec, "template")),
    ]


def _replica_set(obj: Obj, now: float) -> list[Cell]:
    return [*_replicas(obj, now), selector_text(part(obj, "spec").get("selector"))]


def _replication_controller(obj: Obj, now: float) -> list[Cell]:
    return [*_replicas(obj, now), labels_text(part(obj, "spec").get("selector"))]


def _scale(obj: Obj, now: float) -> list[Cell]:
    desired, there = part(obj, "spec"), part(obj, "status")
    return [name_of(obj), number(desired, "replicas"), number(there, "replicas"), age_of(obj, now)]


def _stateful_set(obj: Obj, now: float) -> list[Cell]:
    spec, status = part(obj, "spec"), part(obj, "status")
    return [
        name_of(obj),
        f"{number(status, 'readyReplicas')}/{number(spec, 'replicas')}",
        age_of(obj, now),
        *containers(part(spec, "template")),
    ]


def _daemon_set(obj: Obj, now: float) -> list[Cell]:
    spec, status = part(obj, "spec"), part(obj, "status")
    return [
        name_of(obj),
        number(status, "desiredNumberScheduled"),
        number(status, "currentNumberScheduled"),
        number(status, "numberReady"),
        number(status, "updatedNumberScheduled"),
        number(status, "numberAvailable"),
        labels_text(part(spec, "template", "spec").get("nodeSelector")),
        age_of(obj, now),
        *containers(part(spec, "template")),
        selector_text(spec.get("selector")),
    ]


def _controller_revision(revision: Obj, now: float) -> list[Cell]:
    owner = NONE
    for one in listed(revision, "metadata", "ownerReferences"):
        if one.get("controller"):
            group = one.get("apiVersion", "").rpartition("/")[0]
            kind = f"{one['kind']}.{group}" if group else one["kind"]
            owner = f"{kind.lower()}/{one['name']}"
            break
    return [name_of(revision), owner, number(revision, "revision"), age_of(revision, now)]


def _job(job: Obj, now: float) -> list[Cell]:
    spec, status = part(job, "spec"), part(job, "status")
    return [
        name_of(job),
        _job_status(job),
        _completions(spec, status),
        _job_duration(status, now),
        age_of(job, now),
        *containers(part(spec, "template")),
        selector_text(spec.get("selector")),
    ]


def _completions(spec: Obj, status: Obj) -> str:
    succeeded = number(status, "succeeded")
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = number(spec, "parallelism")
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(status: Obj, now: float) -> str:
    start, end = status.get("startTime"), status.get("completionTime")
    if not start:
        return ""
    return duration(seconds(end) - seconds(start)) if end else age(start, now)


def _job_status(job: Obj) -> str:
    if has_condition(job, "Complete"):
        return "Complete"
    if has_condition(job, "Failed"):
        return "Failed"
    if being_deleted(job):
        return "Terminating"
    for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if has_condition(job, kind):
            return kind
    return "Running"


def _cron_job(cron: Obj, now: float) -> list[Cell]:
    spec, status = part(cron, "spec"), part(cron, "status")
    suspend, last = spec.get("suspend"), status.get("lastScheduleTime")
    job = part(spec, "jobTemplate", "spec")
    return [
        name_of(cron),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        UNSET if suspend is None else str(bool(suspend)),
        len(listed(status, "active")),
        age(last, now) if last else NONE,
        age_of(cron, now),
        *containers(part(job, "template")),
        selector_text(job.get("selector")),
    ]


def _budget(budget: Obj, now: float) -> list[Cell]:
    spec, status = part(budget, "spec"), part(budget, "status")
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    return [
        name_of(budget),
        "N/A" if least is None else str(least),
        "N/A" if most is None else str(most),
        number(status, "disruptionsAllowed"),
        age_of(budget, now),
    ]


_SELECTOR: Final = wide("Selector")
_REPLICAS: Final = (
    NAME, integer("Desired"), integer("Current"), integer("Ready"), AGE, *TEMPLATE, _SELECTOR,
)  # fmt: skip

DEPLOYMENTS: Final = Printer(
    (NAME, text("Ready"), text("Up-to-date"), text("Available"), AGE, *TEMPLATE, _SELECTOR),
    _deployment,
)
REPLICA_SETS: Final = Printer(_REPLICAS, _replica_set)
SCALES: Final = Printer((text("Name"), integer("Desired"), integer("Available"), AGE), _scale)
REPLICATION_CONTROLLERS: Final = Printer(_REPLICAS, _replication_controller)
STATEFUL_SETS: Final = Printer((NAME, text("Ready"), AGE, *TEMPLATE), _stateful_set)
DAEMON_SETS: Final = Printer(
    (
        NAME, integer("Desired"), integer("Current"), integer("Ready"), integer("Up-to-date"),
        integer("Available"), text("Node Selector"), AGE, *TEMPLATE, _SELECTOR,
    ),
    _daemon_set,
)  # fmt: skip
CONTROLLER_REVISIONS: Final = Printer(
    (NAME, text("Controller"), text("Revision"), AGE), _controller_revision
)
JOBS: Final = Printer(
    (NAME, text("Status"), text("Completions"), text("Duration"), AGE, *TEMPLATE, _SELECTOR), _job
)
CRON_JOBS: Final = Printer(
    (
        NAME, text("Schedule"), text("Timezone"), boolean("Suspend"), integer("Active"),
        text("Last Schedule"), AGE, *TEMPLATE, _SELECTOR,
    ),
    _cron_job,
)  # fmt: skip
POD_DISRUPTION_BUDGETS: Final = Printer(
    (NAME, text("Min Available"), text("Max Unavailable"), integer("Allowed Disruptions"), AGE),
    _budget,
)
