from typing import Any

import msgspec
import pytest

from mooring.model.volumes import Volume, default_volume


def volume(**source: Any) -> Volume:
    return msgspec.convert({"name": "v", **source}, Volume)


@pytest.mark.parametrize(
    ("source", "counts"),
    [
        ({}, False),
        ({"emptyDir": {}}, False),
        ({"configMap": {"name": "x"}}, False),
        ({"csi": {"driver": "d"}}, False),
        ({"persistentVolumeClaim": {"claimName": "c"}}, True),
        ({"ephemeral": {"volumeClaimTemplate": {}}}, True),
        ({"gcePersistentDisk": {"pdName": "d"}}, True),
        ({"awsElasticBlockStore": {"volumeID": "v"}}, True),
        ({"rbd": {"image": "i"}}, True),
        ({"iscsi": {"iqn": "i"}}, True),
        ({"azureDisk": {"diskURI": "u"}}, True),
        ({"azureFile": {}}, True),
        ({"cinder": {"volumeID": "v"}}, True),
        ({"portworxVolume": {"volumeID": "v"}}, True),
        ({"vsphereVolume": {"volumePath": "p"}}, True),
        ({"image": {"reference": "r"}}, True),
    ],
)
def test_what_can_decide_where_a_pod_goes(source: dict[str, Any], counts: bool) -> None:
    assert volume(**source).counts is counts


def test_names_of_claims() -> None:
    assert volume(persistentVolumeClaim={"claimName": "c"}).claim_for("p") == "c"
    assert volume(ephemeral={}).claim_for("p") == "p-v"
    assert volume(emptyDir={}).claim_for("p") is None


def test_fields_have_kubernetes_names() -> None:
    assert volume(awsElasticBlockStore={"volumeID": "v"}).aws_elastic_block_store is not None
    spelled = msgspec.to_builtins(volume(azureDisk={"diskURI": "u"}, rbd={"readOnly": True}))
    assert spelled == {"name": "v", "azureDisk": {"diskURI": "u"}, "rbd": {"readOnly": True}}


def test_defaults() -> None:
    ceph = default_volume(volume(rbd={"image": "i"}))
    assert ceph.rbd is not None
    assert ceph.rbd.pool == "rbd"
    assert default_volume(ceph) is ceph
    disk = default_volume(volume(azureDisk={"diskURI": "u"}))
    assert disk.azure_disk is not None
    assert disk.azure_disk.kind == "Shared"
    assert default_volume(disk) is disk
    plain = volume(emptyDir={})
    assert default_volume(plain) is plain
