"""All objects of a collection once, page by page, for who does not watch.

Commands that read a cluster and end call it; `reflector` is for those that stay. Objects are handed
on as bytes, so that a large cluster is never in memory as a whole.
"""

from collections.abc import AsyncIterator

import msgspec

from mooring.errors import ApiError, KubeError
from mooring.kube.client import Client
from mooring.kube.reflector import LIST_SECONDS
from mooring.kube.watch_protocol import RELIST_STATUSES, ListPage, bare_identity, decode_page

PAGE_OBJECTS = 500


async def list_pages(
    client: Client, path: str, *, page_objects: int = PAGE_OBJECTS
) -> AsyncIterator[list[msgspec.Raw]]:
    """The objects of a collection in pages, as they were at the moment of the first.

    If that moment is forgotten before the last page was read, the rest is as it is then.

    Args:
        client: where.
        path: the collection, such as that of `resources.collection_path`.
        page_objects: at most so many at a time.

    Raises:
        ApiError: the API server answered with an error.
        KubeError: it could not be reached, or its answer is no list.
    """
    seen: set[str] = set()
    params: dict[str, str | int] = {"limit": page_objects}
    while True:
        try:
            page = await _page(client, path, params)
        except ApiError as error:
            if error.status not in RELIST_STATUSES or "continue" not in params:
                raise
            params = {}  # all at once cannot expire
            continue
        if params:
            items = page.items or []
            seen.update(map(_key, items))
        else:
            items = [one for one in page.items or () if _key(one) not in seen]
        if items:
            yield items
        if not page.metadata.continue_:
            return
        if page.metadata.continue_ == params.get("continue"):
            raise KubeError(f"The list of {path} never ends: a page says that it follows itself.")
        params = {"limit": page_objects, "continue": page.metadata.continue_}


async def _page(client: Client, path: str, params: dict[str, str | int]) -> ListPage:
    body = await client.request("GET", path, params=params, seconds=LIST_SECONDS)
    try:
        return decode_page(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise KubeError(f"The response to {path} is not a list: {error}.") from error


def _key(item: msgspec.Raw) -> str:
    found = bare_identity(item)
    return found.key if found is not None else ""
