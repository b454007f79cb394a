"""When the volumes of a pod are bound, and when they never will be, told from the state alone."""

from typing import Any

import pytest
from msgspec.structs import replace

from mooring.framework.plans.plan import Plan
from mooring.framework.verdict import Verdict, fail
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.storage import (
    BIND_COMPLETED,
    SELECTED_NODE,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
)
from mooring.plugins.volumes.claim_bindings import ClaimBindings, bind_volume, provision_volume
from mooring.testing import make_node
from tests.unit.plugins.one_plugin import cluster_of
from tests.unit.plugins.volumes.volume_objects import ZONE, affinity, claim, volume

NODES = (make_node("a", labels={ZONE: "z1"}), make_node("b", labels={ZONE: "z2"}))


def stored(thing: Any, version: str, **annotations: str) -> Any:
    """An object as the API server has it."""
    metadata = replace(thing.metadata, resource_version=version)
    if annotations:
        metadata = replace(metadata, annotations=annotations)
    return replace(thing, metadata=metadata)


CLAIM: PersistentVolumeClaim = stored(claim("c", of="s"), "1")
VOLUME: PersistentVolume = stored(volume("pv", of="s"), "1")
MINE = ObjectReference(namespace="default", name="c", uid=CLAIM.uid)
BOUND = stored(claim("c", of="s", bound="pv"), "3")
CHOSEN = stored(CLAIM, "2", **{SELECTED_NODE: "a"})
MADE = replace(
    stored(CLAIM, "3", **{SELECTED_NODE: "a", BIND_COMPLETED: "yes"}),
    spec=replace(CLAIM.spec, volume_name="pv"),
)


def reserved(**more: Any) -> PersistentVolume:
    """The volume after the write."""
    made: PersistentVolume = stored(VOLUME, "2")
    return replace(made, spec=replace(made.spec, **{"claim_ref": MINE, **more}))


def ready(plan: Plan, *things: KubeObject) -> bool | Verdict:
    assert plan.ready is not None
    return plan.ready(cluster_of(*NODES, *things))


@pytest.mark.parametrize(
    ("things", "answer"),
    [
        ((VOLUME, CLAIM), False),
        ((reserved(), CLAIM), False),
        ((reserved(), BOUND), True),
        (
            (stored(volume("pv", nodeAffinity=affinity(ZONE, "z2")), "2"), BOUND),
            fail('pv "pv" node affinity doesn\'t match node "a"'),
        ),
        ((BOUND,), fail("volume pv is gone")),
        ((reserved(),), fail("claim default/c is gone")),
        ((reserved(claim_ref=None), CLAIM), fail('ClaimRef got reset for pv "pv"')),
        (
            (reserved(claim_ref=replace(MINE, uid=None)), BOUND),
            fail('ClaimRef got reset for pv "pv"'),
        ),
    ],
)
def test_an_existing_volume(things: tuple[KubeObject, ...], answer: bool | Verdict) -> None:
    bindings = ClaimBindings("a", (bind_volume(CLAIM, VOLUME),))
    assert ready(bindings.plan(5), *things) == answer


@pytest.mark.parametrize(
    ("things", "answer"),
    [
        ((CLAIM,), False),
        ((CHOSEN,), False),
        ((MADE,), True),
        ((MADE, stored(volume("pv", nodeAffinity=affinity(ZONE, "z1")), "1")), True),
        (
            (MADE, stored(volume("pv", nodeAffinity=affinity(ZONE, "z2")), "1")),
            fail('pv "pv" node affinity doesn\'t match node "a"'),
        ),
        ((), fail("claim default/c is gone")),
        ((stored(CLAIM, "3"),), fail('selectedNode annotation reset for PVC "c"')),
        (
            (stored(CLAIM, "3", **{SELECTED_NODE: "b"}),),
            fail('provisioning failed for PVC "c"'),
        ),
    ],
)
def test_a_volume_that_is_made(things: tuple[KubeObject, ...], answer: bool | Verdict) -> None:
    bindings = ClaimBindings("a", (provision_volume(CLAIM, "a"),))
    assert ready(bindings.plan(5), *things) == answer


def test_a_node_that_is_gone() -> None:
    plan = ClaimBindings("gone", (provision_volume(CLAIM, "gone"),)).plan(5)
    assert ready(plan, stored(CLAIM, "2", **{SELECTED_NODE: "gone"})) == fail(
        'failed to get node "gone": node "gone" not found'
    )


def test_all_claims_have_to_be_bound() -> None:
    other = stored(claim("d", of="s"), "1")
    bindings = ClaimBindings("a", (provision_volume(CLAIM, "a"), provision_volume(other, "a")))
    plan = bindings.plan(5)
    assert ready(plan, MADE, other) is False
    assert ready(plan, MADE) == fail("claim default/d is gone")
    assert plan.objects == (
        (Node, "a"),
        (PersistentVolumeClaim, "default/c"),
        (PersistentVolumeClaim, "default/d"),
    )
