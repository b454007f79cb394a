"""Selectors in the Common Expression Language, as the allocator asks them."""

from mooring.cel.device_selector import (
    Attribute,
    CelCompileError,
    DeviceInput,
    InvalidAttribute,
    Version,
    compile_selector,
)
from mooring.model.devices.resource_slice import DeviceAttribute
from mooring.model.quantity import parse_quantity
from mooring.plugins.devices.pooled_device import PooledDevice
from mooring.plugins.devices.selectors import Matches


def compile_device_selector(expression: str) -> Matches:
    """A function that says whether a device matches an expression.

    Raises:
        CelCompileError: the expression cannot be used.
    """
    selector = compile_selector(expression)
    if selector.error is not None:
        raise CelCompileError(selector.error)
    return lambda device: selector.matches(_input(device))


def _input(device: PooledDevice) -> DeviceInput:
    """A device as selectors see it, made once."""
    if device.selector_input is None:
        published = device.device
        attributes, capacity = published.attributes or {}, published.capacity or {}
        device.selector_input = DeviceInput(
            device.driver,
            attributes={name: _value(one) for name, one in attributes.items()},
            capacity={name: parse_quantity(one.value) for name, one in capacity.items()},
            allow_multiple_allocations=device.shareable,
        )
    return device.selector_input


def _value(one: DeviceAttribute) -> Attribute:
    # parity v1.36.4: dynamic-resource-allocation/cel/compile.go getAttributeValue
    if one.int_value is not None:
        return one.int_value
    if one.bool_value is not None:
        return one.bool_value
    if one.string_value is not None:
        return one.string_value
    if one.version_value is None:
        return InvalidAttribute()
    try:
        return Version(one.version_value)
    except ValueError as error:
        return InvalidAttribute(f"parse semantic version: {error}")
