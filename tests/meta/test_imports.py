"""`import mooring` is for policies: it is quick and brings no server, client or terminal along."""

import subprocess
import sys

import pytest

NOT_FOR_POLICIES = [
    "aiohttp",
    "asyncio",
    "cryptography",
    "matplotlib",
    "prometheus_client",
    "rich",
    "starlette",
    "typer",
    "uvicorn",
    "uvloop",
    "yaml",
]


def imported_with(module: str) -> set[str]:
    program = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_mooring_brings_only_what_policies_need() -> None:
    found = imported_with("mooring")
    assert {"mooring", "numpy", "msgspec"} <= found
    assert found.isdisjoint(NOT_FOR_POLICIES)


@pytest.mark.parametrize("module", ["mooring.testing", "mooring.cli.main"])
def test_what_starts_often_starts_without_the_server(module: str) -> None:
    heavy = {"aiohttp", "uvicorn", "starlette", "cryptography", "matplotlib"}
    assert imported_with(module).isdisjoint(heavy)
