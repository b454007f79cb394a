"""Whether certificates of an earlier run of ``moor manifests`` can stay in use.

`certificates` calls it where cryptography is installed. The nodes have copies of their files, so
new ones are made only on request: the authority's key is gone, and all would have to be replaced.
"""

import datetime
import ipaddress
from collections.abc import Iterable, Mapping
from typing import Final

from cryptography import x509

from mooring.errors import InputError

_FILES: Final = ("ca.crt", "tls.crt", "tls.key")


def check_kept(there: Mapping[str, Mapping[str, str]], names: Iterable[str]) -> None:
    """Make sure that they fit.

    Args:
        there: the extender's files under ``tls``, and kube-scheduler's under ``client``.
        names: what callers may call the extender.

    Raises:
        InputError: they do not.
    """
    problem = _problem(there, names)
    if problem:
        raise InputError(
            f"the certificates in the folder {problem}; remove both folders of them, NAME-tls and "
            f"NAME-client, to get new ones, and copy those to the nodes"
        )


def _problem(there: Mapping[str, Mapping[str, str]], names: Iterable[str]) -> str:
    server, client = (there.get(whose, {}) for whose in ("tls", "client"))
    if not all(files.get(name) for files in (server, client) for name in _FILES):
        return "are not complete"
    try:
        served, shown = (
            x509.load_pem_x509_certificate(files["tls.crt"].encode()) for files in (server, client)
        )
        known = served.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return "cannot be read"
    if server["ca.crt"] != client["ca.crt"]:
        return "are of two authorities"
    if min(one.not_valid_after_utc for one in (served, shown)) < datetime.datetime.now(
        datetime.UTC
    ):
        return "are no longer valid"
    addresses = map(str, known.get_values_for_type(x509.IPAddress))
    covered = {*known.get_values_for_type(x509.DNSName), *addresses}
    missing = [name for name in map(_usual, names) if name not in covered]
    return f"are not for {missing[0]}" if missing else ""


def _usual(name: str) -> str:
    """A name, or an address as it is usually written."""
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name
