"""Selectors in the Common Expression Language, as the allocator asks them."""

from mooring.cel.device_selector import (
    Attribute,
    CelCompileError,
    CompiledSelector,
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
    selector = _compiled(expression)
    return lambda device: selector.matches(_input(device))


def compile_scoring_selector(expression: str) -> Matches:
    """The same for scores, which v1.36.4 computes as if no device could be shared.

    Raises:
        CelCompileError: the expression cannot be used.
    """
    selector = _compiled(expression)
    return lambda device: selector.matches(
        _made_input(device, shareable=False) if device.shareable else _input(device)
    )


def _compiled(expression: str) -> CompiledSelector:
    selector = compile_selector(expression)
    if selector.error is not None:
        raise CelCompileError(selector.error)
    return selector


def _input(device: PooledDevice) -> DeviceInput:
    """A device as selectors see it, made once."""
    if device.selector_input is None:
        device.selector_input = _made_input(device, shareable=device.shareable)
    return device.selector_input


def _made_input(device: PooledDevice, *, shareable: bool) -> DeviceInput:
    attributes, capacity = device.device.attributes or {}, device.device.capacity or {}
    return DeviceInput(
        device.driver,
        attributes={name: _value(one) for name, one in attributes.items()},
        capacity={name: parse_quantity(one.value) for name, one in capacity.items()},
        allow_multiple_allocations=shareable,
    )


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
