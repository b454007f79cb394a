"""The URL library.

Called through the declarations. Texts are read as Go's net/url does.
"""

from typing import ClassVar, Final

from mooring.cel.overloads import Functions


class Url:
    """A parsed URL."""

    __slots__ = ("text",)
    type_name: ClassVar[str] = "kubernetes.URL"


FUNCTIONS: Final[Functions] = {}
