"""Whether a policy reads the devices of nodes, so that devices and claims have to be watched.

A look at the code of its functions, and of the functions and classes in the same folder that these
name. It goes by what is written, and not by what an expression holds: ``gpus.devices`` may be a
node's. Where it errs, the policy says so itself (`Policy.devices`). Nothing is run.
"""

import dis
import functools
import inspect
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from mooring.framework.policy import Policy
from mooring.framework.policy_checks.policy_check import policy_functions
from mooring.framework.policy_checks.sources import code_of

_DEVICES: Final = "devices"
#: What a node is called that is a part of something, such as ``binding.node``.
_NODES: Final = ("node", "nodes")
_OWN: Final = ("self", "cls")
_ATTRIBUTES: Final = ("LOAD_ATTR", "LOAD_METHOD")
#: Instructions that stand between two others and do nothing themselves.
_FILLERS: Final = ("CACHE", "EXTENDED_ARG", "PRECALL", "NOP", "PUSH_NULL")
#: So many functions are looked at.
_MOST_FUNCTIONS: Final = 1000


def reads_devices(policy: Policy) -> bool:
    """Whether the functions of a policy need to know the devices of nodes."""
    if policy.devices is not None:
        return policy.devices
    return any(_is_read(function) for function in _reached(policy))


def _reached(policy: Policy) -> Iterator[FunctionType]:
    """The policy's functions, and those in the same folder that they name."""
    left: list[object] = [one.function for one in policy_functions(policy)]
    codes = [code_of(one.function) for one in policy_functions(policy)]
    folders = {_folder(code) for code in codes if code is not None}
    seen: set[int] = set()
    while left and len(seen) < _MOST_FUNCTIONS:
        for function in _functions(left.pop()):
            if id(function) in seen or _folder(function.__code__) not in folders:
                continue
            seen.add(id(function))
            yield function
            names = function.__globals__
            for code in _codes(function.__code__):
                left += [names[name] for name in code.co_names if name in names]
            left += [_value(one) for one in function.__closure__ or ()]


def _folder(code: CodeType) -> Path:
    return Path(code.co_filename).parent


def _functions(thing: object) -> Iterator[FunctionType]:
    """The functions that something consists of; none if it is neither function nor class."""
    # Its class counts, and not what it says its class is: it may be anything.
    kind = type(thing)
    if kind is functools.partial:
        yield from _functions(thing.func)  # type: ignore[attr-defined]
    elif kind is MethodType:
        yield from _of_class(type(thing.__self__))  # type: ignore[attr-defined]
        yield from _functions(thing.__func__)  # type: ignore[attr-defined]
    elif kind is FunctionType:
        yield thing  # type: ignore[misc]
    elif issubclass(kind, type):
        yield from _of_class(thing)  # type: ignore[arg-type]
    elif issubclass(kind, ModuleType):
        return
    else:
        yield from _of_class(kind)
    wrapped = inspect.getattr_static(thing, "__wrapped__", None)
    if type(wrapped) is FunctionType:
        yield from _functions(wrapped)


def _of_class(kind: type) -> Iterator[FunctionType]:
    for owner in kind.__mro__:
        for member in vars(owner).values():
            found: object = member
            if type(member) is property:
                found = member.fget
            elif type(member) in (classmethod, staticmethod):
                found = member.__func__
            elif type(member) is functools.cached_property:
                found = member.func
            if type(found) is FunctionType:
                yield found


def _value(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # it has no value yet
        return None


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)


def _is_read(function: FunctionType) -> bool:
    return any(
        _reads(_instructions(code), function.__globals__)
        for code in _codes(function.__code__)
        if _DEVICES in code.co_names
    )


def _instructions(code: CodeType) -> Iterator[dis.Instruction]:
    return (one for one in dis.get_instructions(code) if one.opname not in _FILLERS)


def _reads(instructions: Iterable[dis.Instruction], names: dict[str, Any]) -> bool:
    """Whether there is ``x.devices``, where x may be a node or several."""
    return any(
        one.opname in _ATTRIBUTES and one.argval == _DEVICES and _may_be_node(owner, names)
        for owner, one in pairwise(instructions)
    )


def _may_be_node(owner: dis.Instruction, names: dict[str, Any]) -> bool:
    name = owner.argval[-1] if isinstance(owner.argval, tuple) else owner.argval
    if owner.opname.startswith("LOAD_FAST"):
        return name not in _OWN
    if owner.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        return not isinstance(names.get(str(name)), ModuleType)
    if owner.opname in _ATTRIBUTES:
        return name in _NODES
    return True
