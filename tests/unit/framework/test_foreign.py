"""The border to foreign code: nothing but ordinary exceptions comes back over it."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import pytest

from mooring.errors import EscapeError
from mooring.framework import foreign
from mooring.plugins.node_resources_fit import NodeResourcesFit, NodeResourcesFitArgs


class Boom(BaseException):
    """What nobody expects."""


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), Boom("x")])
def test_what_would_end_the_process_does_not(error: BaseException) -> None:
    def fails() -> None:
        raise error

    with pytest.raises(EscapeError):
        foreign.call(fails)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), Boom("x")])
def test_nor_does_it_where_somebody_waits(error: BaseException) -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise error

    async def main() -> None:
        with pytest.raises(EscapeError):
            await foreign.wait(fails)

    asyncio.run(main())


def test_a_cancellation_passes() -> None:
    async def fails() -> None:
        raise asyncio.CancelledError

    async def main() -> None:
        with pytest.raises(asyncio.CancelledError):
            await foreign.wait(fails)

    asyncio.run(main())


def test_an_interruption_is_caught_wherever_it_strikes() -> None:
    """Raised at every line and every call for which the stack says that foreign code runs."""
    # In a thread of its own: what traces this one, such as coverage, goes on.
    with ThreadPoolExecutor(1) as pool:
        struck = pool.submit(_strike_everywhere).result()
    assert set(struck) == {"_cross", "plugin"}
    assert struck[0] == "_cross"


def _strike_everywhere() -> list[str]:
    struck: list[str] = []

    def plugin() -> int:
        return sum(range(3))

    for place in range(40):
        seen = 0

        def strike(frame: FrameType, event: str, arg: object) -> Any:
            nonlocal seen
            if foreign.crossing(frame) is not None:
                seen += 1
                if seen > place:  # noqa: B023
                    sys.settrace(None)
                    struck.append(frame.f_code.co_name)
                    raise foreign.Interruption("late")
            return strike

        sys.settrace(strike)
        try:
            foreign.call(plugin)
        except EscapeError:
            continue
        finally:
            sys.settrace(None)
        break
    return struck


def test_a_plugin_that_extends_one_of_ours_is_foreign() -> None:
    class Mine(NodeResourcesFit):
        pass

    args = NodeResourcesFitArgs()
    assert foreign.is_foreign(Mine(args).filter_nodes)
    assert not foreign.is_foreign(NodeResourcesFit(args).filter_nodes)
