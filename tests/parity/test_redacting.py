"""A redacted cluster is decided about as before: some of the vectors' cases, name by name."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring.explaining.aliases import Aliases
from mooring.explaining.explainer import Explainer
from mooring.explaining.reading import Reader
from mooring.explaining.redacting import _struct_rule, redact
from mooring.explaining.snapshot import Snapshot
from mooring.model.kinds import KINDS
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.model.selectors import NodeAffinity
from tools.parity import VECTORS, read_cases

FILES = sorted(VECTORS.glob("*.ndjson.gz"))
EVERY = 6
ALIAS = re.compile(r"x[a-z2-7]{16}|x[a-z2-7]{8}")


def written_and_read(thing: KubeObject) -> Any:
    return type(thing).from_json(msgspec.json.encode(thing.raw), keep_source=False)


def redacted_config(config: Any, aliases: Aliases) -> Any:
    """A configuration that names labels has to name the new ones."""
    new = json.loads(json.dumps(config))
    for profile in (new or {}).get("profiles", ()):
        for plugin in profile.get("pluginConfig", ()):
            args = plugin.get("args", {})
            if "addedAffinity" in args:
                own = msgspec.convert(args["addedAffinity"], NodeAffinity)
                changed = _struct_rule(NodeAffinity)(aliases, own)
                args["addedAffinity"] = msgspec.to_builtins(changed)
            for constraint in args.get("defaultConstraints", ()):
                constraint["topologyKey"] = aliases.label_key(constraint["topologyKey"])
    return new


def old_names(data: Any, originals: dict[str, str]) -> Any:
    """What was said, with the old names; lists sorted by them."""
    if isinstance(data, str):
        return ALIAS.sub(lambda found: originals.get(found[0], found[0]), data)
    if isinstance(data, list):
        return sorted((old_names(one, originals) for one in data), key=json.dumps)
    if isinstance(data, dict):
        return {old_names(k, originals): old_names(v, originals) for k, v in data.items()}
    return data


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.partition(".")[0])
def test_every_answer_is_the_same(file: Path) -> None:
    compared = 0
    for number, case in enumerate(read_cases(file)):
        if number % EVERY:
            continue
        given = case["case"]
        before, after = Snapshot(), Snapshot()
        Reader(before).all(given["objects"])
        aliases = Aliases(b"secret")
        for kind in KINDS:
            for thing in before.all(kind.type):
                after.add(written_and_read(redact(thing, aliases)))
        pods = [Pod.from_dict(pod) for pod in given["pending"]]
        new_pods = [written_and_read(redact(pod, aliases)) for pod in pods]
        config = given.get("config")
        original = Explainer(before, config, pending=pods)
        redacted = Explainer(after, redacted_config(config, aliases), pending=new_pods)
        for pod, new in zip(pods, new_pods, strict=True):
            expected = old_names(original.record(pod).to_dict(), {})
            found = old_names(redacted.record(new).to_dict(), aliases.originals)
            assert found == expected, f"{given['id']} {pod.key}"
            compared += 1
    assert compared > 50
