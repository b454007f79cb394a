"""Bindings whose answer is lost; nothing here waits for real time."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.errors import ApiError, ConfigError, KubeError
from mooring.kube.binding import AWAY_SECONDS, ENDLESS_PAUSES, create_binding
from mooring.kube.client import Client
from mooring.kube.cluster_config import ClusterConfig
from mooring.model.pod import Pod
from mooring.testing import make_pod
from mooring.testing.real_kubernetes import free_port


@dataclass
class Wanted:
    namespace: str = "default"
    name: str = "p"
    uid: str = "one"
    node_name: str = "a"
    annotations: Mapping[str, str] = field(default_factory=dict)


class FakeClient:
    """Answers a binding with an error, and questions about the pod with what is prepared."""

    def __init__(self, error: KubeError | None, *answers: Pod | KubeError) -> None:
        self._error = error
        self.answers = list(answers)
        self.bindings: list[tuple[object, ...]] = []
        self.pauses: list[float] = []
        self.doubts: list[KubeError] = []

    async def bind(self, *args: object) -> None:
        self.bindings.append(args)
        if self._error is not None:
            raise self._error

    async def get(self, path: str, type_: type[Pod]) -> Pod:
        assert path == "/api/v1/namespaces/default/pods/p"
        answer = self.answers.pop(0)
        if isinstance(answer, KubeError):
            raise answer
        return answer

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def create(self, wanted: Wanted | None = None, pauses: Iterable[float] = AWAY_SECONDS) -> None:
        client: Any = self
        asyncio.run(
            create_binding(
                client,
                wanted or Wanted(),
                pauses=pauses,
                sleep=self.sleep,
                in_doubt=self.doubts.append,
            )
        )


def made(node: str = "", uid: str = "one") -> Pod:
    pod = make_pod("p", node=node)
    return replace(pod, metadata=replace(pod.metadata, uid=uid))


BROKEN = KubeError("the connection broke")
AWAY = KubeError("nobody answers")
BUSY = ApiError("not ready yet", status=403, reason="Forbidden")


def test_a_yes_is_not_asked_about() -> None:
    client = FakeClient(None)
    client.create(Wanted(annotations={"gpu": "3"}))
    assert client.bindings == [("default", "p", "one", "a", {"gpu": "3"})]
    assert client.doubts == []


@pytest.mark.parametrize("error", [ApiError("may not", status=403), ConfigError("may not")])
def test_a_clear_no_is_not_asked_about(error: KubeError) -> None:
    client = FakeClient(error)
    with pytest.raises(KubeError, match="may not"):
        client.create()
    assert client.doubts == []


def test_what_was_never_sent_is_not_asked_about() -> None:
    async def main() -> None:
        doubts: list[KubeError] = []
        config = ClusterConfig(server=f"http://127.0.0.1:{free_port()}", source="the test")
        async with Client(config) as client:
            with pytest.raises(KubeError):
                await create_binding(client, Wanted(), in_doubt=doubts.append)
        assert doubts == []

    asyncio.run(main())


@pytest.mark.parametrize("error", [BROKEN, *[ApiError("", status=one) for one in (408, 409, 504)]])
@pytest.mark.parametrize("uid", ["one", ""])
def test_a_lost_answer_may_have_been_a_yes(error: KubeError, uid: str) -> None:
    client = FakeClient(error, made("a"))
    client.create(Wanted(uid=uid))
    assert client.answers == []
    assert client.doubts == [error]


def test_it_asks_until_the_api_server_is_back() -> None:
    client = FakeClient(BROKEN, AWAY, AWAY, BUSY, made("a"))
    client.create()
    assert client.answers == []
    assert client.pauses == [0.2, *AWAY_SECONDS[:3]]


@pytest.mark.parametrize(
    "found", [made(), made("b"), made("a", uid="another"), ApiError("", status=404)]
)
def test_a_pod_that_is_not_there_was_not_bound(found: Pod | ApiError) -> None:
    client = FakeClient(BROKEN, AWAY, found)
    with pytest.raises(KubeError, match="the connection broke"):
        client.create()
    assert client.answers == []


def test_it_asks_as_long_as_it_should() -> None:
    client = FakeClient(BROKEN, *[AWAY] * 1000)
    with pytest.raises(KubeError, match="nobody answers"):
        client.create()
    assert client.pauses == [0.2, *AWAY_SECONDS]
    client = FakeClient(BROKEN, *[AWAY] * 1000, made("a"))
    client.create(pauses=ENDLESS_PAUSES)
    assert client.pauses == [0.2, *islice(ENDLESS_PAUSES, 1000)]
