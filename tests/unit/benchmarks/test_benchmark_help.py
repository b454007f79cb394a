"""Every benchmark says what its options are."""

from importlib import import_module
from pathlib import Path

import pytest

import benchmarks

NAMES = sorted(one.parent.name for one in Path(benchmarks.__path__[0]).glob("*/__main__.py"))


@pytest.mark.parametrize("name", NAMES)
def test_the_help_is_printed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        import_module(f"benchmarks.{name}.__main__").main(["--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: python -m benchmarks.{name}")
