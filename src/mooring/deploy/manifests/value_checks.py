"""Whether values that users give can stand in manifests: names, images, addresses.

`installation` calls it. The API server checks more; this keeps out what it would reject or what
would be something else in YAML, in a chart or in a shell.
"""

import re
from collections.abc import Iterable
from typing import Final

from mooring.errors import InputError

#: parity v1.36.4: apimachinery/pkg/util/validation, IsDNS1123Subdomain
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MOST_SUBDOMAIN: Final = 253
_PRINTABLE: Final = re.compile(r"[!#-&(-\[\]-_a-z|~]+")
_MOST_PRINTABLE: Final = 1024


def check_object_names(option: str, names: Iterable[str]) -> None:
    """Make sure that texts can be the names of objects that exist, such as Secrets.

    Raises:
        InputError: one cannot.
    """
    for one in names:
        if not _SUBDOMAIN.fullmatch(one) or len(one) > _MOST_SUBDOMAIN:
            raise InputError(
                f"{option} {_shown(one)} cannot be the name of an object; use lower-case letters, "
                f"digits, '-' and '.'"
            )


def check_words(option: str, words: Iterable[str]) -> None:
    """Make sure that texts are one word each, as images, addresses and schedulers are.

    Raises:
        InputError: one is not.
    """
    for one in words:
        if not _PRINTABLE.fullmatch(one) or len(one) > _MOST_PRINTABLE:
            raise InputError(
                f"{option} {_shown(one)} has characters that it cannot have; use letters, digits "
                f"and punctuation without quotes and spaces"
            )


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:80]}…")
