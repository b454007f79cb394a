"""Fixtures for all tests, and the rule for tests marked `kube`.

Those need the real binaries. Without them they are left out and one line of the summary says so;
where the environment has CI=true they fail instead.
"""

import os
import re
import zlib
from collections.abc import Iterator

import pytest

from mooring.testing.kube import Binaries, ControlPlane, MissingBinaries, find_binaries

_missing = pytest.StashKey[str]()
_left_out = pytest.StashKey[int]()


@pytest.hookimpl(trylast=True)  # after -m and -k have chosen
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kube = [item for item in items if item.get_closest_marker("kube")]
    if not kube:
        return
    try:
        find_binaries()
    except MissingBinaries as error:
        config.stash[_missing] = str(error)
    else:
        return
    if os.environ.get("CI") != "true":
        config.stash[_left_out] = len(kube)
        config.hook.pytest_deselected(items=kube)
        items[:] = [item for item in items if not item.get_closest_marker("kube")]


def pytest_runtest_setup(item: pytest.Item) -> None:
    missing = item.config.stash.get(_missing, None)
    if missing is not None and item.get_closest_marker("kube"):
        pytest.fail(missing, pytrace=False)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    count = config.stash.get(_left_out, 0)
    if count:
        terminalreporter.write_line(f"SKIPPED [{count}] kube: {config.stash[_missing]}")


@pytest.fixture(scope="session")
def binaries() -> Binaries:
    """The real Kubernetes programs."""
    return find_binaries()


@pytest.fixture(scope="session")
def control_plane(binaries: Binaries) -> Iterator[ControlPlane]:
    """One control plane for the whole session; a test removes the nodes it creates."""
    with ControlPlane() as plane:
        yield plane


@pytest.fixture
def namespace(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of the test's own, removed afterwards with all that is in it."""
    readable = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower().removeprefix("test_"))
    unique = zlib.crc32(request.node.nodeid.encode())
    name = f"{readable[:40].strip('-')}-{unique:08x}"
    control_plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    control_plane.delete_namespace(name)
