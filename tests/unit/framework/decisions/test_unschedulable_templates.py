"""Pods that fit nowhere like the first one of their template: whose decision is their own."""

import msgspec

from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.scheduler.effects import CleanUp, Effect
from mooring.testing import make_node, make_pod
from tests.unit.plugins.devices.test_dynamic_resources import DRIVER, GPU, claim, device_class
from tests.unit.scheduler.world import World


class CleanedUp(World):
    """Notes for which pods something is written because they fit nowhere."""

    def __init__(self, *objects: KubeObject) -> None:
        self.cleaned_up: list[str] = []
        super().__init__(*objects)

    def do(self, effects: list[Effect]) -> None:
        self.cleaned_up += [one.pod.name for one in effects if isinstance(one, CleanUp)]
        super().do(effects)


def left_of(pod: Pod) -> ResourceClaim:
    """A claim that was made for a pod's extended resources in an attempt that failed."""
    found = claim("left")
    metadata = {
        "name": "left",
        "namespace": "default",
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [{"kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}],
    }
    return msgspec.structs.replace(found, metadata=msgspec.convert(metadata, type(found.metadata)))


def test_what_an_earlier_attempt_of_a_pod_left_is_removed_whoever_is_tried_first() -> None:
    pods = [make_pod(name, requests={GPU: "1"}) for name in ("p", "q")]
    for first in (pods, pods[::-1]):
        # They are alike, but for the claim of one of them.
        world = CleanedUp(make_node("a"), device_class(DRIVER, GPU), left_of(pods[1]), *first)
        world.run()
        assert world.cleaned_up == ["q"]
