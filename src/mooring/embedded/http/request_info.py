"""From a request's path to what it is about.

`app` calls it. Paths are those of every Kubernetes API server:
``/api/v1/namespaces/shop/pods/web-1/status``, ``/apis/apps/v1/deployments``.
"""

from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote

import msgspec

from mooring.embedded.resources import BINDINGS, BY_PATH, NAMESPACES, Resource
from mooring.embedded.status_errors import bad_request


class RequestInfo(msgspec.Struct, frozen=True):
    """What a request is about: resource, namespace, name and subresource.

    Attributes:
        resource: the resource.
        namespace: empty for all namespaces, or where there is none.
        name: empty for all objects.
        subresource: such as ``status``.
    """

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def parse_path(path: str) -> RequestInfo | None:
    """What a path stands for; None if there is nothing."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    if "%" in path:
        rest = [unquote(part) for part in rest]
    namespace = ""
    if rest[0] == "watch":
        return None
    # /namespaces/x is the namespace itself, and so are its subresources.
    if (
        rest[0] == "namespaces"
        and len(rest) >= 3
        and not (group == "" and len(rest) == 3 and rest[2] in NAMESPACES.subresources)
    ):
        namespace, rest = rest[1], rest[2:]
    resource = BY_PATH.get((group, version, rest[0]))
    if (
        resource is None
        or len(rest) > 3
        or not all(rest)
        or (namespace and not resource.namespaced)
    ):
        return None
    name = rest[1] if len(rest) > 1 else ""
    if name and resource is BINDINGS:
        return None  # it is used up by being created
    if name and resource.namespaced and not namespace:
        return None
    subresource = rest[2] if len(rest) > 2 else ""
    if subresource and subresource not in resource.subresources:
        return None
    return RequestInfo(resource, namespace, name, subresource)


class QueryParameters:
    """The query of a request."""

    __slots__ = ("_values",)

    def __init__(self, text: bytes) -> None:
        self._values: Mapping[str, str] = (
            dict(parse_qsl(text.decode("latin-1"), keep_blank_values=True)) if text else {}
        )

    def text(self, name: str) -> str:
        """A parameter; empty if it is not given."""
        return self._values.get(name, "")

    def flag(self, name: str) -> bool:
        """Whether a parameter is true, as Go reads it: given and neither 0 nor false."""
        value = self._values.get(name)
        return value is not None and value.lower() not in ("0", "false")

    def given(self, name: str) -> bool:
        """Whether a parameter is there at all."""
        return name in self._values

    def number(self, name: str) -> int | None:
        """A whole number; None if it is not given.

        Raises:
            StatusError: it is none.
        """
        value = self._values.get(name, "")
        if not value:
            return None
        if not (value.isascii() and value.isdigit() and len(value) < 19):
            raise bad_request(f'strconv.ParseInt: parsing "{value[:40]}": invalid syntax')
        return int(value)
