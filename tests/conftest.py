"""Fixtures for all tests, and the rule for tests marked `kube`.

Those need the real binaries. Without them they are left out and one line of the summary says so;
where the environment has CI=true they fail instead.
"""

import os
import re
import signal
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from mooring.testing.real_kubernetes import (
    BaseControlPlane,
    Binaries,
    ControlPlane,
    MissingBinaries,
    find_binaries,
)
from tests.e2e.control_planes import CONTROL_PLANES, REAL, make_control_plane

# A busy machine makes examples slow and nothing wrong: neither running nor drawing them is timed.
settings.register_profile(
    "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("patient")

# A shell starts its background jobs with SIGINT ignored, and a process hands that on to its
# children, which could not be told to end then.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Several processes of tests are told the width of the terminal; output that is captured has none.
os.environ.pop("COLUMNS", None)

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


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """One of several processes is done; all of them left out the same tests."""
    left_out = getattr(node, "workeroutput", {}).get("left_out")
    if left_out is not None:
        node.config.stash[_left_out], node.config.stash[_missing] = left_out


def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    output: dict[str, object] | None = getattr(config, "workeroutput", None)
    if output is not None and _left_out in config.stash:
        output["left_out"] = [config.stash[_left_out], config.stash[_missing]]


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


@pytest.fixture(autouse=True)
def own_log_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that are called in this process set it, and programs that it starts inherit it."""
    monkeypatch.delenv("LOG_LEVEL", raising=False)


@pytest.fixture(autouse=True)
def own_signal_handlers() -> Iterator[None]:
    """Two schedulers in one process do not put handlers back in the order they took them."""
    handlers = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def binaries() -> Binaries:
    """The real Kubernetes programs."""
    return find_binaries()


@pytest.fixture(scope="session")
def control_plane(binaries: Binaries) -> Iterator[ControlPlane]:
    """One control plane for the whole session; a test removes the nodes it creates."""
    with ControlPlane() as plane:
        yield plane


@pytest.fixture(scope="session", params=CONTROL_PLANES)
def plane(request: pytest.FixtureRequest) -> Iterator[BaseControlPlane]:
    """An API server for the whole session, each test on both; it removes the nodes it creates."""
    if request.param == REAL:
        yield request.getfixturevalue("control_plane")
        return
    with make_control_plane(request.param) as running:
        yield running


@pytest.fixture(params=CONTROL_PLANES)
def own_plane(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseControlPlane]:
    """An audited API server of the test's own, each test on both."""
    with make_control_plane(request.param, tmp_path, audited=True) as running:
        yield running


@pytest.fixture
def namespace(request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of the test's own, removed afterwards with all that is in it."""
    # On the API server that the test asks for, be it both or the real one.
    used = "plane" if "plane" in request.fixturenames else "control_plane"
    plane: BaseControlPlane = request.getfixturevalue(used)
    readable = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower().removeprefix("test_"))
    unique = zlib.crc32(request.node.nodeid.encode())
    name = f"{readable[:40].strip('-')}-{unique:08x}"
    plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    plane.delete_namespace(name)
