"""The names of devices, pools, attributes and requests, and lists of limited length.

Called by the checks of claims, classes and slices.
"""

# parity v1.36.4: pkg/apis/resource/validation/validation.go
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    ErrorList,
    duplicate,
    invalid,
    required,
    texts,
    too_long,
    too_many,
)

_DRIVER_LENGTH: Final = 63
_POOL_LENGTH: Final = 253
_ID_LENGTH: Final = 32
_KEY_LENGTH: Final = 63 + 1 + _ID_LENGTH
_REQUEST_TEXT: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest "
    "separated by '/'"
)

#: The names of a claim's requests, each with those of its subrequests.
RequestNames = Mapping[str, frozenset[str]]
Check = Callable[[Any, str, ErrorList], None]


def check_driver_name(name: str, path: str, errors: ErrorList) -> None:
    """Check the name of a driver, in which the case of letters does not matter."""
    if not name:
        errors.append(required(path))
        return
    if len(name.encode()) > _DRIVER_LENGTH:
        errors.append(too_long(path, _DRIVER_LENGTH))
    texts(errors, path, name, names.subdomain(name.lower()))


def check_pool_name(name: str, path: str, errors: ErrorList) -> None:
    """Check the name of a pool: DNS subdomains with slashes between them."""
    if not name:
        errors.append(required(path))
        return
    if len(name.encode()) > _POOL_LENGTH:
        errors.append(too_long(path, _POOL_LENGTH))
    for part in name.split("/"):
        texts(errors, path, part, names.subdomain(part))


def check_label(name: str, path: str, errors: ErrorList) -> None:
    """Check the name of a device, a request or a counter."""
    texts(errors, path, name, names.dns_label(name))


def check_qualified_name(name: str, path: str, errors: ErrorList) -> None:
    """Check the name of an attribute or a capacity: an identifier, perhaps with a domain."""
    domain, slash, identifier = name.partition("/")
    if not slash:
        _check_identifier(name, path, errors)
        return
    if "/" in identifier:
        return  # the API server lets these pass
    if not domain:
        errors.append(invalid(path, "", "the domain must not be empty"))
    else:
        check_driver_name(domain, path, errors)
    if not identifier:
        errors.append(invalid(path, "", "the name must not be empty"))
    else:
        _check_identifier(identifier, path, errors)


def check_fully_qualified_name(name: str, path: str, errors: ErrorList) -> None:
    """Check the name of an attribute that must have a domain."""
    check_qualified_name(name, path, errors)
    if "/" not in name:
        text = "a fully qualified name must be a domain and a name separated by a slash"
        errors.append(invalid(path, name, text))


def _check_identifier(name: str, path: str, errors: ErrorList) -> None:
    if len(name.encode()) > _ID_LENGTH:
        errors.append(too_long(path, _ID_LENGTH))
    texts(errors, path, name, names.identifier(name))


def request_names(devices: Obj) -> RequestNames:
    """The names that the requests of a claim have."""
    return {
        request.get("name", ""): frozenset(
            one.get("name", "") for one in request.get("firstAvailable") or ()
        )
        for request in devices.get("requests") or ()
    }


def check_request_reference(
    name: str, path: str, errors: ErrorList, *, known: RequestNames
) -> None:
    """Check that a name is that of a request of the claim, or of one of its subrequests."""
    parts = name.split("/")
    if len(parts) > 2:
        errors.append(invalid(path, name, _REQUEST_TEXT))
        return
    for part in parts:
        check_label(part, path, errors)
    found = known.get(parts[0])
    if found is None or (len(parts) == 2 and parts[1] not in found):
        errors.append(invalid(path, name, _REQUEST_TEXT))


def check_list(
    items: Sequence[Any], limit: int, check: Check, path: str, errors: ErrorList
) -> None:
    """Check the items of a list, unless there are too many of them."""
    if len(items) > limit >= 0:
        errors.append(too_many(path, len(items), limit))
        return
    for number, item in enumerate(items):
        check(item, f"{path}[{number}]", errors)


def check_set(
    items: Sequence[Any],
    limit: int,
    check: Check,
    path: str,
    errors: ErrorList,
    *,
    key: Callable[[Any], Hashable],
) -> None:
    """Check the items of a list in which each may be there once.

    Args:
        items: the list.
        limit: how many there may be; any number if it is below zero.
        check: checks one of them.
        path: where the list is.
        errors: gets what is wrong.
        key: what two of them may not have in common.
    """
    check_list(items, limit, check, path, errors)
    if len(items) > limit >= 0:
        return
    seen: set[Hashable] = set()
    for number, item in enumerate(items):
        found = key(item)
        if found in seen:
            errors.append(duplicate(f"{path}[{number}]", found))
        seen.add(found)


def check_map(
    items: Mapping[str, Any], key: Check, check: Check, path: str, errors: ErrorList
) -> None:
    """Check keys and values of a map."""
    for name, item in items.items():
        key(name, path, errors)
        check(item, f"{path}[{_shortened(name)}]", errors)


def by_name(item: Obj) -> str:
    """The name of an item, by which it is known in its list."""
    return str(item.get("name", ""))


def _shortened(name: str, limit: int = _KEY_LENGTH) -> str:
    """A key for a path: what is too long loses its middle."""
    if len(name) <= limit:
        return name
    kept = limit - len("...")
    return f"{name[: (kept + 1) // 2]}...{name[len(name) - kept // 2 :]}"
