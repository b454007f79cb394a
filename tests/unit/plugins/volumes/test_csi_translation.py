from typing import Any

import pytest

from mooring.model.csi_migration import IN_TREE_PLUGINS
from mooring.model.selectors import NodeSelector
from mooring.model.storage import PersistentVolume
from mooring.model.volumes import Volume
from mooring.plugins.volumes.csi_translation import (
    TranslatedHandle,
    in_tree_plugin,
    inline_handle,
    translated_selector,
    volume_handle,
)
from tests.unit.plugins.volumes.volume_objects import ZONE, affinity, volume

BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
GCE: dict[str, Any] = {"gcePersistentDisk": {"pdName": "d"}}


def handle(**spec: Any) -> TranslatedHandle:
    return handle_of(volume("pv", **spec))


def handle_of(found: PersistentVolume) -> TranslatedHandle:
    plugin = in_tree_plugin(found.spec)
    assert plugin is not None
    return volume_handle(found, plugin)


def test_volumes_of_other_kinds_have_no_plugin() -> None:
    assert in_tree_plugin(volume("pv").spec) is None
    assert in_tree_plugin(Volume(name="v")) is None


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ("vol-1", "vol-1"),
        ("anything", "anything"),
        ("aws://zone/vol-1", "vol-1"),
        ("aws:///vol-1", "vol-1"),
    ],
)
def test_amazon_volumes_go_by_their_last_part(given: str, known: str) -> None:
    assert handle(awsElasticBlockStore={"volumeID": given}) == TranslatedHandle(known)


@pytest.mark.parametrize("given", ["aws:///1", "aws://zone/a/vol-1", "aws://vol-1"])
def test_amazon_volumes_with_another_address_cannot_be_translated(given: str) -> None:
    problem = handle(awsElasticBlockStore={"volumeID": given}).problem
    assert problem == (
        "failed to translate Kubernetes ID to EBS Volume ID "
        f"Invalid format for AWS volume ({given})"
    )


@pytest.mark.parametrize(
    ("zone", "place"),
    [
        ("", "zones/UNSPECIFIED"),
        ("us-east1-a", "zones/us-east1-a"),
        ("us-east1-a__us-east1-b", "regions/us-east1"),
    ],
)
def test_google_volumes_have_their_zone_in_the_handle(zone: str, place: str) -> None:
    found = handle_of(volume("pv", labels={ZONE: zone}, **GCE))
    assert found == TranslatedHandle(f"projects/UNSPECIFIED/{place}/disks/d")


@pytest.mark.parametrize(
    ("zones", "problem"),
    [
        (
            "us-east1-a__eu-west1-a",
            "multiple or no regions gotten from zones, got: map[eu-west1:{} us-east1:{}]",
        ),
        (
            "us-east1-a__z",
            "zone in unexpected format, expected: {locale}-{region}-{zone}, got: z",
        ),
    ],
)
def test_google_volumes_must_be_in_one_region(zones: str, problem: str) -> None:
    found = handle_of(volume("pv", labels={BETA_ZONE: zones}, **GCE))
    assert found == TranslatedHandle(problem=f"failed to get region from zones: {problem}")


def test_azure_disks_must_be_managed() -> None:
    assert handle(azureDisk={"diskURI": "u", "kind": "Managed"}) == TranslatedHandle("u")
    # The API server takes a disk that says nothing for a shared one.
    assert handle(azureDisk={"diskURI": "u"}).problem == (
        "kind(Shared) is not supported in csi migration"
    )


def test_the_others_keep_their_names() -> None:
    assert handle(cinder={"volumeID": "c"}) == TranslatedHandle("c")
    assert handle(portworxVolume={"volumeID": "p"}) == TranslatedHandle("p")
    assert handle(vsphereVolume={"volumePath": "v"}) == TranslatedHandle()


def test_a_google_disk_of_a_pod_has_no_zone() -> None:
    disk = Volume(name="v", gce_persistent_disk=volume("pv", **GCE).spec.gce_persistent_disk)
    plugin = in_tree_plugin(disk)
    assert plugin is IN_TREE_PLUGINS["kubernetes.io/gce-pd"]
    assert inline_handle(disk, plugin).handle == "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"


def selected(found: PersistentVolume) -> Any:
    plugin = in_tree_plugin(found.spec)
    assert plugin is not None
    selector = translated_selector(found, plugin)
    if selector is None:
        return None
    assert isinstance(selector, NodeSelector)
    return [
        [(one.key, one.values) for one in term.match_expressions or ()]
        for term in selector.node_selector_terms or ()
    ]


@pytest.mark.parametrize("key", [ZONE, BETA_ZONE])
def test_a_zone_in_the_affinity_gets_the_drivers_label(key: str) -> None:
    found = volume("pv", labels={ZONE: "other"}, nodeAffinity=affinity(key, "z"), **GCE)
    assert selected(found) == [[("topology.gke.io/zone", ["z"])]]


def test_a_zone_in_the_labels_is_added_to_the_affinity() -> None:
    found = volume("pv", labels={BETA_ZONE: "b__a__ "}, nodeAffinity=affinity("rack", "1"), **GCE)
    assert selected(found) == [[("rack", ["1"]), ("topology.gke.io/zone", ["a", "b"])]]
    bare = volume("pv", labels={ZONE: "a"}, cinder={"volumeID": "c"})
    assert selected(bare) == [[("topology.cinder.csi.openstack.org/zone", ["a"])]]


def test_an_old_region_gets_its_new_name() -> None:
    found = volume("pv", labels={BETA_ZONE: "a"}, nodeAffinity=affinity(BETA_REGION, "r"), **GCE)
    assert selected(found) == [
        [("topology.kubernetes.io/region", ["r"]), ("topology.gke.io/zone", ["a"])]
    ]


def test_without_zones_and_for_other_drivers_nothing_changes() -> None:
    assert selected(volume("pv", **GCE)) is None
    azure = volume("pv", nodeAffinity=affinity(ZONE, "z"), azureDisk={"kind": "Managed"})
    assert selected(azure) == [[(ZONE, ["z"])]]
