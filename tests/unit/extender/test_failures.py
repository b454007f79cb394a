"""Which failures of a function are alike."""

import pytest

from mooring.errors import EscapeError, PolicyError
from mooring.extender.failures import kind_of
from mooring.framework.foreign import Interruption


def failure(text: str, cause: BaseException | None = None) -> PolicyError:
    error = PolicyError(text, function="rate")
    error.__cause__ = cause
    return error


def escaped(cause: BaseException) -> EscapeError:
    error = EscapeError("it tried")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (failure("score 'rate' failed on node a: KeyError: 'x'", KeyError("x")), "KeyError"),
        (failure("score 'rate' failed: it tried", escaped(SystemExit(1))), "SystemExit"),
        (failure("score 'rate' failed: it hung", escaped(Interruption("late"))), "Interruption"),
        (failure("score 'rate' failed: Odd: o", EscapeError("Odd: o")), "Odd"),
        (failure("score 'rate' returned nan for node a; it must"), "returned nan"),
        (failure("score 'rate' returned None for node a; it must"), "returned None"),
        (failure("score 'rate' returned 101 for node a; it must"), "returned"),
        (failure("score 'rate' returned 'pod-17' for node a; it must"), "returned"),
        (failure("score 'rate' on node a has not returned 4.7 s after"), "on"),
        (failure("bind 'rate' failed on node a: it did not return within 4 seconds"), "failed"),
        (failure("no function is named here"), ""),
    ],
)
def test_kinds(error: PolicyError, kind: str) -> None:
    assert kind_of(error) == kind
