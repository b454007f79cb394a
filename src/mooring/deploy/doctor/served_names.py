"""The names of schedulers that somebody serves, in manifests or in the cluster.

`gathering` and the checks of names ask it. No I/O.
"""

from mooring.config.types import DEFAULT_SCHEDULER
from mooring.deploy.doctor.evidence import Evidence, mapping, sequence
from mooring.deploy.doctor.schedulers import names_of, scheduler_names, schedulers


def served_names(evidence: Evidence) -> set[str]:
    """The scheduler names that somebody serves, as far as the evidence says."""
    names = {DEFAULT_SCHEDULER}
    for one in evidence.configurations:
        names |= set(scheduler_names(one))
    for process in schedulers(evidence):
        names |= set(names_of(evidence, process))
    if evidence.cluster is not None:
        for event in evidence.cluster.events:
            if event.get("reason") in ("Scheduled", "FailedScheduling"):
                source = mapping(event.get("source")).get("component")
                names.add(str(event.get("reportingComponent") or source or ""))
        names |= {scheduler_of(pod) for pod in evidence.cluster.pods if _was_looked_at(pod)}
    return names - {""}


def scheduler_of(pod: object) -> str:
    """The name of the scheduler that a pod of the cluster is for."""
    return str(mapping(mapping(pod).get("spec")).get("schedulerName") or DEFAULT_SCHEDULER)


def _was_looked_at(pod: object) -> bool:
    """Whether a scheduler has said something about a pod."""
    if mapping(mapping(pod).get("spec")).get("nodeName"):
        return False  # anybody can write it
    conditions = sequence(mapping(mapping(pod).get("status")).get("conditions"))
    return any(
        mapping(one).get("type") == "PodScheduled"
        and mapping(one).get("reason") != "SchedulingGated"
        for one in conditions
    )
