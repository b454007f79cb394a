"""What a function may read and call if its answers are to be kept; tables for `purity`.

Whatever is not named here is taken for something that may change.
"""

import enum
import math
import sys
from types import BuiltinFunctionType, ModuleType
from typing import Any, Final

from mooring.framework.policy_checks.attribute_types import attribute_type
from mooring.framework.verdict import Verdict, accept, accept_if, reject
from mooring.model.meta import ObjectMeta
from mooring.model.node import NodeSpec, NodeStatus
from mooring.model.pod import PodSpec
from mooring.model.quantity import parse_quantity
from mooring.model.taints import untolerated

#: One thing that is read of the pod: an attribute, one of its spec or metadata, or one key of it.
Read = tuple[str, ...]


class Holds(enum.Enum):
    """What an expression holds."""

    #: Plain data, all of which the arguments determine.
    VALUE = "a value"
    #: The same, to be gone through once.
    ITERATOR = "an iterator"
    NODE = "the node"
    #: The pod that is to be placed, and no other one.
    POD = "the pod"
    #: A pod on the node; or it may be one.
    OTHER = "a pod on the node"
    PODS = "pods"
    SPEC = "a pod's spec"
    METADATA = "the pod's metadata"


#: A change of any of these touches the node's row.
NODE: Final = frozenset(
    ("name", "key", "uid", "labels", "annotations", "metadata", "spec", "status", "raw", "deleting",
     "resource_version", "allocatable", "capacity", "images", "taints", "unschedulable", "ready",
     "used", "free")
)  # fmt: skip
#: What pods of one template share: a pod on a node that changes in them touches the row.
TEMPLATE: Final = frozenset(
    ("namespace", "labels", "requests", "priority", "node_selector", "tolerations",
     "scheduler_name", "images", "containers")
)  # fmt: skip
#: Not among these: the node that a pod is on, and volumes, not all of which are in a template.
SPEC: Final = frozenset(PodSpec.__struct_fields__) - {"node_name", "volumes"}
#: Of these, single keys may be read.
KEYED: Final = ("labels", "annotations", "requests")
#: What a function reads that its author declares pure.
DECLARED: Final[frozenset[Read]] = frozenset(
    [("namespace",), ("labels",), ("annotations",), ("requests",), ("metadata", "owner_references")]
    + [("spec", one) for one in PodSpec.__struct_fields__ if one != "node_name"]
)

#: Methods that only read, of texts, mappings, sets and parts of the model.
METHODS: Final = frozenset(
    ("get", "items", "keys", "values", "startswith", "endswith", "split", "rsplit", "splitlines",
     "partition", "rpartition", "lower", "upper", "casefold", "title", "capitalize", "strip",
     "lstrip", "rstrip", "removeprefix", "removesuffix", "replace", "find", "rfind", "index",
     "count", "join", "zfill", "isdigit", "isdecimal", "isnumeric", "isalpha", "isalnum",
     "isupper", "islower", "union", "intersection", "difference", "symmetric_difference",
     "issubset", "issuperset", "isdisjoint", "copy", "tolerates", "matches")
)  # fmt: skip
#: Methods that change what a function has made itself.
CHANGING: Final = frozenset(
    ("append", "extend", "insert", "add", "discard", "update", "setdefault", "sort")
)
#: Those of all these that go through what they get, and keep nothing else of it.
CONSUMING_METHODS: Final = frozenset(
    ("join", "extend", "update", "union", "intersection", "difference", "symmetric_difference",
     "issubset", "issuperset", "isdisjoint")
)  # fmt: skip

#: Builtins that take values.
PLAIN: Final = (len, abs, int, float, str, bool, round, range, ord, chr)
#: Those that go through what they get.
CONSUMING: Final = (sum, min, max, any, all, set, frozenset, tuple, list, dict, sorted)
#: Those that give what is gone through.
ITERATING: Final = (zip, enumerate, reversed)
#: What a value may be tested for.
TYPES: Final = (str, int, float, bool, dict, list, tuple, set, frozenset)
#: What they may be told by name; a function is not among it.
OPTIONS: Final = frozenset(("default", "start", "reverse", "strict", "ndigits", "base"))
#: What makes an object of its own of one argument, or one that cannot be changed.
FRESH: Final = (
    sum, len, int, float, str, bool, abs, round, set, frozenset, list, dict, tuple, sorted,
)  # fmt: skip
#: mooring's functions that depend on their arguments alone.
_OURS: Final = {
    one.__name__: one for one in (accept, accept_if, reject, untolerated, parse_quantity, Verdict)
}
_HELPERS: Final = (
    *_OURS.values(),
    *[one for one in vars(math).values() if type(one) is BuiltinFunctionType],
)
_CONSTANTS: Final = (str, int, float, bool, bytes, type(None))


def is_helper(thing: object) -> bool:
    """Whether it is a function of mooring's or of `math` that depends on its arguments alone."""
    return is_one_of(thing, _HELPERS)


def may_have_helper(module: ModuleType, name: str) -> bool:
    """Whether a module is one in which a name may stand for such a function."""
    return module is math or (module is sys.modules.get("mooring") and name in _OURS)


def is_one_of(thing: object, several: tuple[Any, ...]) -> bool:
    """Whether it is one of them, without asking it."""
    return any(thing is one for one in several)


def is_constant(value: object) -> bool:
    """Whether a value cannot change."""
    if is_one_of(type(value), (tuple, frozenset)):
        return all(is_constant(one) for one in value)  # type: ignore[attr-defined]
    return is_one_of(type(value), _CONSTANTS)


def _fields(kind: type) -> set[str]:
    """The fields of a part of the model, of what these hold, and so on."""
    names: tuple[str, ...] = getattr(kind, "__struct_fields__", ())
    held = [attribute_type(kind, name) for name in names]
    return {*names}.union(*(_fields(one.kind) for one in held if one is not None))


#: The attributes of the parts of pods and nodes, without those that a text or a dict has as a
#: method: a method tells objects apart that are equal.
PARTS: Final = frozenset(
    set()
    .union(*map(_fields, (PodSpec, ObjectMeta, NodeSpec, NodeStatus)))
    .difference(*map(dir, TYPES))
)
