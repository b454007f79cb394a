"""Questions about permissions and identity, which are created and answered but never stored.

There is no authorization in the embedded cluster: who may come in may do everything. `request_info`
and `discovery` read the table, `app` calls `review`.
"""

from collections.abc import Mapping
from typing import Any, Final

from mooring.embedded.resources import Obj, Resource
from mooring.embedded.status_errors import unknown_path

_GROUPS: Final = ("system:masters", "system:authenticated")


def _question(group: str, kind: str, *, namespaced: bool = False) -> Resource:
    singular = kind.lower()
    return Resource(
        group=group, kind=kind, plural=f"{singular}s", singular=singular, namespaced=namespaced,
        verbs=("create",),
    )  # fmt: skip


_AUTHENTICATION: Final = "authentication.k8s.io"
_AUTHORIZATION: Final = "authorization.k8s.io"

#: All of them.
REVIEWS: Final = (
    _question(_AUTHENTICATION, "SelfSubjectReview"),
    _question(_AUTHENTICATION, "TokenReview"),
    _question(_AUTHORIZATION, "LocalSubjectAccessReview", namespaced=True),
    _question(_AUTHORIZATION, "SelfSubjectAccessReview"),
    _question(_AUTHORIZATION, "SelfSubjectRulesReview"),
    _question(_AUTHORIZATION, "SubjectAccessReview"),
)
#: By group, version and plural, as they are in a path.
REVIEWS_BY_PATH: Final[Mapping[tuple[str, str, str], Resource]] = {
    (one.group, one.version, one.plural): one for one in REVIEWS
}


def review(plural: str, body: Obj, user: str) -> Obj:
    """Answer a question.

    Args:
        plural: what is asked, such as ``selfsubjectaccessreviews``.
        body: the question.
        user: who asks.

    Returns:
        The question with its answer in the status.

    Raises:
        StatusError: 404, there is no such question.
    """
    question = next((one for one in REVIEWS if one.plural == plural), None)
    if question is None:
        raise unknown_path()
    metadata = body.get("metadata") or {}
    return {
        "kind": question.kind,
        "apiVersion": question.api_version,
        "metadata": metadata,
        **({"spec": body["spec"]} if "spec" in body else {}),
        "status": _answer(question.kind, user),
    }


def _answer(kind: str, user: str) -> dict[str, Any]:
    match kind:
        case "SelfSubjectReview":
            return {"userInfo": _user(user)}
        case "TokenReview":
            return {"authenticated": True, "user": _user(user)}
        case "SelfSubjectRulesReview":
            return {
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                "incomplete": False,
            }
    return {"allowed": True}


def _user(name: str) -> Obj:
    return {"username": name, "groups": list(_GROUPS)}
