"""What a fault can be for, in Kubernetes' words: a request, or an event of a watch.

`faults` matches it, the proxy makes it. It only reads what a request says of itself.
"""

from typing import Final, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

#: What a `FaultTarget` can have as its verb, method and event; ``?`` is an event of unknown type.
VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
EVENTS: Final = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "?")
_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch"}


class FaultTarget(NamedTuple):
    """A request, or an event of a watch that goes to a client.

    Attributes:
        client: whose.
        method: the request's.
        path: the request's, without the query.
        verb: Kubernetes' word for it; empty if the path is none of an object.
        resource: such as ``pods`` or ``pods/binding``.
        user_agent: the client's.
        event: the event's type, ``?`` if it is not known; empty for a request.
    """

    client: str
    method: str
    path: str
    verb: str = ""
    resource: str = ""
    user_agent: str = ""
    event: str = ""

    @classmethod
    def of(cls, client: str, method: str, target: str, user_agent: str = "") -> Self:
        """A request by its method and its target, which is path and query."""
        parts = urlsplit(target)
        verb, resource = _meaning(method, parts.path, parts.query)
        return cls(client, method, parts.path, verb, resource, user_agent)

    @property
    def watch(self) -> bool:
        """Whether the answer is a watch."""
        return self.verb == "watch"


def _meaning(method: str, path: str, query: str) -> tuple[str, str]:
    """Verb and resource of a request, as the API server understands it."""
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["api"]:
        rest = parts[2:]
    elif parts[:1] == ["apis"]:
        rest = parts[3:]
    else:
        return "", ""
    options = parse_qs(query)
    watch = options.get("watch", [""])[-1] in ("1", "true", "True") or rest[:1] == ["watch"]
    if rest[:1] == ["watch"]:
        rest = rest[1:]
    if rest[:1] == ["namespaces"] and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        rest = rest[2:]
    if not rest:
        return "", ""
    resource = "/".join([rest[0], *rest[2:3]])
    named = len(rest) > 1
    if method in ("GET", "HEAD"):
        return ("watch" if watch else "get" if named else "list"), resource
    if method == "DELETE":
        return ("delete" if named else "deletecollection"), resource
    return _VERBS.get(method, ""), resource
