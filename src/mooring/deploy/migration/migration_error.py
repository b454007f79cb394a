"""Why a text cannot be migrated; `migrate_all` raises it, and the doctor leaves that text out."""

from mooring.errors import InputError


class MigrationError(InputError):
    """A text cannot be migrated; the message says where in it, and what is wrong.

    Attributes:
        source: the name of the text.
    """

    def __init__(self, message: str, source: str) -> None:
        super().__init__(message)
        self.source = source
