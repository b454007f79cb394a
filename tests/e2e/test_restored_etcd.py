"""An informer while etcd is restored from a backup under the real API server."""

import asyncio
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mooring.kube.client import Client
from mooring.kube.config import load_kubeconfig
from mooring.kube.informer import Informer
from mooring.kube.resources import reflector_for
from mooring.model.change import Change, Gone, Put
from mooring.model.kinds import BY_NAME
from mooring.model.node import Node
from mooring.testing.real_kubernetes import ControlPlane

pytestmark = pytest.mark.kube


class Backups:
    """Cold backups of a control plane's etcd, for the time of which nothing runs."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._data = plane.folder / "etcd"
        self._copy = plane.folder / "backup"

    def take(self) -> None:
        self._stop()
        shutil.copytree(self._data, self._copy)
        self._start()

    def restore(self) -> None:
        self._stop()
        shutil.rmtree(self._data)
        shutil.copytree(self._copy, self._data)
        self._start()

    def _stop(self) -> None:
        self._plane.stop_apiserver()
        self._plane.stop_etcd()

    def _start(self) -> None:
        self._plane.start_etcd()
        self._plane.start_apiserver()


class View:
    """The nodes as an informer's changes alone say."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self._bell = asyncio.Event()

    def on_changes(self, changes: list[Change[Node]]) -> None:
        for change in changes:
            if isinstance(change, Put):
                self.nodes[change.object.name] = change.object
            else:
                assert isinstance(change, Gone)
                del self.nodes[change.object.name]
        self._bell.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(180):
            while not condition():
                self._bell.clear()
                await self._bell.wait()

    @property
    def marks(self) -> dict[str, str]:
        return {name: node.labels.get("mark", "") for name, node in self.nodes.items()}


def test_the_restored_state_counts_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("mooring.kube.stalls.SILENCE_SECONDS", 2.0)

    def mark(plane: ControlPlane, name: str, text: str) -> Any:
        body = {"metadata": {"labels": {"mark": text}}}
        return plane.request(
            "PATCH", plane.path("Node", name), body, content_type="application/merge-patch+json"
        )

    async def main(plane: ControlPlane) -> None:
        backups, view = Backups(plane), View()
        plane.create_node("stays", labels={"mark": "old"})
        plane.create_node("comes-back")
        async with Client(load_kubeconfig(plane.kubeconfig)) as client:
            source = reflector_for(client, BY_NAME["Node"], Node.from_json)
            informer = Informer(source, view.on_changes)
            task = asyncio.create_task(informer.run())
            await view.until(lambda: len(view.nodes) == 2)
            await asyncio.to_thread(backups.take)
            for number in range(20):
                mark(plane, "stays", f"new-{number}")
            plane.delete("Node", "comes-back")
            plane.create_node("is-lost")
            await view.until(lambda: view.marks == {"stays": "new-19", "is-lost": ""})
            newest = source._state.newest
            await asyncio.to_thread(backups.restore)
            await view.until(lambda: view.marks == {"stays": "old", "comes-back": ""})
            mark(plane, "stays", "after")
            await view.until(lambda: view.marks["stays"] == "after")
            assert source._state.newest < newest
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    with ControlPlane(tmp_path) as plane:
        asyncio.run(main(plane))
    errors = [one.getMessage() for one in caplog.records if one.levelno == logging.ERROR]
    assert len(errors) == 1
    assert errors[0].startswith("The resourceVersion of /api/v1/nodes went back from ")
