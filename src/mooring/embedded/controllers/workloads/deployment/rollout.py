"""One step of a Deployment's rollout: the ReplicaSet for its template, and the sizes of all.

`deployment_controller` calls it for each Deployment that is reconciled.

parity v1.36.4: pkg/controller/deployment/{sync,rolling,recreate}.go
"""

from collections.abc import Sequence
from typing import Final

from mooring.embedded.controllers.conditions import find_condition
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.owner_references import controller_ref, controller_uid
from mooring.embedded.controllers.pod_index import PodIndex
from mooring.embedded.controllers.workloads.controller_utils import (
    deep_copy,
    is_namespace_terminating,
)
from mooring.embedded.controllers.workloads.deployment import deployment_status, revisions, scaling
from mooring.embedded.controllers.workloads.pod_templates import (
    TEMPLATE_HASH,
    same_template,
    template_hash,
)
from mooring.embedded.resources import DEPLOYMENTS, REPLICA_SETS, Obj
from mooring.embedded.status_errors import StatusError

_SET_REASON: Final = "ReplicaSetCreateError"
_EXISTS: Final = "AlreadyExists"
_LONGEST_NAME: Final = 253


class Rollout:
    """One step of one Deployment.

    Args:
        client: reads and writes objects.
        pods: all pods.
        obj: the Deployment.
        sets: the ReplicaSets it owns, the oldest first.
        now: seconds since 1970.

    Attributes:
        waits: whether nothing can be done until old pods are gone.
    """

    def __init__(
        self, client: ControllerClient, pods: PodIndex, obj: Obj, sets: Sequence[Obj], now: float
    ) -> None:
        self.waits = False
        self._client = client
        self._pods = pods
        self._obj = obj
        self._now = now
        self._new = find_new_replica_set(obj, sets)
        self._old = [one for one in sets if one is not self._new]
        self._wanted = scaling.replicas(obj)

    @property
    def _all(self) -> list[Obj]:
        return [*self._old, *([self._new] if self._new is not None else [])]

    def step(self) -> float | None:
        """Do what can be done now; in how many seconds to reconcile again, if nothing changes."""
        self._pause_or_resume()
        paused = bool(self._obj["spec"].get("paused"))
        if paused or self._is_scaling_event():
            if self._new is not None:
                self._update_new_replica_set(self._new)
            self._scale()
            if paused:
                self._clean_up()
            status = deployment_status.calculate_status(self._obj, self._all, self._new, self._now)
            status["conditions"] = status["conditions"] or None
            self._report(status)
            return None
        if scaling.is_rolling(self._obj):
            self._rolling_update()
        else:
            self._recreate()
        status = deployment_status.rollout_status(self._obj, self._all, self._new, self._now)
        if self._report(status):
            return None  # it is reconciled again since its own status changed
        return deployment_status.until_timed_out(self._obj, status, self._now)

    # -- the newest ReplicaSet

    def _ensure_new_replica_set(self) -> Obj | None:
        """The newest ReplicaSet, made if there is none; None if it has to be tried again."""
        if self._new is not None:
            self._update_new_replica_set(self._new)
            return self._new
        revision = revisions.next_revision(self._old)
        new = self._new_replica_set(revision)
        try:
            self._new = self._client.create(
                REPLICA_SETS, deep_copy(new), new["metadata"]["namespace"]
            ).obj
        except StatusError as error:
            if error.status["reason"] == _EXISTS:
                self._handle_collision(new)
                return self._new
            if not is_namespace_terminating(error):
                self._record_create_failure(new, error)
            raise
        name, size = new["metadata"]["name"], scaling.replicas(new)
        if size > 0:
            self._record_scaling(f"Scaled up replica set {name} from 0 to {size}")
        self._record_revision(
            revision, "NewReplicaSetCreated", f'Created new replica set "{name}"', True
        )
        return self._new

    def _update_new_replica_set(self, new: Obj) -> None:
        """Bring what the newest ReplicaSet has from the Deployment up to date."""
        revision = revisions.next_revision(self._old)
        least = self._obj["spec"].get("minReadySeconds") or 0
        changed = revisions.annotate(self._obj, new, revision)
        if (new["spec"].get("minReadySeconds") or 0) != least:
            new["spec"]["minReadySeconds"] = least
            changed = True
        if changed:
            self._new = self._client.update(REPLICA_SETS, new).obj
        name = new["metadata"]["name"]
        revision = revisions.revision_of(self._new or new)
        self._record_revision(
            revision, "FoundNewReplicaSet", f'Found new replica set "{name}"', False
        )

    def _new_replica_set(self, revision: int) -> Obj:
        spec, metadata = self._obj["spec"], self._obj["metadata"]
        collisions = (self._obj.get("status") or {}).get("collisionCount") or 0
        digest = template_hash(spec["template"], collisions)
        template = deep_copy(spec["template"])
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
                "ownerReferences": [controller_ref(self._obj)],
            },
            "spec": {"replicas": 0, "selector": selector, "template": template},
        }
        if spec.get("minReadySeconds"):
            new["spec"]["minReadySeconds"] = spec["minReadySeconds"]
        new["spec"]["replicas"] = scaling.new_replica_set_size(self._obj, [*self._old, new], new)
        revisions.annotate(self._obj, new, revision)
        revisions.annotate_sizes(self._obj, new)
        return new

    def _handle_collision(self, new: Obj) -> None:
        """A ReplicaSet of this name exists: it is ours after all, or another name is needed."""
        metadata = new["metadata"]
        item = self._client.store.get(REPLICA_SETS, metadata["namespace"], metadata["name"])
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

    def _record_create_failure(self, new: Obj, error: StatusError) -> None:
        message = f'Failed to create new replica set "{new["metadata"]["name"]}": {error}'
        self._client.record_event(self._obj, "Warning", _SET_REASON, message, self._now)
        if deployment_status.deadline(self._obj) is not None:
            status = dict(self._obj.get("status") or {})
            deployment_status.set_deployment_condition(
                status, deployment_status.PROGRESSING, "False", _SET_REASON, message, self._now
            )
            self._report(status)

    def _record_revision(self, revision: int, reason: str, message: str, always: bool) -> None:
        """Note the revision at the Deployment, and that there is a ReplicaSet for it."""
        annotations = revisions.annotations_of(self._obj)
        status = self._obj.setdefault("status", {})
        has = find_condition(status.get("conditions"), deployment_status.PROGRESSING) is not None
        before = (annotations.get(revisions.REVISION), status.get("conditions"))
        annotations[revisions.REVISION] = str(revision)
        if deployment_status.deadline(self._obj) is not None and (always or not has):
            deployment_status.set_deployment_condition(
                status, deployment_status.PROGRESSING, "True", reason, message, self._now
            )
        if before != (annotations[revisions.REVISION], status.get("conditions")):
            self._obj = self._client.update(DEPLOYMENTS, self._obj, "status").obj

    # -- sizes

    def _rolling_update(self) -> None:
        new = self._ensure_new_replica_set()
        if new is None:
            return
        before = scaling.replicas(new)
        size = min(scaling.new_replica_set_size(self._obj, self._all, new), self._wanted)
        if size != before:
            self._scale_replica_set(new, size)
            return
        if self._scale_down_old(new):
            return
        if deployment_status.is_complete(self._obj, self._obj.get("status") or {}):
            self._clean_up()

    def _scale_down_old(self, new: Obj) -> bool:
        """Take pods from old ReplicaSets as far as availability allows; whether it did."""
        old = scaling.active_replica_sets(self._old)
        if not old:
            return False
        least = self._wanted - scaling.max_unavailable(self._obj)
        not_yet = scaling.replicas(new) - scaling.status_count(new, "availableReplicas")
        room = scaling.total_replicas(self._all) - least - not_yet
        if room <= 0:
            return False
        done = 0
        for one in scaling.by_age(old):  # those that are of no use go first
            useless = scaling.replicas(one) - scaling.status_count(one, "availableReplicas")
            count = min(room - done, useless)
            if count > 0:
                self._scale_replica_set(one, scaling.replicas(one) - count)
                done += count
        spare = sum(scaling.status_count(one, "availableReplicas") for one in [*old, new]) - least
        for one in scaling.by_age(scaling.active_replica_sets(self._old)):
            count = min(scaling.replicas(one), spare)
            if count > 0:
                self._scale_replica_set(one, scaling.replicas(one) - count)
                spare -= count
                done += count
        return done > 0

    def _recreate(self) -> None:
        waiting = [one for one in self._old if scaling.replicas(one) > 0]
        for one in waiting:
            self._scale_replica_set(one, 0)
        self.waits = bool(waiting) or any(map(self._has_pods, self._old))
        if self.waits:
            return
        new = self._ensure_new_replica_set()
        if new is None:
            return
        if scaling.replicas(new) != self._wanted:
            self._scale_replica_set(new, self._wanted)
        if deployment_status.is_complete(self._obj, self._obj.get("status") or {}):
            self._clean_up()

    def _has_pods(self, one: Obj) -> bool:
        pods = self._pods.owned_by(one["metadata"]["uid"])
        return scaling.status_count(one, "replicas") > 0 or any(not pod.finished for pod in pods)

    def _is_scaling_event(self) -> bool:
        """Whether the number of pods was changed since the ReplicaSets were sized."""
        for one in scaling.active_replica_sets(self._all):
            text = (one["metadata"].get("annotations") or {}).get(scaling.DESIRED, "")
            if text.isdigit() and int(text) != self._wanted:
                return True
        return False

    def _scale(self) -> None:
        active = scaling.active_replica_sets(self._all)
        if len(active) <= 1:
            newest_old = scaling.by_age(self._old)[-1] if self._old else None
            only = active[0] if active else self._new or newest_old
            if only is not None and scaling.replicas(only) != self._wanted:
                self._scale_replica_set(only, self._wanted)
            elif only is not None:
                self._scale_replica_set(only, self._wanted, force=True)
            return
        if scaling.is_saturated(self._obj, self._new):
            for one in scaling.active_replica_sets(self._old):
                self._scale_replica_set(one, 0)
            return
        if scaling.is_rolling(self._obj):
            planned = scaling.proportional_sizes(self._obj, active)
            for one in active:
                self._scale_replica_set(one, planned[one["metadata"]["name"]], force=True)

    def _scale_replica_set(self, one: Obj, size: int, *, force: bool = False) -> None:
        before = scaling.replicas(one)
        if before == size and not force:
            return
        changed = revisions.annotate_sizes(self._obj, one)
        if before == size and not changed:
            return
        one["spec"]["replicas"] = size
        after = self._client.update(REPLICA_SETS, one).obj
        one.clear()
        one.update(after)
        if before != size:
            way = "up" if before < size else "down"
            name = one["metadata"]["name"]
            self._record_scaling(f"Scaled {way} replica set {name} from {before} to {size}")

    # -- the rest

    def _pause_or_resume(self) -> None:
        if deployment_status.deadline(self._obj) is None:
            return
        status = self._obj.setdefault("status", {})
        current = find_condition(status.get("conditions"), deployment_status.PROGRESSING)
        reason = current.get("reason") if current is not None else None
        if reason == deployment_status.TIMED_OUT:
            return
        paused = bool(self._obj["spec"].get("paused"))
        if paused == (reason == "DeploymentPaused"):
            return
        word = "paused" if paused else "resumed"
        deployment_status.set_deployment_condition(
            status, deployment_status.PROGRESSING, "Unknown", f"Deployment{word.capitalize()}",
            f"Deployment is {word}", self._now,
        )  # fmt: skip
        self._obj = self._client.update(DEPLOYMENTS, self._obj, "status").obj

    def _clean_up(self) -> None:
        """Delete the oldest ReplicaSets that are kept for rolling back."""
        limit = self._obj["spec"].get("revisionHistoryLimit", 10)
        old = [one for one in self._old if not one["metadata"].get("deletionTimestamp")]
        for one in sorted(old, key=revisions.revision_of)[: max(len(old) - limit, 0)]:
            seen = scaling.status_count(one, "observedGeneration")
            if (
                scaling.status_count(one, "replicas") == 0
                and scaling.replicas(one) == 0
                and (one["metadata"].get("generation") or 0) <= seen
            ):
                metadata = one["metadata"]
                self._client.delete(
                    REPLICA_SETS, metadata["namespace"], metadata["name"], metadata["uid"]
                )

    def _report(self, status: Obj) -> bool:
        """Write the status if it changed; whether it did."""
        metadata = self._obj["metadata"]
        item = self._client.store.get(DEPLOYMENTS, metadata["namespace"], metadata["name"])
        return item is not None and self._client.set_status(DEPLOYMENTS, item, item.obj, status)

    def _record_scaling(self, message: str) -> None:
        self._client.record_event(self._obj, "Normal", "ScalingReplicaSet", message, self._now)


def find_new_replica_set(obj: Obj, sets: Sequence[Obj]) -> Obj | None:
    """The ReplicaSet for the present template."""
    template = obj["spec"]["template"]
    return next((one for one in sets if same_template(one["spec"]["template"], template)), None)
