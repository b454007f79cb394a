"""Looking up the pods of a cluster.

Owns `KnownPods`, the part of `Cluster` that only reads them. `Cluster` keeps them and their ways
through the state.
"""

from mooring.model.pod import Pod
from mooring.state.columns import Columns
from mooring.state.copy_on_write import SharedDict
from mooring.state.pod_info import PodInfo


class KnownPods:
    """The pods that are known: waiting, assumed and bound."""

    columns: Columns
    _pods: SharedDict[str, PodInfo]
    #: The pods' keys by unique id.
    _by_uid: SharedDict[str, str]
    #: How many pods on nodes use a claim.
    _claims: SharedDict[str, int]

    @property
    def pods(self) -> int:
        """How many pods are known: waiting, assumed and bound."""
        return len(self._pods)

    def all_pods(self) -> list[Pod]:
        """The pods that are known, in the order in which they came."""
        return [info.pod for info in self._pods.entries.values()]

    def pod(self, namespace: str, name: str) -> Pod | None:
        """A pod by name, if it is known and not finished."""
        return self.pod_by_key(f"{namespace}/{name}")

    def pod_by_key(self, key: str) -> Pod | None:
        """A pod by ``namespace/name``, if it is known and not finished."""
        info = self._pods.entries.get(key)
        return info.pod if info is not None else None

    def pod_by_uid(self, uid: str) -> Pod | None:
        """A pod by its unique id, if it is known and not finished."""
        key = self._by_uid.entries.get(uid)
        return self._pods.entries[key].pod if key is not None else None

    def pods_on(self, row: int) -> tuple[Pod, ...]:
        """The pods on a node."""
        return self.columns.usage(row).pods

    def claim_users(self, key: str) -> int:
        """How many pods on nodes use a claim, given as ``namespace/name``."""
        return self._claims.entries.get(key, 0)
