"""Objects nested as deeply as an API server accepts are read like any other."""

import msgspec
import pytest

from mooring.kube.watch_protocol import decode_line, decode_page
from mooring.model.deep_json import decode_deep
from mooring.model.pod import Pod


def deep_pod(levels: int) -> bytes:
    nested = b'{"f:x":' * levels + b"{}" + b"}" * levels
    return (
        b'{"metadata":{"name":"p","uid":"u","managedFields":[{"fieldsV1":' + nested + b"}]},"
        b'"spec":{"nodeName":"n"}}'
    )


@pytest.mark.parametrize("levels", [10, 2_000, 9_000])
def test_a_pod_a_list_and_a_watch(levels: int) -> None:
    data = deep_pod(levels)
    assert Pod.from_json(data, keep_source=False).node_name == "n"
    page = decode_page(b'{"metadata":{"resourceVersion":"1"},"items":[' + data + b"]}")
    assert len(page.items or ()) == 1
    line = decode_line(b'{"type":"ADDED","object":' + data + b"}")
    assert Pod.from_json(bytes(line.object), keep_source=False).name == "p"


def test_what_is_nested_even_deeper_is_an_ordinary_error() -> None:
    decoder = msgspec.json.Decoder(msgspec.Raw)
    with pytest.raises(msgspec.DecodeError):
        decode_deep(decoder.decode, b"[" * 50_000 + b"]" * 50_000)
