"""A hook that does not return on a test's cluster: it is named, and the test goes on."""

import threading
from collections.abc import Iterator

import pytest

import mooring as mr
from mooring.testing import cluster
from mooring.testing.child_process import WaitError


class Gate:
    """Where a hook waits until the test is over."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.thread: threading.Thread | None = None

    def wait(self) -> None:
        self.thread = threading.current_thread()
        self.open.wait()


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.open.set()


def hanging(gate: Gate) -> mr.Policy:
    policy = mr.Policy("hanging")

    @policy.filter
    def stuck(pod: mr.Pod, node: mr.Node) -> bool:
        if pod.name == "bad":
            gate.wait()
        return True

    return policy


def test_a_wait_names_who_holds_everything_up(gate: Gate) -> None:
    with cluster(2, policy=hanging(gate), hook_timeout=0.05) as c:
        c.create_pod("bad")
        with pytest.raises(WaitError) as error:
            c.wait_unschedulable("bad", timeout=600)
        text = str(error.value)
        assert " waiting for pod default/bad to be unschedulable: " in text
        assert "plugin hanging in filter 'stuck' for pod default/bad has not returned for" in text
        assert f"at {__file__}:" in text
        with pytest.raises(WaitError, match="plugin hanging in filter 'stuck'"):
            c.wait_for(lambda: None, "anything", timeout=600)
        assert c.pod("bad").node_name == ""  # the API server answers all the same


def test_a_wait_that_ends_before_the_limit_names_it_as_well(gate: Gate) -> None:
    with cluster(1, policy=hanging(gate), hook_timeout=600) as c:
        c.create_pod("bad")
        c.wait_for(lambda: gate.thread is not None, "the hook")
        with pytest.raises(WaitError) as error:
            c.wait_scheduled("bad", timeout=0.05)
        assert "timed out after 0.05 seconds waiting for pod default/bad to be bound: " in str(
            error.value
        )
        assert "plugin hanging in filter 'stuck' for pod default/bad has not" in str(error.value)


def test_the_block_ends_without_a_hook_that_never_returns(
    gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    with cluster(1, policy=hanging(gate), hook_timeout=600) as c:
        c.create_pod("bad")
        c.wait_for(lambda: gate.thread is not None, "the hook")
    assert gate.thread is not None
    assert gate.thread.is_alive()
    assert "plugin hanging in filter 'stuck' for pod default/bad" in caplog.text
    assert "left behind" in caplog.text


def test_a_hook_that_computes_for_ever_ends_with_the_block() -> None:
    policy = mr.Policy("busy")
    threads: list[threading.Thread] = []

    @policy.filter
    def spins(pod: mr.Pod, node: mr.Node) -> bool:
        threads.append(threading.current_thread())
        while True:
            pass

    with cluster(1, policy=policy, hook_timeout=0.05) as c:
        c.create_pod("p")
        with pytest.raises(WaitError, match="plugin busy in filter 'spins'"):
            c.wait_scheduled("p", timeout=600)
    threads[0].join(60)
    assert not threads[0].is_alive()


def test_a_hook_that_takes_its_time_is_not_blamed(gate: Gate) -> None:
    with cluster(1, policy=hanging(gate), hook_timeout=600) as c:
        c.create_pod("bad")
        c.wait_for(lambda: gate.thread is not None, "the hook")
        gate.open.set()
        assert c.wait_scheduled("bad", timeout=600) == "node-1"
