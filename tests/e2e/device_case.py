"""One scheduler, one namespace, and devices: what a scenario does, and what came of it.

A scenario runs once with kube-scheduler and once with `moor run`, and what came of it must be the
same. Names that differ from one run to the next are replaced by what they mean.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from mooring.errors import ApiError
from mooring.testing.real_kubernetes import BaseControlPlane
from tests.e2e.device_objects import API, Obj
from tests.e2e.pod_helpers import events_of, scheduled_condition

DRIVER = "gpu.example.com"
CLASS = "gpu"
#: How long a loaded machine may take for a scheduling attempt and its writes.
PATIENCE = 90.0
#: So often a controller is looked at before it is reminded of a claim.
_LOOKS = 40


# -- objects


def device(name: str, **fields: Any) -> Obj:
    """A device; attributes are given as plain values."""
    attributes = {
        key: {"bool" if isinstance(one, bool) else "int" if isinstance(one, int) else "string": one}
        for key, one in fields.pop("attributes", {}).items()
    }
    return {"name": name, **({"attributes": attributes} if attributes else {}), **fields}


def slice_of(pool: str, *devices: Obj, slices: int = 1, **spec: Any) -> Obj:
    """A slice of a pool on the node of the same name, unless `spec` says where else."""
    where = {} if {"allNodes", "nodeSelector", "nodeName"} & spec.keys() else {"nodeName": pool}
    counters = "sharedCounters" in spec
    return {
        "apiVersion": API,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{pool}-counters" if counters else pool},
        "spec": {
            "driver": DRIVER,
            "pool": {"name": pool, "generation": 1, "resourceSliceCount": slices},
            **({} if counters else {"devices": list(devices)}),
            **where,
            **spec,
        },
    }


def device_class(name: str = CLASS, selector: str = "", resource: str = "") -> Obj:
    """A class of the driver's devices."""
    expressions = [f'device.driver == "{DRIVER}"', *([selector] if selector else [])]
    spec: Obj = {"selectors": [{"cel": {"expression": one}} for one in expressions]}
    if resource:
        spec["extendedResourceName"] = resource
    return {"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def request(name: str = "gpu", of: str = CLASS, *, selector: str = "", **fields: Any) -> Obj:
    """A request for devices of a class."""
    exactly: Obj = {"deviceClassName": of, **fields}
    if selector:
        exactly["selectors"] = [{"cel": {"expression": selector}}]
    return {"name": name, "exactly": exactly}


# -- what came of it


class Outcome(NamedTuple):
    """What became of a scenario's pods and claims.

    Attributes:
        pods: by name: its node, or why it has none; the claim for its extended resources.
        claims: by what they are for: devices, users, finalizers.
        events: by pod: type, reason, action and note of each, without repetitions.
    """

    pods: dict[str, Obj]
    claims: dict[str, Obj]
    events: dict[str, list[tuple[str, ...]]]

    def device(self, claim: str) -> list[str]:
        """The devices of a claim, each as ``pool/device``."""
        return [f"{one['pool']}/{one['device']}" for one in self.claims[claim]["devices"]]

    def placed(self) -> dict[str, str]:
        """The nodes of the pods; empty for those that wait."""
        return {name: one.get("node", "") for name, one in self.pods.items()}


class DeviceCase:
    """A scenario's hands: creates things in its namespace for its scheduler, and looks at them.

    Args:
        plane: the API server.
        namespace: where claims and pods are.
        scheduler: the name of the scheduler of the pods.
    """

    def __init__(self, plane: BaseControlPlane, namespace: str, scheduler: str) -> None:
        self.plane = plane
        self.namespace = namespace
        self.scheduler = scheduler

    def claim(self, name: str, *requests: Obj, template: bool = False, **devices: Any) -> None:
        """Create a claim, or a template of one."""
        spec: Obj = {"devices": {"requests": list(requests) or [request()], **devices}}
        self.plane.create(
            {
                "apiVersion": API,
                "kind": "ResourceClaimTemplate" if template else "ResourceClaim",
                "metadata": {"name": name, "namespace": self.namespace},
                "spec": {"spec": spec} if template else spec,
            }
        )

    def pod(
        self,
        name: str,
        *claims: str,
        template: str = "",
        resources: Mapping[str, str] | None = None,
        node: str = "",
        **spec: Any,
    ) -> None:
        """Create a pod.

        Args:
            name: its name.
            claims: the claims that it names.
            template: the template of a claim of its own.
            resources: the extended resources it asks for.
            node: where it has to go.
            spec: further fields.
        """
        named = [{"name": one, "resourceClaimName": one} for one in claims]
        if template:
            named.append({"name": "own", "resourceClaimTemplateName": template})
        container: Obj = {"name": "main", "image": "app:1"}
        container["resources"] = {
            "claims": [{"name": one["name"]} for one in named],
            "limits": dict(resources or {}),
        }
        self.plane.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": self.namespace},
                "spec": {
                    "schedulerName": self.scheduler,
                    "terminationGracePeriodSeconds": 0,
                    "containers": [container],
                    **({"resourceClaims": named} if named else {}),
                    **({"nodeSelector": {"kubernetes.io/hostname": node}} if node else {}),
                    **spec,
                },
            }
        )

    def get_pod(self, name: str) -> Obj:
        return self.plane.get("Pod", name, self.namespace)

    def get_claim(self, name: str) -> Obj:
        return self.plane.get("ResourceClaim", name, self.namespace, api_version=API)

    def all_claims(self) -> list[Obj]:
        return self.plane.list_objects("ResourceClaim", self.namespace, api_version=API)

    def settle(self, *names: str) -> None:
        """Wait until pods are bound, or their scheduler has said why not, and events tell."""

        def settled(name: str) -> bool:
            found = self.get_pod(name)
            bound = found["spec"].get("nodeName")
            if not bound and not scheduled_condition(found):
                return False
            reason = "Scheduled" if bound else "FailedScheduling"
            events = events_of(self.plane, name, self.namespace)
            return any(one["reason"] == reason for one in events)

        for name in names:
            self.plane.wait_for(lambda name=name: settled(name), f"{name} to settle", PATIENCE)  # type: ignore[misc]

    def place(self, name: str, *claims: str, **more: Any) -> None:
        """Create a pod and wait until it is settled."""
        self.pod(name, *claims, **more)
        self.settle(name)

    def wait_bound(self, *names: str) -> None:
        """Wait until pods are bound; a process that was killed may not have told of it."""
        for name in names:
            self.plane.wait_for(
                lambda name=name: self.get_pod(name)["spec"].get("nodeName"),  # type: ignore[misc]
                f"{name} to be bound",
                PATIENCE,
            )

    def wait_scheduled(self, *names: str) -> None:
        """Wait until pods are bound, and events tell."""
        self.wait_bound(*names)
        self.settle(*names)

    def wait_event(self, name: str, reason: str, part: str = "") -> str:
        """The note of an event about a pod, once there is one."""

        def told() -> str | None:
            for one in events_of(self.plane, name, self.namespace):
                if one["reason"] == reason and part in one["note"]:
                    note: str = one["note"]
                    return note
            return None

        return self.plane.wait_for(told, f"event {reason} of {name} with {part!r}", PATIENCE)

    def wait_message(self, name: str, part: str) -> str:
        """The message of a pod's condition PodScheduled, once it has this part."""

        def told() -> str | None:
            message: str = scheduled_condition(self.get_pod(name)).get("message", "")
            return message if part in message else None

        return self.plane.wait_for(told, f"{name} to be rejected with {part!r}", PATIENCE)

    def wait_claim(self, name: str, done: Callable[[Obj], object], what: str) -> Obj:
        """A claim, once its status is as it should be."""

        def look() -> Obj | None:
            found = self.get_claim(name)
            return found if done(found.get("status", {})) else None

        return self.plane.wait_for(look, f"claim {name} {what}", PATIENCE)

    def set_conditions(self, name: str, *conditions: tuple[str, str], reason: str = "") -> None:
        """Do what the driver does for the devices of a claim: set their conditions."""
        made = [
            {
                "type": kind, "status": status, "reason": reason or "Set",
                "message": f"{kind} is {status}", "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            for kind, status in conditions
        ]  # fmt: skip
        results = self.get_claim(name)["status"]["allocation"]["devices"]["results"]
        self.set_status(
            name,
            devices=[
                {**{key: one[key] for key in ("driver", "pool", "device")}, "conditions": made}
                for one in results
            ],
        )

    def set_status(self, name: str, **fields: Any) -> None:
        """Change fields of a claim's status, as an administrator can."""
        path = self.plane.path("ResourceClaim", name, self.namespace, api_version=API)

        def written() -> bool:
            found = self.get_claim(name)
            found["status"] = {**found.get("status", {}), **fields}
            try:
                self.plane.request("PUT", f"{path}/status", found)
            except ApiError as error:
                if error.status != 409:
                    raise
                return False
            return True

        self.plane.wait_for(written, f"the status of claim {name} to be written")

    def create_users(self, count: int) -> list[Obj]:
        """Pods of nobody's, each as an entry of `status.reservedFor`."""
        spec = {"nodeName": "elsewhere", "containers": [{"name": "main", "image": "app:1"}]}
        pods = self.plane.create_many(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"user-{number:03}", "namespace": self.namespace},
                "spec": spec,
            }
            for number in range(count)
        )
        return [
            {"resource": "pods", **{key: one["metadata"][key] for key in ("name", "uid")}}
            for one in pods
        ]

    def finish(self, name: str) -> None:
        """Do what a kubelet does when the containers of a pod have ended."""
        found = self.get_pod(name)
        found["status"]["phase"] = "Succeeded"
        path = self.plane.path("Pod", name, self.namespace)
        self.plane.request("PUT", f"{path}/status", found)

    def delete_pod(self, name: str) -> None:
        self.plane.delete("Pod", name, self.namespace)

    def clean_up(self) -> None:
        """Remove pods and claims, and wait until all devices are free."""
        self.plane.delete_all("Pod", self.namespace)
        for one in self.all_claims():
            if not one["metadata"].get("ownerReferences"):
                self.plane.delete(
                    "ResourceClaim", one["metadata"]["name"], self.namespace, api_version=API
                )
        looks = itertools.count()

        def gone() -> bool:
            names = [one["metadata"]["name"] for one in self.all_claims()]
            # Pods of `create_users` do not name their claim: a controller that saw the claim before
            # they were gone has no reason to look again. Seldom, or its writes would conflict.
            look = next(looks)
            for name in names if look % _LOOKS == _LOOKS - 1 else ():
                self.plane.kubectl(
                    "annotate", "--overwrite", "--namespace", self.namespace,
                    "resourceclaim", name, f"look={look}", check=False,
                )  # fmt: skip
            return not names

        self.plane.wait_for(gone, "the claims to be gone", PATIENCE)

    # -- looking at it

    def outcome(self) -> Outcome:
        """What became of pods and claims by now."""
        claims = self.all_claims()
        names = {one["metadata"]["name"]: _meaning(one) for one in claims}
        pods = self.plane.list_objects("Pod", self.namespace)
        return Outcome(
            pods={one["metadata"]["name"]: self._pod(one, names) for one in pods},
            claims={
                names[one["metadata"]["name"]]: self._claim(one)
                for one in sorted(claims, key=lambda one: names[one["metadata"]["name"]])
            },
            events={
                one["metadata"]["name"]: self._events(one["metadata"]["name"], names)
                for one in pods
            },
        )

    def _text(self, text: str, names: Mapping[str, str]) -> str:
        for name, meaning in names.items():
            text = text.replace(name, meaning)
        return text.replace(self.namespace, "NAMESPACE").replace(self.scheduler, "SCHEDULER")

    def _pod(self, pod: Obj, names: Mapping[str, str]) -> Obj:
        found: Obj = {}
        status = pod["status"]
        if where := pod["spec"].get("nodeName"):
            found["node"] = where
        else:
            condition = scheduled_condition(pod)
            found["reason"] = condition.get("reason", "")
            found["message"] = self._text(condition.get("message", ""), names)
        found["nominated"] = status.get("nominatedNodeName", "")
        if extended := status.get("extendedResourceClaimStatus"):
            name = extended["resourceClaimName"]
            found["extended"] = {**extended, "resourceClaimName": names.get(name, name)}
        return found

    def _claim(self, claim: Obj) -> Obj:
        status = claim.get("status") or {}
        allocation = status.get("allocation") or {}
        devices = allocation.get("devices") or {}
        results = [
            {key: one for key, one in result.items() if key != "shareID"}
            for result in devices.get("results") or ()
        ]
        return {
            "devices": results,
            "config": devices.get("config"),
            "nodes": allocation.get("nodeSelector"),
            "dated": "allocationTimestamp" in allocation,
            "users": sorted(one["name"] for one in status.get("reservedFor") or ()),
            "finalizers": claim["metadata"].get("finalizers", []),
            "requests": claim["spec"]["devices"].get("requests"),
        }

    def _events(self, pod: str, names: Mapping[str, str]) -> list[tuple[str, ...]]:
        found = {
            (one["type"], one["reason"], one["action"], self._text(one["note"], names))
            for one in events_of(self.plane, pod, self.namespace)
        }
        return sorted(found)


def _meaning(claim: Obj) -> str:
    """What a claim is for: its name, or whose it is."""
    metadata = claim["metadata"]
    owners: Sequence[Obj] = metadata.get("ownerReferences", ())
    if not owners:
        return str(metadata["name"])
    kind = "extended" if metadata["name"].startswith(f"{owners[0]['name']}-extended-") else "own"
    return f"{owners[0]['name']}/{kind}"
