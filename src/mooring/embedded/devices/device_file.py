"""Reads what a file says of drivers and their devices, and tells mistakes with their place.

`moor cluster` calls it. What the API server would reject is rejected here, in its words.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from mooring.embedded.defaults.defaults import set_defaults
from mooring.embedded.devices.device_pools import (
    device_class,
    device_count,
    pool_slices,
)
from mooring.embedded.devices.forms import (
    ClassForm,
    DriverForm,
    DriversForm,
    PoolForm,
)
from mooring.embedded.resources import DEVICE_CLASSES, RESOURCE_SLICES, Obj, Resource
from mooring.embedded.schema.field_validation import check_fields
from mooring.embedded.status_errors import StatusError
from mooring.embedded.validation.devices.device_names import check_driver_name, check_pool_name
from mooring.embedded.validation.field_errors import ErrorList
from mooring.embedded.validation.object_meta import check_labels
from mooring.embedded.validation.validation import validate
from mooring.errors import InputError, QuantityError
from mooring.located_yaml import LocatedDocument
from mooring.typed_yaml import FieldMistake, check_repeated, convert, located_text
from mooring.typed_yaml import Path as FieldPath
from mooring.yaml_text import YamlProblem

MOST_BYTES: Final = 1024 * 1024
MOST_DRIVERS: Final = 16
MOST_POOLS: Final = 64
#: Devices that a driver has on one node, or in one pool for several nodes.
MOST_DEVICES: Final = 1024
#: For checking devices by themselves.
_POOL: Final = "pool"


def read_drivers(path: Path, *, with_nodes: bool = False) -> tuple[DriverForm, ...]:
    """The drivers in a file.

    Args:
        path: the file.
        with_nodes: whether it is a file with nodes, which may have drivers, too.

    Raises:
        InputError: the file cannot be read, or something in it makes no sense.
    """
    text = _read(path)
    try:
        document = LocatedDocument(str(path), text.splitlines(), text)
    except YamlProblem as error:
        place = f"{path}:{error.line}:{error.column}"
        raise InputError(f"{place}: it is not valid YAML: {error}") from error
    try:
        return _drivers(document, with_nodes=with_nodes)
    except FieldMistake as mistake:
        raise InputError(located_text(document, mistake)) from None


def check_names(drivers: Sequence[DriverForm]) -> None:
    """See that no two files describe the same driver, or the same class.

    Raises:
        InputError: two do.
    """
    names = Counter(driver.name for driver in drivers)
    for name, count in names.items():
        if count > 1:
            raise InputError(f"the driver {name} is described twice; merge its entries")


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"the devices file {path} does not exist") from None
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"the devices file {path} cannot be read: {why}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"the devices file {path} is not valid UTF-8") from error
    if len(data) > MOST_BYTES:
        raise InputError(f"the devices file {path} has more than {MOST_BYTES} bytes; use counts")
    return text


def _drivers(document: LocatedDocument, *, with_nodes: bool) -> tuple[DriverForm, ...]:
    if not isinstance(document.data, dict):
        raise FieldMistake((), "expected a mapping with the field drivers")
    check_repeated(document)
    form = convert(document.data, DriversForm)
    if not with_nodes and "nodes" in document.data:
        raise FieldMistake(("nodes",), "nodes belong into the file of --nodes-file")
    if not form.drivers and not with_nodes:
        raise FieldMistake(("drivers",), "expected at least one driver")
    if len(form.drivers) > MOST_DRIVERS:
        raise FieldMistake(("drivers",), f"there may be at most {MOST_DRIVERS} drivers")
    seen: set[str] = set()
    classes: set[str] = set()
    for number, driver in enumerate(form.drivers):
        path = ("drivers", number)
        if driver.name in seen:
            raise FieldMistake((*path, "name"), f"there are two drivers named {driver.name!r}")
        seen.add(driver.name)
        _check_driver(driver, path)
        _check_classes(driver, path, classes)
    return tuple(form.drivers)


def _check_driver(driver: DriverForm, path: FieldPath) -> None:
    errors: ErrorList = []
    check_driver_name(driver.name, "name", errors)
    _raise_first(errors, path)
    if not driver.pools:
        raise FieldMistake((*path, "pools"), "expected at least one pool")
    if len(driver.pools) > MOST_POOLS:
        raise FieldMistake((*path, "pools"), f"there may be at most {MOST_POOLS} pools")
    named: set[str] = set()
    on_nodes: dict[str, FieldPath] = {}
    total = 0
    for number, pool in enumerate(driver.pools):
        at = (*path, "pools", number)
        _check_pool(pool, at)
        count = sum(device_count(one) for one in pool.devices)
        if pool.name:
            if pool.name in named:
                raise FieldMistake((*at, "name"), f"there are two pools named {pool.name!r}")
            named.add(pool.name)
        else:
            total += count
            count = total
        if count > MOST_DEVICES:
            raise FieldMistake(
                (*at, "devices"),
                f"a driver may have at most {MOST_DEVICES} devices on a node, or in a pool for "
                f"several nodes; these would be {count}",
            )
        _check_devices(driver, pool, at, {} if pool.name else on_nodes)


def _check_pool(pool: PoolForm, path: FieldPath) -> None:
    if pool.name and pool.nodes:
        raise FieldMistake(
            (*path, "nodes"),
            "a pool with a name is for all nodes, or for those with nodeLabels; leave out the "
            "name, so that each of these nodes has a pool of its own",
        )
    if not pool.devices:
        raise FieldMistake((*path, "devices"), "expected at least one device")
    errors: ErrorList = []
    if pool.name:
        check_pool_name(pool.name, "name", errors)
    check_labels(pool.node_labels, "nodeLabels", errors)
    _raise_first(errors, path)


def _check_devices(
    driver: DriverForm, pool: PoolForm, path: FieldPath, names: dict[str, FieldPath]
) -> None:
    for number, form in enumerate(pool.devices):
        at = (*path, "devices", number)
        if form.count is not None and form.count < 1:
            raise FieldMistake((*at, "count"), "expected a number of devices, at least 1")
        if form.partitions and not form.counters:
            raise FieldMistake(
                (*at, "partitions"),
                "partitions share the device's counters; add what there is of each, such as "
                "counters: {memory: 80Gi}",
            )
        for place, part in enumerate(form.partitions):
            part_path = (*at, "partitions", place)
            if part.count is not None and part.count < 1:
                raise FieldMistake((*part_path, "count"), "expected a number of parts, at least 1")
            unknown = sorted(set(part.uses) - set(form.counters))
            if unknown:
                raise FieldMistake(
                    (*part_path, "uses"), f"the device has no counter {', '.join(unknown)}"
                )
        slices = pool_slices(driver.name, _POOL, [form], {"allNodes": True})
        for one in slices:
            _check_object(RESOURCE_SLICES, one, at)
        _check_device_names(slices, at, names, own=not pool.name)


def _check_device_names(
    slices: Sequence[Obj], path: FieldPath, names: dict[str, FieldPath], *, own: bool
) -> None:
    """See that no two devices of a pool have one name."""
    for one in slices:
        for device in one["spec"].get("devices", ()):
            name = device["name"]
            # Entries for other nodes may have the same names.
            if name in names and (not own or names[name][:-1] == path[:-1]):
                raise FieldMistake((*path, "name"), f"there are two devices named {name!r}")
            names[name] = path


def _check_classes(driver: DriverForm, path: FieldPath, seen: set[str]) -> None:
    forms = [ClassForm(driver.name)] if driver.classes is None else driver.classes
    for number, form in enumerate(forms):
        at = (*path, "classes", number)
        if form.name in seen:
            raise FieldMistake((*at, "name"), f"there are two classes named {form.name!r}")
        seen.add(form.name)
        _check_object(DEVICE_CLASSES, device_class(driver.name, form), at)


def _check_object(resource: Resource, obj: Obj, path: FieldPath) -> None:
    """See that the API server would take an object that is made of a part of the file."""
    try:
        unknown = check_fields(resource, obj)
        if unknown:
            raise FieldMistake(path, unknown[0])
        set_defaults(resource, obj)
        causes = validate(resource, obj, None)
    except (QuantityError, StatusError) as error:
        raise FieldMistake(path, str(error)) from error
    if causes:
        raise FieldMistake(path, f"{causes[0].field}: {causes[0].message}")


def _raise_first(errors: ErrorList, path: FieldPath) -> None:
    """Tell the first of some mistakes in the fields of a form."""
    for one in errors:
        raise FieldMistake((*path, one.field), one.message)
