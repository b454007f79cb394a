"""Creates and deletes pods for their owners, and records the events about that.

parity v1.36.4: pkg/controller/controller_utils.go RealPodControl
"""

from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.pod_index import PodSummary
from mooring.embedded.controllers.workloads.controller_utils import is_namespace_terminating
from mooring.embedded.resources import PODS, Obj
from mooring.embedded.status_errors import StatusError


class PodControl:
    """Creates and deletes the pods of owners of one kind.

    Args:
        client: reads and writes objects.
    """

    def __init__(self, client: ControllerClient) -> None:
        self._client = client

    def create(self, owner: Obj, pod: Obj, now: float) -> None:
        """Create a pod in the namespace of its owner.

        Raises:
            StatusError: it may not exist.
        """
        try:
            made = self._client.create(PODS, pod, owner["metadata"]["namespace"])
        except StatusError as error:
            if not is_namespace_terminating(error):
                message = f"Error creating: {error}"
                self._client.record_event(owner, "Warning", "FailedCreate", message, now)
            raise
        message = f"Created pod: {made.name}"
        self._client.record_event(owner, "Normal", "SuccessfulCreate", message, now)

    def delete(self, owner: Obj, pod: PodSummary, now: float) -> None:
        """Delete a pod."""
        self._client.delete(PODS, *pod.key, pod.uid)
        message = f"Deleted pod: {pod.key[1]}"
        self._client.record_event(owner, "Normal", "SuccessfulDelete", message, now)
