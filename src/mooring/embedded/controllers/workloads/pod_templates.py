"""Pods made from templates, and the hashes of templates.

Called by every controller that makes pods.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from mooring.embedded.controllers.owner_references import controller_ref
from mooring.embedded.resources import Obj

TEMPLATE_HASH: Final = "pod-template-hash"

_encode: Final = msgspec.json.Encoder(order="sorted").encode
# Kubernetes' alphabet for generated names: no vowels, nothing that looks like another.
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"


def pod_from_template(template: Obj, owner: Obj) -> Obj:
    """A pod as a template has it, controlled by the owner; it has no name yet.

    The parts of the template are shared with the pod, so the template must be the caller's own.
    """
    given = template.get("metadata") or {}
    metadata: Obj = {"ownerReferences": [controller_ref(owner)]}
    for name in ("labels", "annotations", "finalizers"):
        if given.get(name):
            metadata[name] = dict(given[name]) if name != "finalizers" else list(given[name])
    return {
        "kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": template.get("spec") or {},
    }  # fmt: skip


def pod_name_prefix(owner_name: str) -> str:
    """The generateName of a pod made for an owner of this name."""
    return f"{owner_name}-"


def template_hash(template: Obj, collisions: int = 0) -> str:
    """A short text that differs between different templates.

    Args:
        template: the pod template.
        collisions: how often the text turned out to be in use for another template.
    """
    digest = hashlib.sha256(_encode(plain(template)) + str(collisions).encode()).digest()
    number = int.from_bytes(digest[:4], "big")
    # parity v1.36.4: apimachinery/pkg/util/rand SafeEncodeString: digits become letters
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(number))


def same_template(one: Obj, other: Obj) -> bool:
    """Whether two templates make the same pods, whatever their hash label is."""
    return plain(one) == plain(other)


def plain(template: Obj) -> Obj:
    """A template without its hash label and without empty fields."""
    metadata = dict(template.get("metadata") or {})
    labels: Mapping[str, str] = metadata.get("labels") or {}
    metadata["labels"] = {key: value for key, value in labels.items() if key != TEMPLATE_HASH}
    metadata.pop("creationTimestamp", None)
    found: Obj = _trimmed({"metadata": metadata, "spec": template.get("spec") or {}})
    return found


def _trimmed(value: Any) -> Any:
    if isinstance(value, dict):
        inner = {key: _trimmed(one) for key, one in value.items()}
        return {key: one for key, one in inner.items() if one not in (None, [], "")}
    if isinstance(value, list):
        return [_trimmed(one) for one in value]
    return value
