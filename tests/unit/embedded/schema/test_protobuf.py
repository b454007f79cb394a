"""What kubectl v1.36 sends, and what makes no sense; more is compared in tests/e2e."""

import random

import pytest

from mooring.embedded.schema.protobuf import read_protobuf
from mooring.embedded.status_errors import StatusError

NAMESPACE = (
    b"k8s\x00\n\x0f\n\x02v1\x12\tNamespace\x12\x19\n\x11\n\x01a\x12\x00\x1a\x00"
    b'"\x00*\x002\x008\x00B\x00\x12\x00\x1a\x02\n\x00\x1a\x00"\x00'
)
PRIORITY_CLASS = (
    b"k8s\x00\n%\n\x14scheduling.k8s.io/v1\x12\rPriorityClass\x12/\n\x11\n\x01x\x12\x00\x1a\x00"
    b'"\x00*\x002\x008\x00B\x00\x10\x05\x18\x00"\x00*\x14PreemptLowerPriority\x1a\x00"\x00'
)


def message(number: int, content: bytes) -> bytes:
    """A field that has a length; for short ones."""
    return bytes([number << 3 | 2, len(content)]) + content


def envelope(api_version: str, kind: str, content: bytes) -> bytes:
    meta = message(1, api_version.encode()) + message(2, kind.encode())
    return b"k8s\x00" + message(1, meta) + message(2, content)


def test_what_was_not_said_is_left_out() -> None:
    assert read_protobuf(NAMESPACE) == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "a"},
    }


def test_numbers() -> None:
    assert read_protobuf(PRIORITY_CLASS) == {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "x"},
        "value": 5,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def test_zero_is_kept_where_it_was_said() -> None:
    spec = b"\x08\x00" + b"\x28\x00"  # replicas, a pointer; minReadySeconds, none
    read = read_protobuf(envelope("apps/v1", "Deployment", message(2, spec)))
    assert read["spec"] == {"replicas": 0}


@pytest.mark.parametrize("version", ["v1", "apps/v1", "meta.k8s.io/v1", "made.up/v9"])
def test_delete_options_come_in_any_group_and_version(version: str) -> None:
    read = read_protobuf(envelope(version, "DeleteOptions", b"\x08\x00"))
    assert read == {"apiVersion": version, "kind": "DeleteOptions", "gracePeriodSeconds": 0}


def test_negative_numbers() -> None:
    value = b"\x10" + b"\xfb" + b"\xff" * 8 + b"\x01"
    read = read_protobuf(envelope("scheduling.k8s.io/v1", "PriorityClass", value))
    assert read["value"] == -5


def test_embedded_structs_are_flat() -> None:
    volume = message(1, b"v") + message(2, message(2, b""))
    read = read_protobuf(envelope("v1", "Pod", message(2, message(1, volume))))
    assert read["spec"]["volumes"] == [{"name": "v", "emptyDir": {}}]


def test_packed_numbers_are_read_too() -> None:
    for groups in (b"\x20\x01\x20\x02", b"\x22\x02\x01\x02"):
        context = message(14, groups)
        read = read_protobuf(envelope("v1", "Pod", message(2, context)))
        assert read["spec"]["securityContext"] == {"supplementalGroups": [1, 2]}


def test_unknown_numbers_are_passed_over() -> None:
    content = message(15, b"x") + b"\x65abcd" + b"\x69abcdefgh" + message(1, message(1, b"n"))
    read = read_protobuf(envelope("v1", "Pod", content))
    assert read["metadata"] == {"name": "n"}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"{}", "provided data does not appear to be a protobuf message"),
        (b"k8s\x00\n\x0f", "unable to decode protobuf: unexpected EOF"),
        (b"k8s\x00\n", "unable to decode protobuf: unexpected EOF"),
        (b"k8s\x00\x0b", "unable to decode protobuf: proto: illegal wireType 3"),
        (b"k8s\x00" + b"\xff" * 11, "unable to decode protobuf: proto: integer overflow"),
        (envelope("v1", "Nope", b""), 'no kind "Nope" is registered for version "v1"'),
        (
            envelope("v1", "Pod", b"\x08\x01"),
            "unable to decode protobuf: proto: wrong wireType = 0",
        ),
    ],
)
def test_what_makes_no_sense_is_rejected(body: bytes, told: str) -> None:
    with pytest.raises(StatusError) as caught:
        read_protobuf(body)
    assert (caught.value.code, caught.value.status["message"]) == (400, told)


def test_damaged_bodies_are_read_or_rejected() -> None:
    chance = random.Random(7)
    for _ in range(3000):
        body = bytearray(chance.choice((NAMESPACE, PRIORITY_CLASS)))
        for _ in range(chance.randint(1, 4)):
            body[chance.randrange(4, len(body))] = chance.randrange(256)
        try:
            assert isinstance(read_protobuf(bytes(body)), dict)
        except StatusError as rejected:
            assert rejected.code == 400  # noqa: PT017
