"""Whatever clients send, the embedded API server accepts or rejects it; it never breaks.

Manifests of all kinds are changed at random places: odd values, missing and doubled parts.
"""

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mooring.embedded.api import WriteOptions
from mooring.embedded.patches.patch import APPLY, MERGE, STRATEGIC, Patch
from mooring.embedded.resources import BY_KIND, Resource
from mooring.embedded.status_errors import StatusError
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.tables.tables import table
from tests.e2e.real_and_embedded import read_objects
from tests.unit.embedded.fake_api_server import FakeApiServer

STEPS = 1500
ODD: tuple[Any, ...] = (
    None, "", "x", 0, -1, 1, 2**31, 2**63, 2**70, 1.5, True, False, [], {}, [None], [{}],
    {"a": None}, "-", "a" * 300, "1Gi", "1e400", "-5", "0.0000001", "2026-01-01T00:00:00Z",
    "ä", "\u0000", "100%", "In", ["a", "a"], {"": ""}, {"a": "b"},
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, part in value.items():
            yield from places(part, (*path, key))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from places(part, (*path, number))


def changed(rng: random.Random, obj: dict[str, Any]) -> dict[str, Any]:
    """The object with one to three faults."""
    obj = copy.deepcopy(obj)
    for _ in range(rng.randint(1, 3)):
        found = [one for one in places(obj) if one[0] not in ("kind", "apiVersion")]
        if not found:
            break
        *way, last = rng.choice(found)
        part: Any = obj
        for step in way:
            part = part[step]
        action = rng.random()
        if action < 0.25 and isinstance(part, dict):
            del part[last]
        elif action < 0.35 and isinstance(part, list):
            part.append(copy.deepcopy(part[last]))
        else:
            part[last] = copy.deepcopy(rng.choice(ODD))
    return obj


class Client:
    """Sends random things and counts what comes of them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.manifests = [
            json.loads(json.dumps(one, default=str).replace("NAMESPACE", "default"))
            for one in read_objects().values()
        ]
        self.server = FakeApiServer()
        self.accepted = 0
        self.rejected = 0
        self.silent = 0

    def step(self) -> None:
        rng = self.rng
        manifest = rng.choice(self.manifests)
        resource = BY_KIND[manifest["apiVersion"], manifest["kind"]]
        namespace = "default" if resource.namespaced else ""
        if "create" not in resource.verbs or "get" not in resource.verbs:
            return
        wanted = changed(rng, manifest) if rng.random() < 0.8 else copy.deepcopy(manifest)
        write = WriteOptions(validation=rng.choice(("Ignore", "Warn", "Strict")))
        self.send(lambda: self.server.api.create(resource, wanted, namespace, write))
        items = self.server.store.all(resource, namespace)
        if items:
            self.change(resource, namespace, rng.choice(items), manifest, items)

    def change(
        self,
        resource: Resource,
        namespace: str,
        item: StoredObject,
        manifest: dict[str, Any],
        items: list[StoredObject],
    ) -> None:
        rng, api, name = self.rng, self.server.api, item.name
        part = rng.choice(("", "status")) if "status" in resource.subresources else ""
        action = rng.random()
        if action < 0.3:
            obj = changed(rng, item.obj)
            self.send(lambda: api.update(resource, obj, namespace, name, subresource=part))
        elif action < 0.55:
            obj = changed(rng, item.obj)
            some = {key: obj[key] for key in rng.sample(sorted(obj), min(2, len(obj)))}
            patch = Patch(rng.choice((MERGE, STRATEGIC)), json.dumps(some).encode())
            self.send(lambda: api.patch(resource, namespace, name, patch, subresource=part))
        elif action < 0.75:
            obj = changed(rng, manifest)
            if isinstance(obj.get("metadata"), dict):
                obj["metadata"]["name"] = name
            patch = Patch(APPLY, json.dumps(obj).encode())
            write = WriteOptions(force=rng.random() < 0.5)
            self.send(lambda: api.patch(resource, namespace, name, patch, write=write))
        elif action < 0.85:
            options = {"propagationPolicy": rng.choice((None, "Foreground", "Orphan"))}
            self.send(lambda: api.delete(resource, namespace, name, options))
        else:
            table(resource, [one.obj for one in items], self.server.now, "Metadata", "1", {})

    def send(self, request: Callable[[], object]) -> None:
        try:
            request()
        except StatusError as rejected:
            self.rejected += 1
            self.silent += not rejected.status["message"]
        else:
            self.accepted += 1


@pytest.mark.parametrize("seed", range(4))
def test_nothing_that_a_client_sends_breaks_it(seed: int) -> None:
    client = Client(seed)
    for _ in range(STEPS):
        client.step()
    assert client.silent == 0
    # Both happen, so that both ways are walked.
    assert client.accepted > STEPS / 10
    assert client.rejected > STEPS / 10
