"""What scheduling reads of a pod's spec, compiled once for all pods that have it.

Pods of a StatefulSet or an indexed Job have one spec and labels of their own. `Shapes` makes one
`CompiledSpec` for all of them; a `Shape` adds the labels. What plugins work out for a spec is
remembered here, for a bounded number of specs.
"""

import weakref
from collections import OrderedDict

from mooring.model.pod import Pod, PodSpec
from mooring.model.resources import CPU, MEMORY, PODS, Resources, scoring_requests
from mooring.state.affinity_terms import preferred_terms, required_terms


class CompiledSpec:
    """The compiled description that pods of one namespace with the same spec share.

    Args:
        pod: one of them.
        source: its spec without what does not count; None if the pods are not known by it alone.
        remembering: the specs of which plugins remember something.

    Attributes:
        source: the same.
        namespace: the pods' namespace.
        requests: what a pod takes up on a node.
        taken: the resources a pod takes up with their amounts, zero amounts left out, and itself.
        nonzero_cpu: the CPU that counts for scoring, with 100 thousandths for a silent container.
        nonzero_memory: the memory that counts for scoring, with 200 MiB for a silent container.
        host_ports: (ip, protocol, port) of every host port.
        affinity: required affinity terms.
        anti_affinity: required anti-affinity terms.
        claims: the persistent volume claims a pod names, as ``namespace/name``.
        preferred: preferred terms with their weights; negative for anti-affinity.
    """

    __slots__ = (
        "__weakref__",
        "_data",
        "_remembering",
        "affinity",
        "anti_affinity",
        "claims",
        "host_ports",
        "namespace",
        "nonzero_cpu",
        "nonzero_memory",
        "preferred",
        "requests",
        "source",
        "taken",
    )

    def __init__(self, pod: Pod, source: PodSpec | None, remembering: "Remembering") -> None:
        self.source = source
        self.namespace = pod.namespace
        self.requests: Resources = pod.requests
        requested = ((name, amount) for name, amount in self.requests.items() if amount)
        self.taken = (*requested, (PODS, 1))
        scoring = scoring_requests(pod)
        self.nonzero_cpu = scoring[CPU]
        self.nonzero_memory = scoring[MEMORY]
        self.host_ports = host_ports(pod)
        self.claims = tuple(
            f"{self.namespace}/{volume.persistent_volume_claim.claim_name}"
            for volume in pod.spec.volumes or ()
            if volume.persistent_volume_claim is not None
        )
        affinity = pod.spec.affinity
        together = affinity.pod_affinity if affinity else None
        apart = affinity.pod_anti_affinity if affinity else None
        self.affinity = tuple(required_terms(together, self.namespace))
        self.anti_affinity = tuple(required_terms(apart, self.namespace))
        self.preferred = (
            *preferred_terms(together, self.namespace, 1),
            *preferred_terms(apart, self.namespace, -1),
        )
        self._remembering = remembering
        self._data: dict[object, object] | None = None

    @property
    def data(self) -> dict[object, object]:
        """What plugins remember about these pods, by their own keys; it may be forgotten."""
        if self._data is None:
            self._data = {}
            self._remembering.add(self)
        return self._data

    def forget(self) -> None:
        """Forget what plugins remember."""
        self._data = None


class Remembering:
    """The specs of which plugins remember something, oldest first; those that are gone leave.

    Args:
        most: how many there may be.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        # A spec may go on any thread and at any time: each step is one call of the table.
        self._specs: OrderedDict[weakref.ref[CompiledSpec], None] = OrderedDict()

    def add(self, spec: CompiledSpec) -> None:
        """Another one has something to remember; those that had longest forget."""
        self._specs[weakref.ref(spec, self._leave)] = None
        while len(self._specs) > self.most:
            oldest = self._specs.popitem(last=False)[0]()
            if oldest is not None:
                oldest.forget()

    def forget_all(self) -> None:
        """All of them forget."""
        while self._specs:
            spec = self._specs.popitem(last=False)[0]()
            if spec is not None:
                spec.forget()

    def _leave(self, gone: "weakref.ref[CompiledSpec]") -> None:
        self._specs.pop(gone, None)


def host_ports(pod: Pod) -> tuple[tuple[str, str, int], ...]:
    """(ip, protocol, port) of every host port of a pod."""
    # parity v1.36.4: scheduler/util/utils.go GetHostPorts: containers and sidecars
    sidecars = (one for one in pod.spec.init_containers or () if one.restart_policy == "Always")
    return tuple(
        (port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)  # noqa: S104
        for container in (*(pod.spec.containers or ()), *sidecars)
        for port in container.ports or ()
        if port.host_port > 0
    )
