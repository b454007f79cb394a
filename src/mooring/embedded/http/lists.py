"""Lists: which objects, in which version, and page by page.

`app` calls it for lists and for deletions of many, `watches` for what a watch begins with. A later
page shows the objects as they were when the first one was sent, as long as the history
reaches back.
"""

import base64
import binascii
from typing import Final

import msgspec

from mooring.embedded.http.request_info import QueryParameters, RequestInfo
from mooring.embedded.resources import Resource
from mooring.embedded.selectors import (
    FieldRequirements,
    LabelRequirements,
    parse_fields,
    parse_labels,
)
from mooring.embedded.status_errors import StatusError, bad_request, resource_expired
from mooring.embedded.store import Store
from mooring.embedded.stored_object import StoredObject

_EXPIRED_PAGE: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


class Selection(msgspec.Struct, frozen=True):
    """Which objects of a resource are meant.

    Attributes:
        info: the resource, and the namespace if only one is meant.
        labels: what their labels have to be.
        fields: what their fields have to be.
    """

    info: RequestInfo
    labels: LabelRequirements
    fields: FieldRequirements

    @property
    def everything(self) -> bool:
        """Whether all objects of the namespace, or of the cluster, are meant."""
        return self.labels.everything and self.fields.everything

    def matches(self, item: StoredObject) -> bool:
        """Whether an object is meant; its namespace counts too."""
        return (
            (not self.info.namespace or item.namespace == self.info.namespace)
            and self.labels.matches(item.labels)
            and self.fields.matches(item)
        )

    def of(self, items: list[StoredObject]) -> list[StoredObject]:
        """Those of the objects of the right namespace that are meant."""
        if self.everything:
            return items
        labels, fields = self.labels, self.fields
        return [one for one in items if labels.matches(one.labels) and fields.matches(one)]


def read_selection(info: RequestInfo, query: QueryParameters) -> Selection:
    """What the selectors of a request mean.

    Raises:
        StatusError: a selector is wrong.
    """
    return Selection(
        info,
        parse_labels(query.text("labelSelector")),
        parse_fields(query.text("fieldSelector"), info.resource),
    )


class Page(msgspec.Struct, frozen=True):
    """A part of a list.

    Attributes:
        items: the objects.
        version: the version of the store that they show.
        token: what to ask with for the next page; empty after the last.
        remaining: how many objects are left after this page.
    """

    items: list[StoredObject]
    version: int
    token: str = ""
    remaining: int = 0


class _ContinueToken(msgspec.Struct, rename={"version": "rv"}):
    """Where a page ended: the version of the whole list, or 0 for the newest, and the last key."""

    version: int
    namespace: str
    name: str

    def text(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


def read_page(store: Store, selection: Selection, query: QueryParameters) -> Page:
    """The page that a request asks for.

    Raises:
        StatusError: the request makes no sense, or asks for a version that is gone or yet to come.
    """
    info, limit, token = selection.info, query.number("limit") or 0, query.text("continue")
    match, wanted = query.text("resourceVersionMatch"), query.text("resourceVersion")
    if match and not wanted and not query.flag("sendInitialEvents"):
        raise bad_request("resourceVersionMatch is forbidden unless resourceVersion is provided")
    if match not in ("", "Exact", "NotOlderThan"):
        raise bad_request(f'resourceVersionMatch: Unsupported value: "{match[:40]}"')
    if token:
        if wanted not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        return _later_page(store, selection, limit, token)
    version = read_version(wanted)
    if version > store.version:
        raise too_large_version(version, store.version)
    if match == "Exact":
        return _page_as_of(store, selection, limit, version)
    items = selection.of(store.all(info.resource, info.namespace))
    return _cut(items, store.version, limit, store.version)


def read_version(text: str) -> int:
    """A resourceVersion as a client sends it; 0 if it is empty.

    Raises:
        StatusError: it is no number.
    """
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise bad_request(
            f'invalid resource version "{text[:40]}": strconv.ParseUint: invalid syntax'
        )
    return int(text)


def too_large_version(version: int, current: int) -> StatusError:
    """A version that is yet to come: 504."""
    message = f"Too large resource version: {version}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details = {"causes": [cause], "retryAfterSeconds": 1}
    return StatusError(504, "Timeout", f"Timeout: {message}", details)


def _page_as_of(store: Store, selection: Selection, limit: int, version: int) -> Page:
    info = selection.info
    items = store.as_of(info.resource, info.namespace, version)
    if items is None:
        raise too_old(store, info.resource, version)
    return _cut(selection.of(items), version, limit, version)


def too_old(store: Store, resource: Resource, version: int) -> StatusError:
    """A version that was compacted: 410."""
    oldest = store.history(resource).compacted
    return resource_expired(f"too old resource version: {version} ({oldest})")


def _later_page(store: Store, selection: Selection, limit: int, text: str) -> Page:
    try:
        padded = text + "=" * (-len(text) % 4)
        token = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=_ContinueToken)
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise bad_request("continue key is not valid: incorrect encoding") from error
    info = selection.info
    if token.version:
        items = store.as_of(info.resource, info.namespace, token.version)
        version = token.version
    else:
        items, version = store.all(info.resource, info.namespace), store.version
    if items is None:
        expired = resource_expired(_EXPIRED_PAGE)
        token.version = 0
        expired.status["metadata"]["continue"] = token.text()
        raise expired
    last = (token.namespace, token.name)
    rest = [one for one in items if (one.namespace, one.name) > last]
    return _cut(selection.of(rest), version, limit, token.version)


def _cut(items: list[StoredObject], version: int, limit: int, pinned: int) -> Page:
    """The first page of what is left."""
    if not limit or len(items) <= limit:
        return Page(items, version)
    last = items[limit - 1]
    token = _ContinueToken(pinned, last.namespace, last.name).text()
    return Page(items[:limit], version, token, len(items) - limit)
