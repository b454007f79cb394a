"""A patch as a client sends it, and what becomes of an object by it.

`api` calls it; each type of patch is a module of its own.
"""

from typing import Any, Final

import msgspec

from mooring.embedded.patches.json_patch import apply_json_patch
from mooring.embedded.patches.merge_patch import apply_merge_patch
from mooring.embedded.patches.strategic_patch import apply_strategic_patch
from mooring.embedded.resources import Obj
from mooring.embedded.schema.field_validation import Definition
from mooring.embedded.status_errors import bad_request, unsupported_media_type
from mooring.embedded.yaml_body import read_yaml

JSON: Final = "application/json-patch+json"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
TYPES: Final = (JSON, MERGE, STRATEGIC, APPLY)


class Patch(msgspec.Struct, frozen=True):
    """A patch.

    Attributes:
        type: the content type, one of `TYPES`.
        body: what was sent.
    """

    type: str
    body: bytes

    def document(self) -> Obj:
        """The patch as an object.

        Raises:
            StatusError: it is none.
        """
        try:
            found: Any = msgspec.json.decode(self.body)
        except (msgspec.DecodeError, RecursionError) as error:
            if self.type != APPLY:
                raise bad_request(f"error decoding patch: {error}") from error
            found = read_yaml(self.body)
        if not isinstance(found, dict):
            raise bad_request("error decoding patch: it is not an object")
        return found


def apply_patch(obj: Obj, patch: Patch, definition: Definition | None) -> Obj:
    """The object that a patch makes of another; that one is not changed.

    Args:
        obj: the object.
        patch: a patch of any type but apply.
        definition: the object's schema, for strategic merges; None where there is no such thing.

    Raises:
        StatusError: the patch makes no sense, or does not fit the object.
    """
    if patch.type == JSON:
        return apply_json_patch(obj, patch.body)
    if patch.type == MERGE or (patch.type == STRATEGIC and definition is None):
        return apply_merge_patch(obj, patch.body)
    if patch.type == STRATEGIC and definition is not None:
        return apply_strategic_patch(obj, patch.body, definition)
    raise unsupported_media_type(TYPES)
