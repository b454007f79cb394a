"""What expressions may name: functions, types, and the variable `device`.

Joins the tables of the libraries, in the order in which overloads are tried. Called by the checker
and the compiler; nothing here changes after import.
"""

from typing import Final

from mooring.cel.libraries import (
    authorization,
    conversions,
    lists,
    named_formats,
    network,
    operators,
    optionals,
    quantities,
    semver,
    strings,
    times,
    urls,
)
from mooring.cel.overloads import Functions, Overload
from mooring.cel.types import (
    ANY,
    BOOL,
    BYTES,
    CIDR,
    DEVICE,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    IP,
    NULL,
    QUANTITY,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Type,
    list_of,
    map_of,
    optional_of,
    type_of,
)
from mooring.cel.values import TypeValue

_LIBRARIES: Final = (
    operators, conversions, times, optionals, network, urls, lists, strings, quantities, semver,
    named_formats, authorization,
)  # fmt: skip


def _join() -> Functions:
    joined: Functions = {}
    for library in _LIBRARIES:
        for name, overloads in library.FUNCTIONS.items():
            joined.setdefault(name, []).extend(overloads)
    return joined


FUNCTIONS: Final[Functions] = _join()
OVERLOADS: Final[dict[str, Overload]] = {
    overload.id: overload for overloads in FUNCTIONS.values() for overload in overloads
}

#: The fields of a device.
DEVICE_FIELDS: Final = {
    "driver": STRING,
    "attributes": map_of(STRING, map_of(STRING, ANY)),
    "capacity": map_of(STRING, map_of(STRING, QUANTITY)),
    "allowMultipleAllocations": BOOL,
}
VARIABLES: Final[dict[str, Type]] = {"device": DEVICE}

_NAMED: Final[dict[str, Type]] = {
    "bool": BOOL,
    "bytes": BYTES,
    "double": DOUBLE,
    "google.protobuf.Duration": DURATION,
    "google.protobuf.Timestamp": TIMESTAMP,
    "int": INT,
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "net.CIDR": CIDR,
    "net.IP": IP,
    "null_type": NULL,
    "optional_type": optional_of(DYN),
    "string": STRING,
    "type": TYPE,
    "uint": UINT,
    "kubernetes.DRADevice": DEVICE,
}
#: The names of types, with the type of the name and its value.
TYPE_NAMES: Final[dict[str, tuple[Type, TypeValue]]] = {
    name: (type_of(type_), TypeValue(type_.name)) for name, type_ in _NAMED.items()
}
