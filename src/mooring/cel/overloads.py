"""How the functions of the libraries are declared.

Each library module has a table `FUNCTIONS` of name to overloads; `declarations` joins them. The
checker reads the types, the compiler calls `call`.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from mooring.cel.types import Type
from mooring.cel.values import Value

Functions: TypeAlias = dict[str, list["Overload"]]


class Overload(NamedTuple):
    """One form of a function.

    Attributes:
        id: its name in Kubernetes, by which costs are known.
        args: types of the arguments, the target of a method first.
        result: the type of what it returns.
        call: the implementation; raises CelValueError.
        is_method: whether it is called on its first argument.
        is_guarded: whether arguments of other types are an error before `call` sees them.
        compares: whether `call` takes an `Effort`, too, because it compares lists and maps.
    """

    id: str
    args: tuple[Type, ...]
    result: Type
    call: Callable[..., Value]
    is_method: bool = False
    is_guarded: bool = True
    compares: bool = False


def function(id_: str, args: list[Type], result: Type, call: Callable[..., Value]) -> Overload:
    """Declare an ordinary function."""
    return Overload(id_, tuple(args), result, call)


def method(id_: str, args: list[Type], result: Type, call: Callable[..., Value]) -> Overload:
    """Declare a method."""
    return Overload(id_, tuple(args), result, call, is_method=True)


def unguarded(overload: Overload) -> Overload:
    """The overload, whose implementation looks at the types of its arguments itself."""
    return overload._replace(is_guarded=False)


def comparing(overload: Overload) -> Overload:
    """The overload, whose implementation counts its comparisons."""
    return overload._replace(compares=True)
