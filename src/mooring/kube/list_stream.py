"""A whole list as it arrives, cut into pages here; `reflector` begins with one.

An API server answers a list that need not be newer than a version from its memory, all objects at
once and without asking etcd: a third of the work of pages. `ListSplitter` decodes what has arrived,
so that a large cluster is never in memory as a whole. It does no I/O.

    {"kind":…,"metadata":{…},"items":[ {…},{…},{…}, …  {…}]}
    └─────────── head ──────────────┘└─ page ─┘└─ … ─┘└ rest ┘

Quotes within JSON strings are escaped, so what looks like the seam of two objects is one, though
perhaps deeper inside; only what decodes as complete objects is taken for a page.
"""

from typing import Final

import msgspec

from mooring.kube.watch_protocol import ListPage, decode_page
from mooring.model.deep_json import decode_deep

#: A page has about so many bytes.
_PAGE_BYTES: Final = 1 << 19
#: A head is shorter; what has none like this is decoded when all of it is here.
_HEAD_BYTES: Final = 1 << 16
_ITEMS: Final = b'"items":['
_SEAM: Final = b'},{"metadata":{'
_RAWS: Final = msgspec.json.Decoder(list[msgspec.Raw])


class ListSplitter:
    """Cuts the bytes of one list into pages.

    Args:
        page_bytes: about so many are decoded at a time.
    """

    def __init__(self, page_bytes: int = _PAGE_BYTES) -> None:
        self._page_bytes = page_bytes
        self._wanted = page_bytes
        self._parts: list[bytes] = []
        self._size = 0
        # The head without its objects; None before it is here, empty if there is none like that.
        self._head: bytes | None = None

    def feed(self, chunk: bytes) -> ListPage | None:
        """Some of the objects, if enough have arrived.

        Raises:
            msgspec.MsgspecError: it is no list.
        """
        self._parts.append(chunk)
        self._size += len(chunk)
        if self._head is None:
            self._find_head()
        if self._size < self._wanted or not self._head:
            return None
        data = self._joined()
        seam = data.rfind(_SEAM)
        try:
            items = decode_deep(_RAWS.decode, b"[%b]" % data[: seam + 1]) if seam >= 0 else []
        except msgspec.DecodeError:
            items = []  # the seam is one within an object
        if not items:
            self._wanted = 2 * self._size
            return None
        self._keep(data[seam + 2 :])
        self._wanted = self._page_bytes
        return ListPage(self._page(b"]}").metadata, items)

    def end(self) -> ListPage:
        """The rest of the objects, when all has arrived.

        Raises:
            msgspec.MsgspecError: it is no list, or not the whole of it.
        """
        return self._page(self._joined())

    def _page(self, rest: bytes) -> ListPage:
        return decode_page((self._head or b"") + rest)

    def _find_head(self) -> None:
        data = self._joined()
        end = data.find(_ITEMS, 0, _HEAD_BYTES)
        if end < 0:
            if len(data) >= _HEAD_BYTES:
                self._head = b""
            return
        head = data[: end + len(_ITEMS)]
        try:
            listed = decode_page(head + b"]}").metadata.resource_version
        except msgspec.MsgspecError:
            listed = ""  # its metadata is elsewhere
        self._head = head if listed else b""
        if listed:
            self._keep(data[len(head) :])

    def _joined(self) -> bytes:
        data = b"".join(self._parts)
        self._keep(data)
        return data

    def _keep(self, data: bytes) -> None:
        self._parts = [data]
        self._size = len(data)
