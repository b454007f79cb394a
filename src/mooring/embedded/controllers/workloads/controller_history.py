"""ControllerRevisions: the templates a StatefulSet or DaemonSet had, for rolling back.

parity v1.36.4: pkg/controller/history
"""

from typing import Final

import msgspec

from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.owner_references import controller_ref, controller_uid
from mooring.embedded.controllers.workloads.controller_utils import deep_copy
from mooring.embedded.controllers.workloads.pod_templates import template_hash
from mooring.embedded.resources import CONTROLLER_REVISIONS, Obj

#: On pods: the revision they were made of.
REVISION_LABEL: Final = "controller-revision-hash"


class Revision(msgspec.Struct, frozen=True):
    """One revision: its name, the hash in it, its number and its template."""

    name: str
    digest: str
    number: int
    template: Obj


class ControllerHistory:
    """The revisions of owners of one kind.

    Args:
        client: reads and writes them.
    """

    def __init__(self, client: ControllerClient) -> None:
        self._client = client
        self._known: dict[str, tuple[int, Revision]] = {}

    def current(self, owner: Obj) -> Revision:
        """The revision of an owner's present template; it is made if there is none."""
        metadata = owner["metadata"]
        known = self._known.get(metadata["uid"])
        if known is not None and known[0] == metadata.get("generation"):
            return known[1]
        template = owner["spec"]["template"]
        digest = template_hash(template)
        name = f"{metadata['name'][:200]}-{digest}"
        revisions = self.all(owner)
        latest = max((one.number for one in revisions), default=0)
        found = next((one for one in revisions if one.name == name), None)
        if found is None:
            found = self._create(owner, name, digest, latest + 1)
        elif found.number < latest:
            found = self._renumber(owner, found, latest + 1)
        self._known[metadata["uid"]] = (metadata.get("generation", 0), found)
        return found

    def find(self, owner: Obj, name: str) -> Revision | None:
        """A revision by name."""
        item = self._client.store.get(CONTROLLER_REVISIONS, owner["metadata"]["namespace"], name)
        return _read(item.obj) if item is not None else None

    def all(self, owner: Obj) -> list[Revision]:
        """All revisions of an owner."""
        metadata = owner["metadata"]
        there = self._client.store.all(CONTROLLER_REVISIONS, metadata["namespace"])
        objs = (item.obj for item in there if item.name.startswith(f"{metadata['name'][:200]}-"))
        return [_read(obj) for obj in objs if controller_uid(obj) == metadata["uid"]]

    def forget(self, uid: str) -> None:
        """An owner is gone."""
        self._known.pop(uid, None)

    def prune(self, owner: Obj, used: set[str]) -> None:
        """Delete the oldest revisions that no pod was made of, beyond the number to keep."""
        limit = owner["spec"].get("revisionHistoryLimit", 10)
        spare = [one for one in self.all(owner) if one.name not in used]
        spare.sort(key=lambda one: one.number)
        for one in spare[: max(len(spare) - limit, 0)]:
            self._client.delete(CONTROLLER_REVISIONS, owner["metadata"]["namespace"], one.name)

    def _create(self, owner: Obj, name: str, digest: str, number: int) -> Revision:
        template = owner["spec"]["template"]
        labels = (template.get("metadata") or {}).get("labels") or {}
        obj = {
            "kind": "ControllerRevision",
            "apiVersion": CONTROLLER_REVISIONS.api_version,
            "metadata": {
                "name": name,
                "labels": {**labels, REVISION_LABEL: digest},
                "ownerReferences": [controller_ref(owner)],
            },
            "data": {"spec": {"template": {**deep_copy(template), "$patch": "replace"}}},
            "revision": number,
        }
        namespace = owner["metadata"]["namespace"]
        return _read(self._client.create(CONTROLLER_REVISIONS, obj, namespace).obj)

    def _renumber(self, owner: Obj, found: Revision, number: int) -> Revision:
        """An old template is the newest again: it was rolled back to."""
        namespace = owner["metadata"]["namespace"]
        item = self._client.store.get(CONTROLLER_REVISIONS, namespace, found.name)
        if item is None:
            return found
        obj = item.obj
        obj["revision"] = number
        return _read(self._client.update(CONTROLLER_REVISIONS, obj).obj)


def _read(obj: Obj) -> Revision:
    template = dict(((obj.get("data") or {}).get("spec") or {}).get("template") or {})
    template.pop("$patch", None)
    labels = obj["metadata"].get("labels") or {}
    name = obj["metadata"]["name"]
    digest = labels.get(REVISION_LABEL) or name.rpartition("-")[2]
    return Revision(name, digest, int(obj.get("revision") or 0), template)
