"""What was asked of the server and how it answered, for whoever wants to know: tests, mostly."""

import msgspec


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One request that was answered.

    Attributes:
        user: who sent it.
        verb: as Kubernetes names it: ``create``, ``patch``, ``deletecollection``.
        group: the API group of the resource.
        resource: the plural, such as ``pods``.
        subresource: such as ``binding``; empty for none.
        namespace: empty for none.
        name: the object's name as far as the path has it.
        code: the HTTP status of the answer.
        came: when it arrived, in seconds since 1970.
        went: when it was answered.
        body: what was sent.
    """

    user: str
    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    came: float
    went: float
    body: bytes
