"""Lists that arrive in pieces: the same objects wherever they are cut, and never half of them."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.kube.list_stream import ListSplitter
from mooring.kube.watch_protocol import ListPage


def a_list(items: list[object], **metadata: str) -> bytes:
    page = {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "7", **metadata},
        "items": items,
    }
    return json.dumps(page, separators=(",", ":")).encode() + b"\n"


def split(data: bytes, sizes: list[int], page_bytes: int) -> list[ListPage]:
    splitter = ListSplitter(page_bytes)
    pages = []
    for size in sizes:
        piece, data = data[:size], data[size:]
        pages.append(splitter.feed(piece))
    pages += [splitter.feed(data), splitter.end()]
    return [page for page in pages if page is not None]


def items_of(pages: list[ListPage]) -> list[object]:
    assert {page.metadata.resource_version for page in pages} == {"7"}
    return [msgspec.json.decode(raw) for page in pages for raw in page.items or ()]


_TRICKY = st.one_of(
    st.text(max_size=4),
    st.just('},{"metadata":{'),
    st.just('"items":['),
    st.lists(st.builds(lambda name: {"metadata": {"name": name}}, st.text(max_size=3)), max_size=3),
)
_OBJECTS = st.lists(
    st.builds(lambda name, spec: {"metadata": {"name": name}, "spec": spec}, st.text(), _TRICKY),
    max_size=8,
)


@given(_OBJECTS, st.lists(st.integers(0, 60), max_size=30), st.integers(1, 200))
def test_objects_do_not_depend_on_the_pieces(
    items: list[object], sizes: list[int], page_bytes: int
) -> None:
    assert items_of(split(a_list(items), sizes, page_bytes)) == items


@given(st.integers(0, 200))
def test_a_list_that_is_cut_off_is_none(size: int) -> None:
    whole = a_list([{"metadata": {"name": f"pod-{number}"}} for number in range(5)])
    with pytest.raises(msgspec.MsgspecError):
        split(whole[: min(size, len(whole) - 3)], [10, 60], 30)


def test_a_list_comes_in_pages_of_about_the_size() -> None:
    items: list[object] = [{"metadata": {"name": f"pod-{number:04}"}} for number in range(1000)]
    whole = a_list(items)
    pages = split(whole, [100] * (len(whole) // 100), 1000)
    assert items_of(pages) == items
    assert len(pages) > 20


@pytest.mark.parametrize(
    "data",
    [
        b'{"items": [ {"metadata":{"name":"a"}} ], "metadata": {"resourceVersion": "7"}}',
        b'{"items":[{"metadata":{"name":"a"}}],"metadata":{"resourceVersion":"7"}}',
        b'{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}}]}',
    ],
)
def test_fields_may_come_in_any_order(data: bytes) -> None:
    pages = split(data, [1] * len(data), 10)
    assert items_of(pages) == [{"metadata": {"name": "a"}}]


@pytest.mark.parametrize("data", [b'{"metadata":{"resourceVersion":"7"},"items":null}', a_list([])])
def test_a_list_may_be_empty(data: bytes) -> None:
    assert items_of(split(data, [20, 20], 10)) == []


@pytest.mark.parametrize("data", [b"", b"[]", b'{"kind":"Status"}', b"<html>", b"\xff" * 70_000])
def test_what_is_no_list_is_rejected(data: bytes) -> None:
    with pytest.raises((msgspec.MsgspecError, UnicodeDecodeError)):
        split(data, [3], 10)
