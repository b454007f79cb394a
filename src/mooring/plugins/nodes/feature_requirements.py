"""Which features a node must have declared to run a pod.

Called by NodeDeclaredFeatures.
"""

from mooring.model.node_features import RESTART_ALL_CONTAINERS, USER_NAMESPACES_ON_HOST_NETWORK
from mooring.model.pod import Pod


def required_features(pod: Pod) -> frozenset[str]:
    """The names of the features that a pod needs; none for most pods."""
    # parity v1.36.4: component-helpers/nodedeclaredfeatures/features
    needed = set()
    if _restarts_all(pod):
        needed.add(RESTART_ALL_CONTAINERS)
    if pod.spec.host_network and pod.spec.host_users is False:
        needed.add(USER_NAMESPACES_ON_HOST_NETWORK)
    return frozenset(needed)


def _restarts_all(pod: Pod) -> bool:
    return any(
        rule.action == "RestartAllContainers"
        for containers in (pod.spec.containers, pod.spec.init_containers)
        for container in containers or ()
        for rule in container.restart_policy_rules or ()
    )
