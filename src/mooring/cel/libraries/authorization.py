"""The functions of the authorizer, which selectors of devices do not have.

Declared because Kubernetes declares them everywhere: a call on a value of unknown type compiles,
and fails when it runs.
"""

from typing import Final

from mooring.cel.errors import CelValueError
from mooring.cel.overloads import Functions, method
from mooring.cel.types import BOOL, STRING, Type
from mooring.cel.values import Value

_NAMES: Final = ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
_AUTHORIZER, _PATH, _GROUP, _RESOURCE, _DECISION = (
    Type("struct", f"kubernetes.authorization.{name}") for name in _NAMES
)


def _absent(*_args: Value) -> Value:
    raise CelValueError("no such overload")


FUNCTIONS: Final[Functions] = {
    "path": [method("authorizer_path", [_AUTHORIZER, STRING], _PATH, _absent)],
    "serviceAccount": [
        method("authorizer_serviceaccount", [_AUTHORIZER, STRING, STRING], _AUTHORIZER, _absent)
    ],
    "group": [method("authorizer_group", [_AUTHORIZER, STRING], _GROUP, _absent)],
    "resource": [method("groupcheck_resource", [_GROUP, STRING], _RESOURCE, _absent)],
    **{
        name: [method(f"resourcecheck_{name}", [_RESOURCE, STRING], _RESOURCE, _absent)]
        for name in ("subresource", "namespace", "name", "fieldSelector", "labelSelector")
    },
    "check": [
        method("pathcheck_check", [_PATH, STRING], _DECISION, _absent),
        method("resourcecheck_check", [_RESOURCE, STRING], _DECISION, _absent),
    ],
    "allowed": [method("decision_allowed", [_DECISION], BOOL, _absent)],
    "reason": [method("decision_reason", [_DECISION], STRING, _absent)],
    "errored": [method("decision_errored", [_DECISION], BOOL, _absent)],
    "error": [method("decision_error", [_DECISION], STRING, _absent)],
}
