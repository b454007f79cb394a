"""Asking the API server what somebody may do, as ``kubectl auth can-i`` does.

`cluster_reading` calls it. Asks about the caller with SelfSubjectAccessReview and about others with
SubjectAccessReview; neither changes anything.
"""

import asyncio
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from mooring.deploy.doctor.evidence import Permission, PermissionAnswer, mapping
from mooring.deploy.doctor.responses import decoded
from mooring.errors import ApiError
from mooring.kube.client import Client

_PATH: Final = "/apis/authorization.k8s.io/v1"
_FORBIDDEN, _NOT_FOUND = 403, 404
_AT_A_TIME: Final = 8
_SERVICE_ACCOUNT: Final = "system:serviceaccount:"


class Asker(NamedTuple):
    """Whose permissions are asked, and for which program.

    Attributes:
        user: empty for ourselves.
        program: what needs them.
        permissions: which.
    """

    user: str
    program: str
    permissions: tuple[Permission, ...]


async def ask_permissions(
    client: Client, askers: Iterable[Asker]
) -> tuple[tuple[PermissionAnswer, ...], str]:
    """The answers, and why there are none.

    Raises:
        KubeError: the API server does not answer.
    """
    gate = asyncio.Semaphore(_AT_A_TIME)

    async def ask(asker: Asker, permission: Permission) -> PermissionAnswer:
        async with gate:
            allowed = await _allowed(client, asker.user, permission)
        user = asker.user or "The user of the kubeconfig"
        return PermissionAnswer(user, permission, allowed, asker.program)

    wanted = [ask(one, permission) for one in askers for permission in one.permissions]
    try:
        return tuple(await asyncio.gather(*wanted)), ""
    except ApiError as error:
        if error.status == _NOT_FOUND:
            return (), "the cluster does not check permissions"
        if error.status == _FORBIDDEN:
            return (), "we may not ask about the permissions of others (subjectaccessreviews)"
        raise


async def _allowed(client: Client, user: str, permission: Permission) -> bool:
    resource, _, subresource = permission.resource.partition("/")
    attributes = {
        "verb": permission.verb,
        "group": permission.group,
        "resource": resource,
        "subresource": subresource,
        "namespace": permission.namespace,
        "name": permission.name,
    }
    spec: dict[str, Any] = {"resourceAttributes": attributes}
    kind = "SelfSubjectAccessReview"
    if user:
        kind = "SubjectAccessReview"
        spec |= {"user": user, "groups": _groups(user)}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    path = f"{_PATH}/{kind.lower()}s"
    answer = await client.request("POST", path, body=review)
    return mapping(decoded(answer, dict[str, Any], path).get("status")).get("allowed") is True


def _groups(user: str) -> list[str]:
    """The groups that the API server puts a user into."""
    groups = ["system:authenticated"]
    if user.startswith(_SERVICE_ACCOUNT):
        namespace = user.removeprefix(_SERVICE_ACCOUNT).partition(":")[0]
        groups += ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    return groups
