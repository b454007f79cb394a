"""An extender as a Policy or an old configuration writes it, in the words of v1.

Called by `policy` and `old_configuration`. The result is checked by the types of v1.
"""

from typing import Any, Final

from mooring.config.types import Extender, ExtenderManagedResource, ExtenderTLSConfig
from mooring.deploy.migration.notes import Notes
from mooring.model.duration import Duration

# Kubernetes read the fields of extenders whatever their case: bindVerb was BindVerb in v1.7, and
# tlsConfig had fields such as CAFile.
_FIELDS: Final = {one.lower(): one for one in Extender.__struct_encode_fields__}
_TLS_FIELDS: Final = {one.lower(): one for one in ExtenderTLSConfig.__struct_encode_fields__}
_RESOURCE_FIELDS: Final = {
    one.lower(): one for one in ExtenderManagedResource.__struct_encode_fields__
}


def extender_of_v1(given: Any, field: str, notes: Notes) -> Any:
    """The same extender with the names and units of v1; what is no object stays as it is."""
    if not isinstance(given, dict):
        return given
    found: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        if name == "apiVersion":
            notes.ask(
                f"{field}.apiVersion",
                f"left out; Kubernetes before v1.6 called urlPrefix/{value}/verb; if the extender "
                "still expects that, append it to urlPrefix",
            )
            continue
        known = _FIELDS.get(str(name).lower(), str(name))
        found[known] = _value(known, value)
    return found


def _value(name: str, value: Any) -> Any:
    if name == "httpTimeout" and isinstance(value, int) and not isinstance(value, bool):
        return str(Duration(value))  # a Policy has nanoseconds
    if name == "tlsConfig" and isinstance(value, dict):
        return _renamed(value, _TLS_FIELDS)
    if name == "managedResources" and isinstance(value, list):
        return [_renamed(one, _RESOURCE_FIELDS) if isinstance(one, dict) else one for one in value]
    return value


def _renamed(given: dict[Any, Any], fields: dict[str, str]) -> dict[Any, Any]:
    return {
        fields.get(str(name).lower(), name): value
        for name, value in given.items()
        if value is not None
    }
