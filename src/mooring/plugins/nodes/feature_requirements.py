"""Which features a node must have declared to run a pod.

Called by NodeDeclaredFeatures. kube-scheduler's registry has more features, but the others matter
only when a pod is changed, never when it is placed.
"""

from typing import Final

from mooring.model.pod import Pod

_RESTART_ALL = "RestartAllContainersOnContainerExits"
_USER_NAMESPACES = "UserNamespacesHostNetworkSupport"
#: All features that a pod may need.
KNOWN_FEATURES: Final = frozenset((_RESTART_ALL, _USER_NAMESPACES))


def required_features(pod: Pod) -> frozenset[str]:
    """The names of the features that a pod needs; none for most pods."""
    # parity v1.36.4: component-helpers/nodedeclaredfeatures/features
    needed = set()
    if _restarts_all(pod):
        needed.add(_RESTART_ALL)
    if pod.spec.host_network and pod.spec.host_users is False:
        needed.add(_USER_NAMESPACES)
    return frozenset(needed)


def _restarts_all(pod: Pod) -> bool:
    return any(
        rule.action == "RestartAllContainers"
        for containers in (pod.spec.containers, pod.spec.init_containers)
        for container in containers or ()
        for rule in container.restart_policy_rules or ()
    )
