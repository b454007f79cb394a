"""The annotation in which `kubectl apply` keeps what it has applied without the server's help.

`server_side_apply` calls it when kubectl goes over to server-side apply: what kubectl has set is no
conflict then.
"""

from typing import Final

from mooring.embedded.patches.apply_validation import schema_problems
from mooring.embedded.patches.field_sets import FieldSet
from mooring.embedded.patches.json_values import Malformed, copied, decode, encode
from mooring.embedded.patches.structured_merge import compared, field_set
from mooring.embedded.patches.typed_schema import TypeSchema
from mooring.embedded.resources import Obj

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_MOST_ANNOTATION_BYTES: Final = 256 * 1024


def applied_by_client(live: Obj, schema: TypeSchema, api_version: str) -> FieldSet:
    """What `kubectl apply` without the server's help has set and nobody has changed since."""
    # parity v1.36.4: apimachinery/pkg/util/managedfields/internal/lastappliedmanager.go
    annotations = (live.get("metadata") or {}).get("annotations") or {}
    try:
        last = decode(annotations.get(_LAST_APPLIED) or "")
    except Malformed:
        return FieldSet()
    if not isinstance(last, dict) or last.get("apiVersion") != api_version:
        return FieldSet()
    if schema_problems(last, schema):
        return FieldSet()
    change = compared(last, live, schema)
    return field_set(last, schema) - change.modified - change.added - change.removed


def note_last_applied(metadata: Obj, config: Obj) -> None:
    """Keep the annotation of `kubectl apply` up to date, in place, if there is one."""
    annotations = metadata.get("annotations") or {}
    if not annotations.get(_LAST_APPLIED):
        return
    noted = copied(config)
    (noted.get("metadata", {}).get("annotations") or {}).pop(_LAST_APPLIED, None)
    annotations = {**annotations, _LAST_APPLIED: encode(noted) + "\n"}
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > _MOST_ANNOTATION_BYTES:
        del annotations[_LAST_APPLIED]
    metadata["annotations"] = annotations
