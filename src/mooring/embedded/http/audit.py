"""Audit events: requests and how the server answered them."""

import msgspec


class AuditEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One request that was answered, as far as an audit log needs it.

    Attributes:
        user: who sent it.
        verb: as Kubernetes names it: ``create``, ``patch``, ``deletecollection``.
        group: the API group of the resource.
        resource: the plural, such as ``pods``.
        subresource: such as ``binding``; empty for none.
        namespace: empty for none.
        name: the object's name as far as the path has it.
        code: the HTTP status of the answer.
        received: when it arrived, in seconds since 1970.
        completed: when it was answered.
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
    received: float
    completed: float
    body: bytes
