"""Reading Kubernetes objects from parsed data into a `Snapshot`.

Understands what ``kubectl get`` prints: a ``List``, single objects, and lists of one kind as the
API server sends them; and lists of objects by name. `TextReader` reads texts.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from mooring.errors import InputError
from mooring.model.kinds import BY_LIST_NAME, Kind, find_kind
from mooring.model.meta import KubeObject
from mooring.snapshot.snapshot import Snapshot

#: What `explain` takes as a cluster: lists of objects by name (``nodes``, ``pods``, ``pvcs``, ...),
#: or objects, each as parsed JSON or as a model object.
Objects = Mapping[str, object] | Iterable[object]
#: How the kind of a list ends.
LIST: Final = "List"


class ObjectReader:
    """Reads objects into a snapshot.

    Args:
        snapshot: gets the objects, and what could not be read.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def read(self, objects: Objects) -> None:
        """Read whatever a caller of `explain` has.

        Raises:
            InputError: something cannot be used, and the snapshot is strict.
        """
        if not isinstance(objects, Mapping):
            for thing in objects:
                self.read_data(thing)
        elif "kind" in objects:
            self.read_data(objects)
        else:
            self.read_lists(objects)

    def read_data(self, data: object, source: str = "objects") -> None:
        """Read one object: a model object, or parsed data, which may be a list of objects."""
        if isinstance(data, KubeObject):
            self._snapshot.add(data)
            return
        if isinstance(data, list):
            for item in data:
                self.read_data(item, source)
            return
        if not isinstance(data, dict):
            self._skip_unknown(source, f"is {_describe(data)}")
            return
        name, version = data.get("kind"), data.get("apiVersion") or ""
        if not isinstance(name, str) or not isinstance(version, str) or not name:
            self._skip_unknown(source, f"has no kind{_named(data)}")
            return
        kind = find_kind(name, version)
        if kind is not None:
            self._object(kind, data)
        elif name.endswith(LIST) and isinstance(data.get("items"), list | None):
            for item in data.get("items") or ():
                self.read_data(_with_kind(item, name.removesuffix(LIST), version), source)
        else:
            self._snapshot.ignored[name] += 1

    def read_lists(self, lists: Mapping[str, object]) -> None:
        """Read lists of objects by name, such as ``nodes`` or ``pvcs``."""
        for name, items in lists.items():
            kind = BY_LIST_NAME.get(name)
            if kind is None:
                known = ", ".join(BY_LIST_NAME)
                problem = f"there is no list of objects called {name!r}; use one of {known}"
                self._snapshot.skip(str(name), problem)
            elif not isinstance(items, list | tuple):
                if items is not None:
                    self._snapshot.skip(
                        name, f"{name} is {_describe(items)}, not a list of objects"
                    )
            else:
                for item in items:
                    self._object(kind, item)

    def _object(self, kind: Kind, data: object) -> None:
        if isinstance(data, KubeObject):
            self._snapshot.add(data)
            return
        if not isinstance(data, dict):
            problem = f"a {kind.name} is expected among the objects, not {_describe(data)}"
            self._snapshot.skip(kind.name, problem)
            return
        try:
            thing = kind.type.from_dict(data)
        except InputError as error:
            self._snapshot.skip(kind.name, str(error))
        else:
            self._snapshot.add(thing)

    def _skip_unknown(self, source: str, what: str) -> None:
        problem = (
            f"something in {source} {what}; a Kubernetes object has apiVersion, kind, metadata"
        )
        self._snapshot.skip(source, problem)


def _with_kind(item: object, name: str, version: str) -> object:
    # The items of a typed list as the API server sends it have no kind of their own.
    if name and isinstance(item, dict) and not item.get("kind"):
        return {"kind": name, "apiVersion": version, **item}
    return item


def _named(data: Mapping[object, object]) -> str:
    metadata = data.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return f" (metadata.name is {name!r})" if isinstance(name, str) else ""


def _describe(data: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    if data is None:
        return "empty"
    return names.get(type(data), "a number" if isinstance(data, int | float) else "not an object")
