"""Features that a node's kubelet declares, as far as a pod may need one to be placed.

kube-scheduler's registry has more, but the others matter only when a pod is changed.
"""

from typing import Final

# parity v1.36.4: component-helpers/nodedeclaredfeatures/features

RESTART_ALL_CONTAINERS: Final = "RestartAllContainersOnContainerExits"
USER_NAMESPACES_ON_HOST_NETWORK: Final = "UserNamespacesHostNetworkSupport"
KNOWN_FEATURES: Final = frozenset((RESTART_ALL_CONTAINERS, USER_NAMESPACES_ON_HOST_NETWORK))
