"""A workload whose pods need devices, as the requests to send; called by `cluster`, `limits`.

What controllers would do is done here, with the same result: a claim is made for every pod that
names a template, and pods that are there at the start have theirs allocated and reserved. So a
scheduler has no controllers beside it that use the CPU.
"""

from collections.abc import Iterable, Iterator, Sequence

from benchmarks.scheduler import claim_requests, kinds
from benchmarks.scheduler.claim_kinds import ClaimKind
from benchmarks.scheduler.clients import (
    Chain,
    Reply,
    Request,
    bind_pod,
    create_event,
    create_pod,
)
from benchmarks.scheduler.devices import CLAIM, FINALIZER, LABEL, Allocation
from benchmarks.scheduler.kinds import Object
from benchmarks.scheduler.task import BarePod, Task
from benchmarks.scheduler.workloads import Workload

#: What pods of a template are called; each names it, though nothing but controllers reads it.
_TEMPLATE = "test-claim-template"
#: The unique id of pods that no scheduler looks at.
_NOBODY = "00000000-0000-4000-8000-000000000000"
_SLICES = "/apis/resource.k8s.io/v1/resourceslices"
_CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"


class ClaimTask(Task):
    """A workload whose pods need devices, on so many nodes."""

    def __init__(
        self, workload: Workload, nodes: int, claims: ClaimKind, *, quick: bool = False
    ) -> None:
        super().__init__(workload, nodes, quick=quick)
        self._claims = claims

    def node_manifests(self) -> list[Object]:
        """The nodes, labelled, or with a resource that no other has."""
        nodes = super().node_manifests()
        for number, node in enumerate(nodes):
            node["metadata"]["labels"][LABEL] = "true"
            if self._claims.own_resources and self._claims.resource is not None:
                node["status"]["capacity"][self._claims.resource(number)] = "1"
        return nodes

    def others(self) -> Iterator[tuple[str, Object]]:
        """Classes, slices and the claims that pods share."""
        yield from super().others()
        devices = self._claims.devices
        for one in devices.classes:
            yield _CLASSES, one
        for one in devices.slices(self.nodes, self.size.devices):
            yield _SLICES, one
        shared = self._claims.pods_per_claim
        for number in range(self.size.pods // shared if shared else 0):
            yield self._shared_claim(number)
        for number in range(self._warm_up_from // shared if shared else 0, self._shared_init):
            yield self._shared_claim(number, init=True)

    def placed_chains(self) -> Iterator[Chain]:
        """The requests that create pods on nodes, and claims that are allocated."""
        for number in range(self.size.idle):
            yield self._idle_chain(number)
        shared = self._claims.pods_per_claim
        for number in range(self.placed):
            node = kinds.node_name((number // shared if shared else number) % self.nodes)
            pod = self._pod(number, init=True, node=node)
            yield (create_pod(pod), *self._placed_claim(number, pod["metadata"]["name"]))

    def warm_up_chains(self) -> Iterator[Chain]:
        """The requests that create the pods to warm up with."""
        return (self._chain(number, init=True) for number in range(self.placed, self.init_pods))

    def measured_chains(self) -> Iterator[Chain]:
        """The requests that create the measured pods, each with a claim of its own or a shared."""
        return (self._chain(number) for number in range(self.size.pods))

    def bare_pods(self, numbers: Iterable[int]) -> Iterator[BarePod]:
        """Pods that are created and bound as a scheduler does it, with a claim if they need one."""
        namespace = self.workload.namespaces[1]
        for number in numbers:
            name, node = self._name(number), kinds.node_name(number % self.nodes)
            yield BarePod(
                self._chain(number),
                (*self._scheduler_writes(number, node), bind_pod(namespace, name, node)),
                create_event(namespace, name, node),
                self.remove_chain(number) if self.workload.steady else (),
            )

    def remove_chain(self, number: int) -> Chain:
        """The requests that remove a measured pod and its claim."""
        name = self._name(number)
        return claim_requests.remove(self.workload.namespaces[1], name, _claim_name(name))

    # -- pods

    @property
    def _warm_up_from(self) -> int:
        """The first pod at the start whose claim nobody allocates before; claims are not split."""
        shared = self._claims.pods_per_claim
        return self.placed - self.placed % shared if shared else self.placed

    @property
    def _shared_init(self) -> int:
        shared = self._claims.pods_per_claim
        return -(-self.init_pods // shared) if shared else 0

    def _name(self, number: int) -> str:
        return self.workload.pods.name(number)

    def _user(self, number: int) -> tuple[str, str]:
        """The name and a unique id of a pod that no scheduler looks at."""
        return self._name(number), f"{_NOBODY[:-6]}{number:06d}"

    def _pod(self, number: int, *, init: bool = False, node: str = "") -> Object:
        claims = self._claims
        pod = self.workload.pods.manifest(number, self.workload.namespaces[not init], node)
        pod["spec"]["containers"][0]["resources"] = claims.containers(number)
        if claims.resource is None:
            if claims.pods_per_claim:
                where = {"resourceClaimName": f"test-claim-{number // claims.pods_per_claim}"}
            else:
                where = {"resourceClaimTemplateName": _TEMPLATE}
            pod["spec"]["resourceClaims"] = [{"name": CLAIM, **where}]
        return pod

    def _chain(self, number: int, *, init: bool = False) -> Chain:
        """Create a pod, and its claim if it names a template."""
        claims = self._claims
        pod = self._pod(number, init=init)
        if claims.resource is not None or claims.pods_per_claim:
            return (create_pod(pod),)
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]

        def create_claim(replies: Sequence[Reply]) -> Request:
            owned = claim_requests.claim_of_pod(name, claim_requests.uid_of(replies[0]))
            return claim_requests.create(self._claim(name, namespace, owned))

        told = claim_requests.tell_pod(namespace, name, _claim_name(name))
        return (create_pod(pod), create_claim, told)

    # -- claims

    def _claim(self, pod: str, namespace: str, metadata: Object) -> Object:
        spec = self._claims.devices.spec
        return claim_requests.claim(_claim_name(pod), namespace, spec, metadata)

    def _shared_claim(self, number: int, *, init: bool = False) -> tuple[str, Object]:
        namespace = self.workload.namespaces[not init]
        manifest = claim_requests.claim(
            f"test-claim-{number}", namespace, self._claims.devices.spec, {}
        )
        return claim_requests.claims_path(namespace), manifest

    def _allocation(self, number: int) -> Allocation:
        return self._claims.devices.allocation(number, self.nodes)

    def _idle_chain(self, number: int) -> Chain:
        """Create a claim that is allocated and that no pod uses."""
        devices, namespace = self._claims.devices, self.workload.namespaces[0]
        allocation = (devices.idle_allocation or devices.allocation)(number, self.nodes)
        name = f"idle-{number:05d}"
        manifest = claim_requests.claim(name, namespace, devices.idle_spec or devices.spec, {})
        return (
            claim_requests.create(manifest),
            claim_requests.allocate(namespace, name, allocation, ()),
        )

    def _placed_claim(self, number: int, pod: str) -> Chain:
        """Create the claim of a pod on a node, allocated and reserved for it."""
        claims, namespace = self._claims, self.workload.namespaces[0]
        if claims.own_resources:
            return ()
        shared = claims.pods_per_claim
        if shared:
            # The first of its pods brings the claim; the others are reserved with it.
            claim_number = number // shared
            if number % shared or number >= self._warm_up_from:
                return ()
            _, manifest = self._shared_claim(claim_number, init=True)
            name = manifest["metadata"]["name"]
            users = [self._user(number + one) for one in range(shared)]
            return (
                claim_requests.create(_protected(manifest)),
                claim_requests.allocate(namespace, name, self._allocation(claim_number), users),
            )
        if claims.resource is None:
            owned = claim_requests.claim_of_pod(pod, _NOBODY)
            manifest = self._claim(pod, namespace, owned)
        else:
            manifest = self._extended(number, pod, namespace)
        name = manifest["metadata"]["name"]
        allocation = self._allocation(number)
        return (
            claim_requests.create(_protected(manifest)),
            claim_requests.allocate(namespace, name, self._named(allocation), [(pod, _NOBODY)]),
        )

    def _extended(self, number: int, pod: str, namespace: str) -> Object:
        """The claim that a scheduler makes for a pod's extended resource."""
        classes = self._claims.devices.classes
        one = classes[number % len(classes)]["metadata"]["name"]
        request = {"name": "container-0-request-0", "exactly": {"deviceClassName": one}}
        owned = claim_requests.extended_claim(pod, _NOBODY)
        return claim_requests.claim(_claim_name(pod), namespace, {"requests": [request]}, owned)

    def _named(self, allocation: Allocation) -> Allocation:
        """An allocation for the request of that claim."""
        if self._claims.resource is None:
            return allocation
        results = [{**one, "request": "container-0-request-0"} for one in allocation.results]
        return allocation._replace(results=results)

    def _scheduler_writes(self, number: int, node: str) -> Chain:
        """What a scheduler writes before it binds a pod."""
        if self._claims.own_resources:
            return ()
        nominated = claim_requests.nominate(self.workload.namespaces[1], self._name(number), node)
        return (nominated, *self._claim_writes(number))

    def _claim_writes(self, number: int) -> Chain:
        claims, namespace = self._claims, self.workload.namespaces[1]
        pod = self._name(number)
        shared = claims.pods_per_claim
        if shared:
            claim_number, place = divmod(number, shared)
            name = f"test-claim-{claim_number}"
            users = [self._user(number - place + one) for one in range(place + 1)]
            allocation = self._allocation(claim_number)
            # Whichever of the pods comes first: nobody waits for another one here.
            reserved = claim_requests.allocate(namespace, name, allocation, users)
            return (reserved,) if place else (claim_requests.protect(namespace, name), reserved)
        name, allocation = _claim_name(pod), self._named(self._allocation(number))
        writes = (
            claim_requests.protect(namespace, name),
            claim_requests.allocate(namespace, name, allocation, [(pod, _NOBODY)]),
        )
        if claims.resource is None:
            return writes
        return (
            claim_requests.create(self._extended(number, pod, namespace)),
            *writes,
            claim_requests.tell_pod_extended(namespace, pod, name, claims.resource(number)),
        )


def _claim_name(pod: str) -> str:
    return f"{pod}-{CLAIM}"


def _protected(manifest: Object) -> Object:
    finalizers = {"finalizers": [FINALIZER]}
    return {**manifest, "metadata": {**manifest["metadata"], **finalizers}}


def task_of(workload: Workload, nodes: int, *, quick: bool = False) -> Task:
    """A workload on so many nodes."""
    if workload.claims is None:
        return Task(workload, nodes, quick=quick)
    return ClaimTask(workload, nodes, workload.claims, quick=quick)
