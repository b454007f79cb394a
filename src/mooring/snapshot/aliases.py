"""Other words for the words of a cluster, the same for the same, that tell nothing.

Every word of a name becomes the letter ``x`` and eight characters of a keyed hash, so that names
which are put together from other names still are, and names that share a beginning still do. Called
by `redaction`, which knows what is a name; keeps what it gave out so that tests can take it back.
"""

import base64
import hashlib
import re
from typing import Final

from mooring.model.devices.device_class import DEVICE_CLASS_PREFIX
from mooring.model.label_syntax import is_label_key
from mooring.model.resource_names import is_extended
from mooring.snapshot.well_known_names import (
    DEFAULT_SCHEDULER,
    DRIVERS,
    is_well_known,
    is_well_known_resource,
)

_WORD: Final = re.compile(r"[A-Za-z0-9]+")
_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_WORD_BYTES, _TEXT_BYTES = 5, 10
_LABEL_CHARACTERS: Final = 63
#: Zones of a volume stand in one label value, with this between them.
_ZONES_APART: Final = "__"
_OF_DRIVERS: Final = "attachable-volumes-csi-"
#: What kube-scheduler looks at in the name of a resource.
_RESOURCE_PREFIXES: Final = (
    _OF_DRIVERS, DEVICE_CLASS_PREFIX, "attachable-volumes-", "hugepages-", "requests."
)  # fmt: skip
_KUBERNETES: Final = "kubernetes.io/"
#: Words that every cluster has, and words by which volumes are recognised.
_KNOWN_WORDS: Final = frozenset(
    (
        "default", "kube", "system", "public", "node", "lease", "cluster", "critical", "uid",
        "true", "false", "yes",
        "aws", "vol", "projects", "UNSPECIFIED", "zones", "regions", "disks", "rbd",
    )
)  # fmt: skip


class Aliases:
    """Gives out aliases; the same key gives the same ones.

    Args:
        key: a secret that nobody who gets the aliases has; up to 64 bytes.

    Attributes:
        originals: what each alias given out so far stands for.
        named: the new name of what is no object, or may be none: by what it is (``Namespace``,
            ``Key``, ``Value``, ``Image``, ``Resource``, ``CSIDriver``, ``Scheduler``) and its old
            name. What keeps its name is not in it.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._known: dict[tuple[str, int], str] = {}
        self.originals: dict[str, str] = {}
        self.named: dict[tuple[str, str], str] = {}

    def name(self, text: str) -> str:
        """Another name for an object; what stands between words stays."""
        if not text.isascii():
            return self.text(text)
        return _WORD.sub(lambda found: self._word(found[0]), text)

    def text(self, text: str) -> str:
        """A word for a whole text."""
        return self._hash(text, _TEXT_BYTES) if text else ""

    def namespace(self, name: str) -> str:
        """Another name for a namespace: as the value of the label that namespaces have."""
        return self._named("Namespace", name, self._label_value(name))

    def label_value(self, value: str) -> str:
        """Another value for a label or a taint, of no more than the 63 characters it may have."""
        return self._named("Value", value, self._label_value(value))

    def node_label_value(self, value: str) -> str:
        """Another value for a label of a node or volume; whole numbers stay: they are compared."""
        alias = _ZONES_APART.join(
            part if _WHOLE_NUMBER.fullmatch(part) else self._label_part(part)
            for part in value.split(_ZONES_APART)
        )
        return self._named("Value", value, alias)

    def label_key(self, key: str) -> str:
        """Another key for a label, a taint or an annotation; well-known keys stay."""
        if is_well_known(key):
            return key
        alias = self.name(key)
        return self._named("Key", key, alias if is_label_key(alias) else self.text(key))

    def image(self, name: str) -> str:
        """Another name for an image on a node; with a tag, so that nobody adds one."""
        return self._named("Image", name, f"{self.text(name)}:x") if name else ""

    def resource(self, name: str) -> str:
        """Another name for a resource, which is counted as before; well-known ones stay."""
        if is_well_known_resource(name):
            return name
        prefix = next((one for one in _RESOURCE_PREFIXES if name.startswith(one)), "")
        rest = name.removeprefix(prefix)
        if prefix == _OF_DRIVERS:
            return prefix + self.driver(rest)
        before, own, after = rest.partition(_KUBERNETES)
        alias = prefix + self.name(before) + own + self.name(after)
        if is_extended(alias) != is_extended(name):  # its new parts are too long
            alias = f"{self.text(name)}.x/{self.text(name)}"
        return self._named("Resource", name, alias)

    def driver(self, name: str) -> str:
        """Another name for a storage driver; those that plugins know by name stay."""
        if name in DRIVERS:
            return name
        before, own, after = name.partition(_KUBERNETES)
        return self._named("CSIDriver", name, self.name(before) + own + self.name(after))

    def scheduler(self, name: str) -> str:
        """Another name for a scheduler; the default one's stays."""
        if name in ("", DEFAULT_SCHEDULER):
            return name
        return self._named("Scheduler", name, self.name(name))

    def _named(self, what: str, name: str, alias: str) -> str:
        if alias != name:
            self.named[what, name] = alias
        return alias

    def _label_value(self, value: str) -> str:
        return _ZONES_APART.join(map(self._label_part, value.split(_ZONES_APART)))

    def _label_part(self, part: str) -> str:
        alias = self.name(part)
        return alias if len(alias) <= _LABEL_CHARACTERS else self.text(part)

    def _word(self, word: str) -> str:
        return word if word in _KNOWN_WORDS else self._hash(word, _WORD_BYTES)

    def _hash(self, text: str, size: int) -> str:
        alias = self._known.get((text, size))
        if alias is None:
            digest = hashlib.blake2b(text.encode(), digest_size=size, key=self._key).digest()
            # A letter in front: no alias may look like a number.
            alias = "x" + base64.b32encode(digest).decode().lower()
            self._known[text, size] = alias
            self.originals[alias] = text
        return alias
