"""Checks of what an extender is sent and of how much its scores, and a policy's, count."""

from collections.abc import Iterator
from typing import Final

from mooring.config.policy_say import KUBE_SCHEDULER_WEIGHT, PolicySay, policy_say
from mooring.config.runtimes import build_profiles
from mooring.deploy.doctor.checks import needs
from mooring.deploy.doctor.checks.extenders import extender_field
from mooring.deploy.doctor.evidence import Evidence, FoundConfiguration
from mooring.deploy.doctor.findings import DoctorCheck, DoctorFinding, DoctorSeverity, FindingPlace
from mooring.deploy.doctor.usable_configuration import usable_settings
from mooring.plugins.in_tree import default_registry

#: From so many nodes on, sending all of them with each request costs more than deciding.
MANY_NODES: Final = 200
#: A policy with less than this percentage of the total decides hardly anything.
_LITTLE_SAY: Final = 10


def _many_nodes(evidence: Evidence) -> Iterator[DoctorFinding]:
    number = len(evidence.cluster.nodes) if evidence.cluster is not None else 0
    for extender in evidence.extenders:
        if number <= MANY_NODES or extender.settings.node_cache_capable:
            continue
        yield DoctorFinding(
            severity=DoctorSeverity.WARNING,
            what=f"Each request to {extender.url} contains all {number} nodes in full.",
            advice="Write nodeCacheCapable: true, and let the extender watch nodes itself, as "
            "moor serve --node-cache does.",
            place=extender.place("nodeCacheCapable"),
            edits=extender_field(extender, "nodeCacheCapable", "true"),
        )


def _empty_nodes(evidence: Evidence) -> Iterator[DoctorFinding]:
    for extender in evidence.extenders:
        if not extender.settings.filter_verb or extender.settings.node_cache_capable:
            continue
        yield DoctorFinding(
            severity=DoctorSeverity.WARNING,
            what="After this filter, kube-scheduler's scores see nodes without any pods on them "
            "(kubernetes/kubernetes#141781).",
            advice="Write nodeCacheCapable: true, and let the extender watch nodes itself, as "
            "moor serve --node-cache does.",
            place=extender.place("nodeCacheCapable"),
            edits=extender_field(extender, "nodeCacheCapable", "true"),
        )


def _say(evidence: Evidence) -> Iterator[DoctorFinding]:
    for extender in evidence.extenders:
        one = extender.settings
        if not one.prioritize_verb or one.weight <= 0:
            continue
        others = _other_weights(extender.configuration)
        say = PolicySay("", one.weight, one.weight + others)
        if say.percent < _LITTLE_SAY:
            yield DoctorFinding(
                severity=DoctorSeverity.WARNING,
                what=f"The extender can decide {say.percent}% of a node's total score (weight "
                f"{say.weight} of {say.total}): its scores hardly ever matter.",
                advice=f"Write weight: {others}, which gives it half the say.",
                place=extender.place("weight"),
                edits=extender_field(extender, "weight", str(others)),
            )
    if evidence.policy is None or not evidence.policy.policy.scores:
        return
    policy, where = evidence.policy.policy, FindingPlace(evidence.policy.place)
    for name, profile in evidence.policy.profiles.items():
        found = policy_say(policy, profile, evidence.policy.extenders)
        if found is None:
            yield DoctorFinding(
                severity=DoctorSeverity.WARNING,
                what=f"The policy {policy.name} scores nodes, and the profile {name} does not ask "
                "it.",
                advice=f"Enable {policy.name} at score in the profile, or take out what "
                "disables it.",
                place=where,
            )
        elif found.percent < _LITTLE_SAY:
            others = found.total - found.weight
            yield DoctorFinding(
                severity=DoctorSeverity.WARNING,
                what=f"In the profile {name}, {found}: its scores hardly ever matter.",
                advice=f"Write weight={others} in mr.Policy(...), or leave it out: half the say is "
                "the default.",
                place=where,
            )


def _other_weights(configuration: FoundConfiguration) -> int:
    """The weights of the plugins that score beside an extender, where they are fewest."""
    settings = usable_settings([configuration])
    if settings is None:
        return KUBE_SCHEDULER_WEIGHT
    profiles = build_profiles(settings, default_registry())
    return min(one.score_weight for one in profiles.values())


CHECKS: Final = (
    DoctorCheck(
        id="node-cache-size",
        title=f"extenders get names, not whole nodes, beyond {MANY_NODES} nodes",
        why="5,000 nodes are 35 MB in each request; with names alone, kube-scheduler places about "
        "50 times as many pods in the same time.",
        judge=_many_nodes,
        lacks=needs.extenders_and_nodes,
    ),
    DoctorCheck(
        id="node-cache-scores",
        title="kube-scheduler's scores see the pods on nodes",
        why="With nodeCacheCapable: false, kube-scheduler goes on with the nodes of the extender's "
        "reply, which have no pods: NodeResourcesFit and others score them as if they were empty.",
        judge=_empty_nodes,
        lacks=needs.extenders,
    ),
    DoctorCheck(
        id="policy-say",
        title="the scores of policies and extenders have a say",
        why="Scores are added up by weight. A weight of 1 beside the default plugins, which have "
        "14 together, changes the order of nodes only if they are nearly equal.",
        judge=_say,
        lacks=needs.policy,
    ),
)
