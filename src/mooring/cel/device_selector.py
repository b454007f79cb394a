"""Selectors of devices: compile an expression once, ask it about many devices.

    selector = compile_selector('device.attributes["gpu.example.com"].memory > 40')
    selector.matches(DeviceInput("gpu.example.com", attributes={"memory": 80}))

Called by whoever allocates devices, which also keeps compiled selectors; nothing is cached here.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TypeAlias

from mooring.cel.checker import check
from mooring.cel.compiler import PlanError, compile_node
from mooring.cel.errors import (
    CelCompileError,
    CelCostError,
    CelRuntimeError,
    CelValueError,
    Issue,
    render_issues,
)
from mooring.cel.libraries.quantities import CelQuantity, from_model, quantity_value
from mooring.cel.libraries.semver import Version
from mooring.cel.parser import ParseError, parse
from mooring.cel.plan import COST, Run, check_cost
from mooring.cel.types import ANY, BOOL, TypeSizeError
from mooring.cel.validators import validate
from mooring.cel.values import CelMap, Value, type_name
from mooring.model.quantity import Quantity

__all__ = [
    "CelCompileError",
    "CelCostError",
    "CelRuntimeError",
    "CompiledSelector",
    "DeviceInput",
    "InvalidAttribute",
    "Version",
    "compile_selector",
]

_RECURSION_LIMIT: Final = 10_000
_EMPTY: Final = CelMap({})


class InvalidAttribute:
    """Stands for an attribute without a usable value; no selector can be asked about the device."""

    __slots__ = ("message",)

    def __init__(self, message: str = "unsupported attribute value") -> None:
        self.message = message


Amount: TypeAlias = str | Quantity | CelQuantity
Attribute: TypeAlias = int | bool | str | Version | InvalidAttribute


class DeviceInput:
    """A device as selectors see it; make one per device and keep it.

    Attributes:
        root: the value of `device`.
        problem: why no selector can be asked, or empty.
    """

    __slots__ = ("problem", "root")

    def __init__(
        self,
        driver: str,
        *,
        attributes: Mapping[str, Attribute] | None = None,
        capacity: Mapping[str, Amount] | None = None,
        allow_multiple_allocations: bool = False,
    ) -> None:
        """Describe a device.

        Args:
            driver: the driver's name, the domain of names without one.
            attributes: values by name or ``domain/name``.
            capacity: amounts by name or ``domain/name``; as the text they were written in, if
                `isInteger` is to tell ``1`` from ``1000m`` as Kubernetes does.
            allow_multiple_allocations: whether several claims may share the device.
        """
        self.problem = next(
            (
                f"attribute {name}: {value.message}"
                for name, value in (attributes or {}).items()
                if isinstance(value, InvalidAttribute)
            ),
            "",
        )
        amounts = {name: _amount(amount) for name, amount in (capacity or {}).items()}
        self.root = CelMap(
            {
                "driver": driver,
                "allowMultipleAllocations": allow_multiple_allocations,
                "attributes": _by_domain(driver, attributes or {}),
                "capacity": _by_domain(driver, amounts),
            },
            only_strings=True,
        )


def _amount(amount: Amount) -> CelQuantity:
    if isinstance(amount, str):
        return quantity_value(amount)
    return amount if isinstance(amount, CelQuantity) else from_model(amount)


def _by_domain(driver: str, values: Mapping[str, Value]) -> CelMap:
    domains: dict[str, CelMap] = {}
    for qualified, value in values.items():
        domain, slash, name = qualified.partition("/")
        if not slash:
            domain, name = driver, qualified
        if domain not in domains:
            domains[domain] = CelMap({}, only_strings=True)
        domains[domain].entries[name] = value
    return CelMap(dict(domains), _EMPTY, only_strings=True)


class CompiledSelector:
    """A compiled expression.

    Attributes:
        expression: its text.
        error: why it cannot be used, or None.
    """

    __slots__ = ("_blank", "_run", "error", "expression")

    def __init__(self, expression: str, run: Run | None, size: int, error: str | None) -> None:
        self.expression = expression
        self.error = error
        self._run = run
        self._blank: list[Value] = [None] * size

    def matches(self, device: DeviceInput) -> bool:
        """Whether the selector accepts a device.

        Raises:
            CelCompileError: the expression cannot be used.
            CelRuntimeError: it failed for this device.
        """
        return self.evaluate(device)[0]

    def evaluate(self, device: DeviceInput) -> tuple[bool, int]:
        """Whether the selector accepts a device, and what finding out cost.

        Raises:
            CelCompileError: the expression cannot be used.
            CelRuntimeError: it failed for this device.
        """
        if self._run is None:
            raise CelCompileError(self.error or "")
        if device.problem:
            raise CelRuntimeError(device.problem)
        try:
            return self._evaluated(self._run, device)
        except RecursionError:
            pass
        try:
            with _deep_recursion():
                return self._evaluated(self._run, device)
        except RecursionError as error:
            raise CelRuntimeError("the expression is nested too deeply") from error

    def _evaluated(self, run: Run, device: DeviceInput) -> tuple[bool, int]:
        frame = self._blank.copy()
        frame[:3] = 0, device.root, 0
        try:
            value = run(frame)
        except CelValueError:
            check_cost(frame)
            raise
        except (CelRuntimeError, RecursionError):
            raise
        except Exception as error:
            # An expression is somebody else's text: whatever it does, others must not suffer.
            raise CelRuntimeError(f"internal error: {error}") from error
        check_cost(frame)
        if type(value) is not bool:
            kind = type_name(value)
            raise CelRuntimeError(f"CEL result of type {kind} could not be converted to bool")
        return value, frame[COST]


def compile_selector(expression: str) -> CompiledSelector:
    """Compile an expression.

    Never raises: if the expression is wrong, `CompiledSelector.error` says where and why, with line
    and column, and `CompiledSelector.matches` raises `CelCompileError` with that text.
    """
    try:
        with _deep_recursion():
            run, size = _compile(expression)
    except CelCompileError as error:
        return CompiledSelector(expression, None, 0, str(error))
    return CompiledSelector(expression, run, size, None)


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Room for expressions nested as deeply as Kubernetes allows (the parser limits the depth)."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _compile(expression: str) -> tuple[Run, int]:
    try:
        root = parse(expression)
        issues = check(root) or validate(root)
        if issues:
            raise _failed(expression, issues)
        if root.type not in (BOOL, ANY):
            raise CelCompileError(f"must evaluate to bool or the unknown type, not {root.type}")
        return compile_node(root)
    except ParseError as error:
        raise _failed(expression, [error.issue]) from error
    except PlanError as error:
        raise CelCompileError(f"program instantiation failed: {error}") from error
    except RecursionError as error:
        problem = Issue(0, "the expression is nested too deeply")
        raise _failed(expression, [problem]) from error
    except TypeSizeError as error:
        problem = Issue(0, "the types of the expression are too large")
        raise _failed(expression, [problem]) from error
    except CelCompileError:
        raise
    except Exception as error:
        raise _failed(expression, [Issue(0, f"internal error: {error}")]) from error


def _failed(expression: str, issues: list[Issue]) -> CelCompileError:
    return CelCompileError(f"compilation failed: {render_issues(expression, issues)}")
