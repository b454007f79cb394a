"""The library of named formats such as ``format.dns1123Label()``.

Called through the declarations.
"""

from typing import ClassVar, Final

from mooring.cel.overloads import Functions


class NamedFormat:
    """A format that strings may have."""

    __slots__ = ("regex_size",)
    type_name: ClassVar[str] = "kubernetes.NamedFormat"


FUNCTIONS: Final[Functions] = {}
