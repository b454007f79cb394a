"""Which resources kube-scheduler counts: it knows three by name and the scalar ones by their form.

Called by the resource plugins and by snapshots; any other resource counts for nothing.
"""

import functools
from typing import Final

from mooring.model.label_syntax import is_label_key
from mooring.model.resources import CPU, MEMORY

EPHEMERAL_STORAGE: Final = "ephemeral-storage"
#: The resources that are counted under their own names, in the order of kube-scheduler's reasons.
NATIVE: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)

_NATIVE_PREFIX = "kubernetes.io/"
_QUOTA_PREFIX = "requests."


@functools.lru_cache(maxsize=1024)
def is_extended(name: str) -> bool:
    """Whether a resource is one that devices of a node offer, such as ``nvidia.com/gpu``."""
    # parity v1.36.4: pkg/apis/core/v1/helper/helpers.go IsExtendedResourceName
    if "/" not in name or _NATIVE_PREFIX in name or name.startswith(_QUOTA_PREFIX):
        return False
    return is_label_key(_QUOTA_PREFIX + name)


@functools.lru_cache(maxsize=1024)
def is_scalar(name: str) -> bool:
    """Whether a resource is counted though kube-scheduler does not know it by name."""
    # parity v1.36.4: scheduler/util/utils.go IsScalarResourceName
    return (
        name.startswith(("hugepages-", "attachable-volumes-"))
        or _NATIVE_PREFIX in name
        or is_extended(name)
    )


def is_counted(name: str) -> bool:
    """Whether a resource counts at all when a pod is fitted to a node."""
    return name in NATIVE or is_scalar(name)
