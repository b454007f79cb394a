"""A redacted cluster is decided about as before: some of the vectors' cases, name by name."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring.explaining.explainer import Explainer
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.model.kinds import KINDS
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.model.selectors import NodeAffinity
from mooring.snapshot.aliases import Aliases
from mooring.snapshot.object_reader import ObjectReader
from mooring.snapshot.redaction import _struct_rule, redact
from mooring.snapshot.snapshot import Snapshot
from tools.parity import VECTORS, read_cases

FILES = sorted(VECTORS.glob("*.ndjson.gz"))
EVERY = 6
SECRET = "hunter"
ALIAS = re.compile(r"x[a-z2-7]{16}|x[a-z2-7]{8}")


def written_and_read(thing: KubeObject) -> Any:
    return type(thing).from_json(msgspec.json.encode(thing.raw), keep_source=False)


def redacted_config(config: Any, aliases: Aliases) -> Any:
    """A configuration that names labels has to name the new ones."""
    new = json.loads(json.dumps(config))
    for profile in (new or {}).get("profiles", ()):
        if "schedulerName" in profile:
            profile["schedulerName"] = aliases.scheduler(profile["schedulerName"])
        for plugin in profile.get("pluginConfig", ()):
            args = plugin.get("args", {})
            if "addedAffinity" in args:
                own = msgspec.convert(args["addedAffinity"], NodeAffinity)
                changed = _struct_rule(NodeAffinity)(aliases, own)
                args["addedAffinity"] = msgspec.to_builtins(changed)
            for resource in _resource_specs(args):
                resource["name"] = aliases.resource(resource["name"])
            for field, rename in (
                ("ignoredResources", aliases.resource),
                ("ignoredResourceGroups", aliases.name),
            ):
                if field in args:
                    args[field] = [rename(name) for name in args[field]]
            for constraint in args.get("defaultConstraints", ()):
                constraint["topologyKey"] = aliases.label_key(constraint["topologyKey"])
    return new


def _resource_specs(args: dict[str, Any]) -> list[dict[str, Any]]:
    """The resources that arguments of plugins name."""
    strategy = args.get("scoringStrategy") or {}
    return [*(strategy.get("resources") or ()), *(args.get("resources") or ())]


def old_names(data: Any, originals: dict[str, str]) -> Any:
    """What was said, with the old names; lists sorted by them."""
    if isinstance(data, str):
        return ALIAS.sub(lambda found: originals.get(found[0], found[0]), data)
    if isinstance(data, list):
        return sorted((old_names(one, originals) for one in data), key=json.dumps)
    if isinstance(data, dict):
        return {old_names(k, originals): old_names(v, originals) for k, v in data.items()}
    return data


class Planted(Aliases):
    """Aliases that have a secret in every word, to be found again if anything is left of it."""

    def _hash(self, text: str, size: int) -> str:
        alias = SECRET + super()._hash(text, size)
        self.originals[alias] = text
        return alias


def redacted_objects(things: Iterable[KubeObject], aliases: Aliases) -> list[Any]:
    return [written_and_read(redact(thing, aliases)) for thing in things]


def comparable(record: dict[str, Any], objects: Iterable[KubeObject]) -> dict[str, Any]:
    """What does not depend on the order of names.

    kube-scheduler looks for devices in the order of the names of drivers, pools and slices, and
    takes what it finds first. Other names have another order.
    """
    if not any(isinstance(one, ResourceSlice) for one in objects):
        return record
    return {key: record.get(key) for key in ("pod", "preEnqueue", "preFilter")}


def check(case: Mapping[str, Any], plant: Aliases | None = None) -> int:
    """Explain a case before and after redacting; how many pods were compared."""
    given = case["case"]
    reading = Snapshot()
    ObjectReader(reading).read(given["objects"])
    objects: list[KubeObject] = [thing for kind in KINDS for thing in reading.all(kind.type)]
    pods = [Pod.from_dict(pod) for pod in given["pending"]]
    config = given.get("config")
    if plant is not None:
        objects, pods = redacted_objects(objects, plant), redacted_objects(pods, plant)
        config = redacted_config(config, plant)
    aliases = Aliases(b"secret")
    new_objects, new_pods = redacted_objects(objects, aliases), redacted_objects(pods, aliases)
    if plant is not None:
        assert SECRET in json.dumps([one.raw for one in (*objects, *pods)])
        assert SECRET not in json.dumps([one.raw for one in (*new_objects, *new_pods)]).lower()
    original = Explainer(_snapshot(objects), config, pending=pods)
    redacted = Explainer(_snapshot(new_objects), redacted_config(config, aliases), pending=new_pods)
    for pod, new in zip(pods, new_pods, strict=True):
        expected = old_names(original.record(pod).to_dict(), {})
        found = old_names(redacted.record(new).to_dict(), aliases.originals)
        same = comparable(found, objects) == comparable(expected, objects)
        assert same, f"{given['id']} {pod.key}: {found} != {expected}"
    return len(pods)


def _snapshot(objects: Iterable[KubeObject]) -> Snapshot:
    snapshot = Snapshot()
    for thing in objects:
        snapshot.add(thing)
    return snapshot


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.partition(".")[0])
def test_every_answer_is_the_same(file: Path) -> None:
    cases = list(read_cases(file))
    compared = [check(case) for case in cases[::EVERY]]
    assert sum(compared) > 50


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.partition(".")[0])
def test_and_nothing_is_left_of_a_secret_that_stands_everywhere(file: Path) -> None:
    cases = list(read_cases(file))
    compared = [check(case, Planted(b"planted")) for case in cases[1 :: 5 * EVERY]]
    assert sum(compared) > 5
