"""One step of a Deployment's rollout: the ReplicaSet for its template, and the sizes of all.

`deployment` calls it for each Deployment that has to be looked at.

parity v1.36.4: pkg/controller/deployment/{sync,rolling,recreate}.go
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from mooring.embedded.controllers import deployment_sizes as sizes
from mooring.embedded.controllers import deployment_status as reports
from mooring.embedded.controllers import moments, revisions
from mooring.embedded.controllers.hand import Hand, controller_reference, controller_uid
from mooring.embedded.controllers.pod_index import PodIndex
from mooring.embedded.controllers.replica_set import is_terminating
from mooring.embedded.controllers.templates import TEMPLATE_HASH, same_template, template_hash
from mooring.embedded.refusals import Refused
from mooring.embedded.resources import DEPLOYMENTS, REPLICA_SETS, Obj

_SET_REASON: Final = "ReplicaSetCreateError"
_EXISTS: Final = "AlreadyExists"
_LONGEST_NAME: Final = 253
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


class Rollout:
    """One step of one Deployment.

    Args:
        hand: writes.
        pods: all pods.
        obj: the Deployment.
        sets: the ReplicaSets it owns, the oldest first.
        now: seconds since 1970.

    Attributes:
        waits: whether nothing can be done until old pods are gone.
    """

    def __init__(
        self, hand: Hand, pods: PodIndex, obj: Obj, sets: Sequence[Obj], now: float
    ) -> None:
        self.waits = False
        self._hand = hand
        self._pods = pods
        self._obj = obj
        self._now = now
        self._new = newest(obj, sets)
        self._old = [one for one in sets if one is not self._new]
        self._wanted = sizes.replicas(obj)

    @property
    def _all(self) -> list[Obj]:
        return [*self._old, *([self._new] if self._new is not None else [])]

    def step(self) -> float | None:
        """Do what can be done now; in how many seconds to look again, if nothing happens."""
        self._pause_or_resume()
        paused = bool(self._obj["spec"].get("paused"))
        if paused or self._is_scaled():
            if self._new is not None:
                self._keep_new(self._new)
            self._scale()
            if paused:
                self._clean_up()
            status = reports.counted(self._obj, self._all, self._new, self._now)
            status["conditions"] = status["conditions"] or None
            self._report(status)
            return None
        if sizes.is_rolling(self._obj):
            self._roll()
        else:
            self._recreate()
        status = reports.rolled(self._obj, self._all, self._new, self._now)
        if self._report(status):
            return None  # it is looked at again since its own status changed
        return reports.until_late(self._obj, status, self._now)

    # -- the newest ReplicaSet

    def _ensure_new(self) -> Obj | None:
        """The newest ReplicaSet, made if there is none; None if it has to be tried again."""
        if self._new is not None:
            self._keep_new(self._new)
            return self._new
        revision = revisions.next_revision(self._old)
        new = self._make(revision)
        try:
            self._new = self._hand.create(
                REPLICA_SETS, _decode(_encode(new)), new["metadata"]["namespace"]
            ).obj
        except Refused as refused:
            if refused.status["reason"] == _EXISTS:
                self._collide(new)
                return self._new
            if not is_terminating(refused):
                self._failed(new, refused)
            raise
        name, size = new["metadata"]["name"], sizes.replicas(new)
        if size > 0:
            self._tell(f"Scaled up replica set {name} from 0 to {size}")
        self._mark(revision, "NewReplicaSetCreated", f'Created new replica set "{name}"', True)
        return self._new

    def _keep_new(self, new: Obj) -> None:
        """Bring what the newest ReplicaSet has from the Deployment up to date."""
        revision = revisions.next_revision(self._old)
        least = self._obj["spec"].get("minReadySeconds") or 0
        changed = revisions.annotate(self._obj, new, revision)
        if (new["spec"].get("minReadySeconds") or 0) != least:
            new["spec"]["minReadySeconds"] = least
            changed = True
        if changed:
            self._new = self._hand.update(REPLICA_SETS, new).obj
        name = new["metadata"]["name"]
        revision = revisions.revision_of(self._new or new)
        self._mark(revision, "FoundNewReplicaSet", f'Found new replica set "{name}"', False)

    def _make(self, revision: int) -> Obj:
        spec, metadata = self._obj["spec"], self._obj["metadata"]
        collisions = (self._obj.get("status") or {}).get("collisionCount") or 0
        digest = template_hash(spec["template"], collisions)
        template: Obj = _decode(_encode(spec["template"]))
        inner = template.setdefault("metadata", {})
        inner.pop("creationTimestamp", None)
        labels = {**(inner.get("labels") or {}), TEMPLATE_HASH: digest}
        inner["labels"] = labels
        selector: Obj = dict(spec.get("selector") or {})
        selector["matchLabels"] = {**(selector.get("matchLabels") or {}), TEMPLATE_HASH: digest}
        name = f"{metadata['name'][: _LONGEST_NAME - 1 - len(digest)]}-{digest}"
        new: Obj = {
            "kind": "ReplicaSet",
            "apiVersion": "apps/v1",
            "metadata": {
                "name": name,
                "namespace": metadata["namespace"],
                "labels": dict(labels),
                "ownerReferences": [controller_reference(self._obj)],
            },
            "spec": {"replicas": 0, "selector": selector, "template": template},
        }
        if spec.get("minReadySeconds"):
            new["spec"]["minReadySeconds"] = spec["minReadySeconds"]
        new["spec"]["replicas"] = sizes.new_size(self._obj, [*self._old, new], new)
        revisions.annotate(self._obj, new, revision)
        revisions.annotate_sizes(self._obj, new)
        return new

    def _collide(self, new: Obj) -> None:
        """A ReplicaSet of this name exists: it is ours after all, or another name is needed."""
        metadata = new["metadata"]
        item = self._hand.store.get(REPLICA_SETS, metadata["namespace"], metadata["name"])
        there = item.obj if item is not None else None
        if (
            there is not None
            and controller_uid(there) == self._obj["metadata"]["uid"]
            and same_template(there["spec"]["template"], self._obj["spec"]["template"])
        ):
            self._new = there
            return
        status = dict(self._obj.get("status") or {})
        status["collisionCount"] = (status.get("collisionCount") or 0) + 1
        self._report(status)

    def _failed(self, new: Obj, refused: Refused) -> None:
        message = f'Failed to create new replica set "{new["metadata"]["name"]}": {refused}'
        self._hand.tell(self._obj, "Warning", _SET_REASON, message, self._now)
        if reports.deadline(self._obj) is not None:
            status = dict(self._obj.get("status") or {})
            reports.set_condition(
                status, reports.PROGRESSING, "False", _SET_REASON, message, self._now
            )
            self._report(status)

    def _mark(self, revision: int, reason: str, message: str, always: bool) -> None:
        """Note the revision at the Deployment, and that there is a ReplicaSet for it."""
        annotations = revisions.annotations_of(self._obj)
        status = self._obj.setdefault("status", {})
        has = moments.find(status.get("conditions"), reports.PROGRESSING) is not None
        before = (annotations.get(revisions.REVISION), status.get("conditions"))
        annotations[revisions.REVISION] = str(revision)
        if reports.deadline(self._obj) is not None and (always or not has):
            reports.set_condition(status, reports.PROGRESSING, "True", reason, message, self._now)
        if before != (annotations[revisions.REVISION], status.get("conditions")):
            self._obj = self._hand.update(DEPLOYMENTS, self._obj, "status").obj

    # -- sizes

    def _roll(self) -> None:
        new = self._ensure_new()
        if new is None:
            return
        before = sizes.replicas(new)
        size = min(sizes.new_size(self._obj, self._all, new), self._wanted)
        if size != before:
            self._resize(new, size)
            return
        if self._shrink_old(new):
            return
        if reports.is_complete(self._obj, self._obj.get("status") or {}):
            self._clean_up()

    def _shrink_old(self, new: Obj) -> bool:
        """Take pods from old ReplicaSets as far as availability allows; whether it did."""
        old = sizes.active(self._old)
        if not old:
            return False
        least = self._wanted - sizes.max_unavailable(self._obj)
        not_yet = sizes.replicas(new) - sizes.count(new, "availableReplicas")
        room = sizes.total(self._all) - least - not_yet
        if room <= 0:
            return False
        done = 0
        for one in sizes.by_age(old):  # those that are of no use go first
            useless = sizes.replicas(one) - sizes.count(one, "availableReplicas")
            count = min(room - done, useless)
            if count > 0:
                self._resize(one, sizes.replicas(one) - count)
                done += count
        spare = sum(sizes.count(one, "availableReplicas") for one in [*old, new]) - least
        for one in sizes.by_age(sizes.active(self._old)):
            count = min(sizes.replicas(one), spare)
            if count > 0:
                self._resize(one, sizes.replicas(one) - count)
                spare -= count
                done += count
        return done > 0

    def _recreate(self) -> None:
        waiting = [one for one in self._old if sizes.replicas(one) > 0]
        for one in waiting:
            self._resize(one, 0)
        self.waits = bool(waiting) or any(map(self._has_pods, self._old))
        if self.waits:
            return
        new = self._ensure_new()
        if new is None:
            return
        if sizes.replicas(new) != self._wanted:
            self._resize(new, self._wanted)
        if reports.is_complete(self._obj, self._obj.get("status") or {}):
            self._clean_up()

    def _has_pods(self, one: Obj) -> bool:
        pods = self._pods.owned_by(one["metadata"]["uid"])
        return sizes.count(one, "replicas") > 0 or any(not pod.finished for pod in pods)

    def _is_scaled(self) -> bool:
        """Whether the number of pods was changed since the ReplicaSets were sized."""
        for one in sizes.active(self._all):
            text = (one["metadata"].get("annotations") or {}).get(sizes.DESIRED, "")
            if text.isdigit() and int(text) != self._wanted:
                return True
        return False

    def _scale(self) -> None:
        active = sizes.active(self._all)
        if len(active) <= 1:
            newest_old = sizes.by_age(self._old)[-1] if self._old else None
            only = active[0] if active else self._new or newest_old
            if only is not None and sizes.replicas(only) != self._wanted:
                self._resize(only, self._wanted)
            elif only is not None:
                self._resize(only, self._wanted, force=True)
            return
        if sizes.is_saturated(self._obj, self._new):
            for one in sizes.active(self._old):
                self._resize(one, 0)
            return
        if sizes.is_rolling(self._obj):
            planned = sizes.proportional(self._obj, active)
            for one in active:
                self._resize(one, planned[one["metadata"]["name"]], force=True)

    def _resize(self, one: Obj, size: int, *, force: bool = False) -> None:
        before = sizes.replicas(one)
        if before == size and not force:
            return
        changed = revisions.annotate_sizes(self._obj, one)
        if before == size and not changed:
            return
        one["spec"]["replicas"] = size
        after = self._hand.update(REPLICA_SETS, one).obj
        one.clear()
        one.update(after)
        if before != size:
            way = "up" if before < size else "down"
            name = one["metadata"]["name"]
            self._tell(f"Scaled {way} replica set {name} from {before} to {size}")

    # -- the rest

    def _pause_or_resume(self) -> None:
        if reports.deadline(self._obj) is None:
            return
        status = self._obj.setdefault("status", {})
        current = moments.find(status.get("conditions"), reports.PROGRESSING)
        reason = current.get("reason") if current is not None else None
        if reason == reports.TIMED_OUT:
            return
        paused = bool(self._obj["spec"].get("paused"))
        if paused == (reason == "DeploymentPaused"):
            return
        word = "paused" if paused else "resumed"
        reports.set_condition(
            status, reports.PROGRESSING, "Unknown", f"Deployment{word.capitalize()}",
            f"Deployment is {word}", self._now,
        )  # fmt: skip
        self._obj = self._hand.update(DEPLOYMENTS, self._obj, "status").obj

    def _clean_up(self) -> None:
        """Delete the oldest ReplicaSets that are kept for rolling back."""
        limit = self._obj["spec"].get("revisionHistoryLimit", 10)
        old = [one for one in self._old if not one["metadata"].get("deletionTimestamp")]
        for one in sorted(old, key=revisions.revision_of)[: max(len(old) - limit, 0)]:
            seen = sizes.count(one, "observedGeneration")
            if (
                sizes.count(one, "replicas") == 0
                and sizes.replicas(one) == 0
                and (one["metadata"].get("generation") or 0) <= seen
            ):
                metadata = one["metadata"]
                self._hand.delete(
                    REPLICA_SETS, metadata["namespace"], metadata["name"], metadata["uid"]
                )

    def _report(self, status: Obj) -> bool:
        """Write the status if it changed; whether it did."""
        metadata = self._obj["metadata"]
        item = self._hand.store.get(DEPLOYMENTS, metadata["namespace"], metadata["name"])
        return item is not None and self._hand.set_status(DEPLOYMENTS, item, item.obj, status)

    def _tell(self, message: str) -> None:
        self._hand.tell(self._obj, "Normal", "ScalingReplicaSet", message, self._now)


def newest(obj: Obj, sets: Sequence[Obj]) -> Obj | None:
    """The ReplicaSet for the present template."""
    template = obj["spec"]["template"]
    return next((one for one in sets if same_template(one["spec"]["template"], template)), None)
