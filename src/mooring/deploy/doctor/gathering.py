"""Making the evidence: from texts of files, a policy, a cluster and extenders.

The command line calls it with what it read; `read_cluster` and `ask_extenders` do the I/O.
"""

import dataclasses
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from mooring.config.configuration import read_configuration
from mooring.config.runtimes import build_profiles
from mooring.deploy.doctor.evidence import (
    Evidence,
    FoundObject,
    PodOutlook,
    PolicyEvidence,
    mapping,
)
from mooring.deploy.doctor.manifest_reader import ReadFiles, configurations_in, extenders_of
from mooring.deploy.doctor.schedulers import processes, templates
from mooring.deploy.doctor.served_names import served_names
from mooring.deploy.doctor.usable_configuration import usable_settings
from mooring.errors import InputError, PluginError
from mooring.plugins.in_tree import default_registry

if TYPE_CHECKING:
    from mooring.framework.policy import Policy
    from mooring.snapshot.snapshot import Snapshot

#: So many pods are decided about; one of each kind is enough to see what is wrong.
_MOST_PODS: Final = 20


def evidence_of(texts: Iterable[tuple[str, str]], config: str = "") -> Evidence:
    """The evidence of files alone.

    Args:
        texts: each file's name and text: manifests and configurations.
        config: the file that is a configuration, even if it does not say so.
    """
    read = ReadFiles()
    for file, text in texts:
        read.add(file, text, is_configuration=file == config)
    return with_extenders(
        Evidence(
            objects=tuple(read.objects),
            configurations=tuple(read.configurations),
            broken=tuple(read.broken),
            files=tuple(read.files),
            static_files=frozenset(read.static),
            python=sys.version_info[:2],
        )
    )


def with_extenders(evidence: Evidence) -> Evidence:
    """The same evidence with the extenders of its configurations."""
    found = tuple(one for each in evidence.configurations for one in extenders_of(each))
    return dataclasses.replace(evidence, extenders=found)


def with_objects(evidence: Evidence, objects: Sequence[FoundObject]) -> Evidence:
    """The same evidence with more objects, and with the configurations in them."""
    more = tuple(one for each in objects for one in configurations_in(each))
    return with_extenders(
        dataclasses.replace(
            evidence,
            objects=(*evidence.objects, *objects),
            configurations=(*evidence.configurations, *more),
        )
    )


def policy_evidence(evidence: Evidence, policy: "Policy", place: str) -> PolicyEvidence:
    """A policy in the profiles of the first configuration that can be read, or of the default."""
    settings = usable_settings(evidence.configurations)
    registry = default_registry()
    try:
        profiles = build_profiles(settings, registry, [policy])
    except InputError:
        settings = None  # a check says what is wrong with it
        profiles = build_profiles(None, default_registry(), [policy])
    return PolicyEvidence(
        policy=policy,
        place=place,
        profiles=profiles,
        extenders=read_configuration(settings).extenders,
    )


def has_pods_to_place(evidence: Evidence) -> bool:
    """Whether there are pods about which `outlooks` would say something."""
    own = {id(one.template.owner) for one in processes(evidence)}
    pods = evidence.cluster.pods if evidence.cluster is not None else ()
    return any(
        one.owner.kind == "Pod" and one.owner.document is not None and id(one.owner) not in own
        for one in templates(evidence)
    ) or any(not mapping(one.get("spec")).get("nodeName") for one in pods)


def outlooks(
    evidence: Evidence,
    snapshot: "Snapshot",
    policy: "Policy | None" = None,
    before: Callable[[], None] = lambda: None,
) -> tuple[PodOutlook, ...]:
    """On how many nodes the pods of the manifests, and pending ones, could run.

    Args:
        evidence: has the manifests and the configuration.
        snapshot: the cluster.
        policy: a policy that takes part.
        before: called before each decision, for a time limit.
    """
    from mooring.explaining.explainer import Explainer  # noqa: PLC0415 - slow to import
    from mooring.model.pod import Pod  # noqa: PLC0415

    settings = usable_settings(evidence.configurations)
    explainer = Explainer(snapshot, settings, policy=policy, before=before)
    served = served_names(evidence)
    own = {id(one.template.owner) for one in processes(evidence)}
    wanted: list[tuple[str, Any]] = [
        (f"{one.owner.namespace}/{one.owner.name}", {**one.owner.data})
        for one in templates(evidence)
        if one.owner.kind == "Pod"
        and one.owner.document is not None
        and id(one.owner) not in own
        and one.scheduler_name in served
    ]
    wanted += [
        (one.key, one.key)
        for one in snapshot.all(Pod)
        if not one.node_name and one.scheduler_name in served
    ]
    found = []
    for name, pod in wanted[:_MOST_PODS]:
        try:
            record = explainer.record(pod)
        except (InputError, PluginError):
            continue
        feasible = len(record.filtering.feasible) if record.filtering is not None else 0
        found.append(PodOutlook(name, feasible, len(record.nodes)))
    return tuple(found)
