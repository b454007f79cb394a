"""Why a check cannot be made with some evidence, as functions for `DoctorCheck.lacks`."""

from collections.abc import Callable

from mooring.deploy.doctor.evidence import Evidence
from mooring.deploy.doctor.schedulers import schedulers, templates

Lacks = Callable[[Evidence], str]


def configurations(evidence: Evidence) -> str:
    """It needs a configuration."""
    if evidence.configurations or evidence.broken:
        return ""
    return "no scheduler configuration was given; --config FILE or --manifest FILE|DIR gives one"


def extenders(evidence: Evidence) -> str:
    """It needs an extender."""
    return configurations(evidence) or (
        "" if evidence.extenders else "no configuration has an extender"
    )


def extenders_and_objects(evidence: Evidence) -> str:
    """It needs an extender, and manifests."""
    return extenders(evidence) or objects(evidence)


def extenders_and_scheduler_pods(evidence: Evidence) -> str:
    """It needs an extender, and a container that runs a scheduler."""
    return extenders(evidence) or scheduler_pods(evidence)


def extenders_and_nodes(evidence: Evidence) -> str:
    """It needs an extender, and a cluster whose nodes we may list."""
    return extenders(evidence) or nodes(evidence)


def objects(evidence: Evidence) -> str:
    """It needs manifests."""
    if evidence.objects or evidence.broken or evidence.files:
        return ""
    return "no manifests were given; --manifest FILE|DIR gives them"


def scheduler_pods(evidence: Evidence) -> str:
    """It needs a container that runs a scheduler."""
    found = objects(evidence)
    if found or any(True for _ in schedulers(evidence)):
        return found
    return "no container of the manifests runs kube-scheduler or moor run"


def pods(evidence: Evidence) -> str:
    """It needs pods, in manifests or in the cluster."""
    if any(True for _ in templates(evidence)) or (evidence.cluster and evidence.cluster.pods):
        return ""
    return "neither a manifest nor a cluster with pods was given"


def static_pods(evidence: Evidence) -> str:
    """It needs a static pod."""
    if evidence.static_files:
        return ""
    return "no file is in a folder such as /etc/kubernetes/manifests, which the kubelet reads"


def any_cluster(evidence: Evidence) -> str:
    """It needs a cluster, even one that does not answer."""
    if evidence.cluster is None:
        return "no cluster was looked at; --kubeconfig FILE names one"
    return ""


def cluster(evidence: Evidence) -> str:
    """It needs a cluster that answers."""
    unreadable = evidence.cluster is not None and evidence.cluster.problem
    return any_cluster(evidence) or ("the cluster cannot be read" if unreadable else "")


def nodes(evidence: Evidence) -> str:
    """It needs a cluster whose nodes we may list."""
    return cluster(evidence) or _listed(evidence, "nodes")


def cluster_pods(evidence: Evidence) -> str:
    """It needs a cluster whose pods we may list."""
    return cluster(evidence) or _listed(evidence, "pods")


def _listed(evidence: Evidence, resource: str) -> str:
    readable = evidence.cluster is None or evidence.cluster.may_read(resource)
    return "" if readable else f"listing {resource} is forbidden"


def asked_extenders(evidence: Evidence) -> str:
    """It needs extenders that were asked."""
    found = extenders(evidence)
    if found:
        return found
    if evidence.probes is None:
        return "extenders were not called; use --ask-extenders to call them"
    asked = [one for one in evidence.probes if not one.skipped]
    return "" if asked else evidence.probes[0].skipped


def policy(evidence: Evidence) -> str:
    """It needs a policy or an extender that scores."""
    if evidence.policy is not None and evidence.policy.policy.scores:
        return ""
    if any(one.settings.prioritize_verb for one in evidence.extenders):
        return ""
    return "neither a policy (--policy) nor an extender that scores nodes was given"
