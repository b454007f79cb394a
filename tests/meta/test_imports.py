"""`import mooring` is for policies: it is quick and brings no server, client or terminal along.

Nor do commands bring along what they do not need. Modules are counted, not seconds.
"""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import mooring

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


def imported_by(program: str) -> set[str]:
    """All modules that are there after a program."""
    report = "import sys; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{report}"], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def imported_with(module: str) -> set[str]:
    return {name.partition(".")[0] for name in imported_by(f"import {module}")}


def test_importing_mooring_brings_only_what_policies_need() -> None:
    found = {one.partition(".")[0] for one in imported_by("import mooring; mooring.Policy")}
    assert {"mooring", "numpy", "msgspec"} <= found
    assert found.isdisjoint(NOT_FOR_POLICIES)


def test_names_are_looked_up_when_they_are_used() -> None:
    assert "numpy" not in imported_with("mooring")
    assert imported_by("import mooring; dir(mooring)") == imported_by("import mooring")


def test_every_public_name_comes_from_where_type_checkers_see_it() -> None:
    tree = ast.parse(inspect.getsource(mooring))
    seen = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen.pop("hook") == "mooring"
    assert seen.pop("__version__") == "mooring.version"
    assert seen == mooring._HOME_OF
    assert {*seen, "hook", "__version__"} == set(mooring.__all__)
    for name, home in seen.items():
        assert getattr(mooring, name) is getattr(sys.modules[str(home)], name)


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["explain", "--help"], ["completion", "bash"]]
)
def test_help_starts_with_little(arguments: list[str]) -> None:
    """`moor --help` takes 0.12 s of CPU time; numpy alone would take as much, and rich, too."""
    program = (
        "import sys\n"
        f"sys.argv[1:] = {arguments!r}\n"
        "from mooring.cli.entry_point import main\n"
        "try: main()\n"
        "except SystemExit: pass"
    )
    found = imported_by(program)
    heavy = {"aiohttp", "numpy", "rich", "starlette", "uvicorn", "yaml", "markdown_it"}
    assert found.isdisjoint(heavy)
    assert len(found) < 400


@pytest.mark.parametrize("module", ["mooring.testing", "mooring.cli.main"])
def test_what_starts_often_starts_without_the_server(module: str) -> None:
    heavy = {"aiohttp", "uvicorn", "starlette", "cryptography", "matplotlib"}
    assert imported_with(module).isdisjoint(heavy)


#: What a scheduler with the default configuration never needs, and a few need soon. Whoever needs
#: it imports it then; each costs 10 to 100 ms, and the first pod waits for all of them.
NOT_AT_THE_START = {
    "aiohttp": "for a proxy, an extender or an address that has to be quoted",
    "mooring.kube.sessions.aiohttp_session": "the same",
    "mooring.extender.client": "for an extender",
    "mooring.cel.compiler": "for a selector of devices",
    "mooring.embedded": "for an embedded cluster",
    "mooring.explaining": "for explanations",
    "mooring.simulator": "for simulations",
    "cryptography": "for certificates that are made here",
    "rich": "for tables",
}
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: here, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: here, context: {cluster: here, user: me}}]
users: [{name: me, user: {token: t}}]
"""


def test_a_scheduler_starts_without_what_few_configurations_need(tmp_path: Path) -> None:
    """All that `moor run` makes before it asks the API server, with the default configuration."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)
    program = f"""
import asyncio, pathlib, mooring.cli.run, mooring.live.run
from mooring.live.assembly import assembled
from mooring.live.options import RunOptions, read_settings

async def main():
    settings = read_settings(RunOptions(kubeconfig=pathlib.Path({str(kubeconfig)!r})))
    async with assembled(settings):
        pass

asyncio.run(main())
"""
    found = imported_by(program)
    assert "mooring.plugins.devices.dynamic_resources" in found
    assert found.isdisjoint(NOT_AT_THE_START)
    assert len(found) < 950
