"""Bindings whose answer is lost, and victims that are gone before they are deleted."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.errors import ApiError, KubeError
from mooring.framework.binding import Binding
from mooring.live.binder import Binder
from mooring.model.pod import Pod
from mooring.scheduler.effects import PreemptVictims
from mooring.testing import make_pod


class FakeClient:
    """Answers a binding with an error, and questions about the pod with what is prepared."""

    def __init__(self, error: KubeError, *answers: Pod | KubeError) -> None:
        self._error = error
        self._answers = list(answers)
        self.pauses: list[float] = []
        self.writes = 0

    async def bind(self, *args: Any) -> None:
        raise self._error

    async def get(self, path: str, type_: type[Pod]) -> Pod:
        assert path == "/api/v1/namespaces/default/pods/p"
        assert self.writes == 1  # it is in doubt
        answer = self._answers.pop(0)
        if isinstance(answer, KubeError):
            raise answer
        return answer

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def create(self) -> None:
        """Bind the pod ``p`` to the node ``a``; every answer must have been asked for."""
        pod = made()
        parts: Any = self
        binder = Binder(parts, parts, parts, parts, sleep=self.sleep)
        binding = Binding(namespace="default", name="p", uid=pod.uid, node_name="a")
        asyncio.run(binder._create(binding))

    @property
    def asked_all(self) -> bool:
        return not self._answers


def made(node: str = "", uid: str = "one") -> Pod:
    pod = make_pod("p", node=node)
    return replace(pod, metadata=replace(pod.metadata, uid=uid))


BROKEN = KubeError("the connection broke")
AWAY = KubeError("nobody answers")
BUSY = ApiError("not ready yet", status=403, reason="Forbidden")


@pytest.mark.parametrize(
    "error", [BROKEN, ApiError("", status=504, reason="Timeout"), ApiError("", status=409)]
)
def test_a_lost_answer_may_have_been_a_yes(error: KubeError) -> None:
    client = FakeClient(error, made("a"))
    client.create()
    assert client.asked_all


def test_it_asks_until_the_api_server_is_back() -> None:
    client = FakeClient(BROKEN, AWAY, AWAY, BUSY, made("a"))
    client.create()
    assert client.asked_all
    assert len(client.pauses) == 4
    assert client.pauses == sorted(client.pauses)


@pytest.mark.parametrize(
    "found", [made(), made("b"), made("a", uid="another"), ApiError("", status=404)]
)
def test_a_pod_that_is_not_there_was_not_bound(found: Pod | ApiError) -> None:
    client = FakeClient(BROKEN, AWAY, found)
    with pytest.raises(KubeError, match="the connection broke"):
        client.create()
    assert client.asked_all


def test_a_clear_no_is_not_asked_about() -> None:
    with pytest.raises(ApiError, match="may not"):
        FakeClient(ApiError("may not", status=403)).create()


def test_it_asks_for_as_long_as_it_takes() -> None:
    """A guess could give the pod's place to another."""
    client = FakeClient(BROKEN, *[AWAY] * 1000, made("a"))
    client.create()
    assert client.asked_all
    assert max(client.pauses) == client.pauses[-1] == 5.0


class Deleting:
    """Rejects to delete one pod, and notes for which ones that was asked."""

    def __init__(self, name: str, status: int) -> None:
        self._name, self._status = name, status
        self.deleted: list[str] = []
        self.told: list[str] = []

    async def patch_pod_status(self, *args: Any, **more: Any) -> None:
        pass

    async def delete_pod(self, namespace: str, name: str, uid: str) -> None:
        if name == self._name:
            raise ApiError("no", status=self._status)
        self.deleted.append(name)

    def record(self, regarding: Any, *more: Any, **rest: Any) -> None:
        self.told.append(regarding.name)


@pytest.mark.parametrize(("status", "failed"), [(404, False), (409, False), (403, True)])
def test_a_victim_that_is_gone_is_no_failure(status: int, failed: bool) -> None:
    """409 says that another pod has its name by now."""
    client: Any = Deleting("one", status)
    binder = Binder(client, client, client, client)
    victims = (make_pod("one"), make_pod("two"))
    effect = PreemptVictims(victims, make_pod("vip"), "a", "default-scheduler")
    report = asyncio.run(binder.preempt(effect))
    assert (client.deleted, client.told) == (["two"], ["two"])
    assert bool(report.error) is failed


class Slow(Deleting):
    """Deletes nobody before all are to be deleted."""

    def __init__(self, victims: int) -> None:
        super().__init__("", 0)
        self._all = asyncio.Barrier(victims)

    async def delete_pod(self, namespace: str, name: str, uid: str) -> None:
        await self._all.wait()
        self.deleted.append(name)


def test_victims_are_deleted_at_the_same_time() -> None:
    """One after the other, the first would wait for the others for ever."""
    client: Any = Slow(20)
    binder = Binder(client, client, client, client)
    victims = tuple(make_pod(f"victim-{number}") for number in range(20))
    effect = PreemptVictims(victims, make_pod("vip"), "a", "default-scheduler", "Mine")
    report = asyncio.run(binder.preempt(effect))
    assert report.error == ""
    assert sorted(client.deleted) == sorted(client.told) == sorted(one.name for one in victims)
