"""What a scenario file says, as typed values; `reader` makes them, `scenario_run` plays them.

Durations are texts such as ``90s``, ``1h30m`` or ``2d``; amounts are Kubernetes quantities. The
docstrings are the reference that users read.
"""

from typing import Any, Final, Literal

import msgspec

#: Limits on what a file may ask for.
MOST_NODES: Final = 100_000
MOST_PODS: Final = 2_000_000
MOST_GROUPS: Final = 500
MOST_WORKLOADS: Final = 5_000
MOST_EVENTS: Final = 10_000
MOST_ZONES: Final = 100
MOST_FILES: Final = 1000

Amount = str | int | float
WorkloadKind = Literal["Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"]
Expander = Literal["random", "most-pods", "least-waste", "priority"]


class _Form(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Base of everything in a scenario."""


class GroupScaling(_Form, frozen=True, kw_only=True):
    """How the autoscaler may change a node group.

    Attributes:
        min: so many nodes at least.
        max: so many nodes at most.
        startup: from the decision to a node that is ready.
        priority: for the expander ``priority``; the highest wins.
    """

    min: int = 0
    max: int
    startup: str = "60s"
    priority: int = 0


class NodeGroup(_Form, frozen=True, kw_only=True):
    """Nodes that are alike.

    Attributes:
        name: of the group; its nodes are called ``NAME-1`` and so on.
        count: how many there are at the beginning.
        cpu: cores of a node.
        memory: memory of a node.
        pods: how many pods may be on a node.
        storage: ephemeral storage of a node.
        resources: other resources, such as ``nvidia.com/gpu``.
        labels: beside those every node has.
        taints: as in a Node.
        images: images that are on the nodes already.
        zones: the nodes are in these zones in turn.
        price_per_hour: what a node costs.
        autoscaling: whether and how the autoscaler changes the group.
    """

    name: str
    count: int = 0
    cpu: Amount = "8"
    memory: Amount = "32Gi"
    pods: Amount = "110"
    storage: Amount = "100Gi"
    resources: dict[str, Amount] = {}
    labels: dict[str, str] = {}
    taints: list[dict[str, Any]] = []
    images: list[str] = []
    zones: list[str] = []
    price_per_hour: float = 0.0
    autoscaling: GroupScaling | None = None


class ClusterForm(_Form, frozen=True, kw_only=True):
    """The cluster at the beginning.

    Attributes:
        snapshot: a file as ``moor snapshot`` writes it, relative to the scenario.
        nodes: a file with nodes as ``moor cluster --nodes`` takes it, relative to the scenario.
        node_groups: nodes, alone or beside those of the snapshot.
        objects: other Kubernetes objects: PriorityClasses, PodDisruptionBudgets, Services,
            StorageClasses, volumes and claims.
    """

    snapshot: str = ""
    nodes: str = ""
    node_groups: list[NodeGroup] = []
    objects: list[dict[str, Any]] = []


class PodForm(_Form, frozen=True, kw_only=True):
    """A pod in short.

    Attributes:
        cpu: what it requests.
        memory: what it requests.
        resources: what else it requests, such as ``nvidia.com/gpu``.
        labels: its labels; ``app`` is the workload's name unless it is given.
        annotations: its annotations.
        image: its image.
        priority_class_name: its PriorityClass.
        node_selector: labels that its node must have.
        scheduler_name: the profile that places it.
        spec: any other fields of a PodSpec: affinity, tolerations, topologySpreadConstraints.
    """

    cpu: Amount = "100m"
    memory: Amount = "128Mi"
    resources: dict[str, Amount] = {}
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    image: str = "registry.example.com/app:1"
    priority_class_name: str = ""
    node_selector: dict[str, str] = {}
    scheduler_name: str = ""
    spec: dict[str, Any] = {}


class CsvArrival(_Form, frozen=True, kw_only=True):
    """Pods from a CSV file with a header.

    Attributes:
        file: relative to the scenario.
        columns: the column of ``arrival`` (seconds, or a duration), ``duration``, ``cpu``,
            ``memory`` and any other resource, if it is not called so. Empty cells are what the
            workload's pod says.
    """

    file: str
    columns: dict[str, str] = {}


class Arrival(_Form, frozen=True, kw_only=True):
    """When pods or objects come.

    Attributes:
        at: the first time.
        every: one after the other, so far apart; without it, all at once.
        poisson: at random, so many on average: ``30/s``, ``10/m`` or ``100/h``.
        until: none after that.
        csv: from a file.
    """

    at: str = "0s"
    every: str = ""
    poisson: str = ""
    until: str = ""
    csv: CsvArrival | None = None


class LogNormal(_Form, frozen=True, kw_only=True):
    """A log-normal distribution: half are shorter than the median, sigma says how wide it is."""

    median: str
    sigma: float


class DrawnDuration(_Form, frozen=True, kw_only=True):
    """A duration that is drawn for each pod; exactly one field is given.

    Attributes:
        exponential: with this mean.
        uniform: between these two.
        lognormal: see there.
    """

    exponential: str = ""
    uniform: tuple[str, str] | None = None
    lognormal: LogNormal | None = None


class WorkloadForm(_Form, frozen=True, kw_only=True):
    """Pods, or an object whose controller creates pods.

    Attributes:
        name: its name, and what the names of its pods begin with.
        namespace: where it is; it is created if need be.
        kind: ``Pod``, ``Deployment``, ``ReplicaSet``, ``StatefulSet``, ``DaemonSet`` or ``Job``.
        count: how many pods come, or how many objects of the other kinds.
        replicas: pods of a Deployment, ReplicaSet or StatefulSet; completions of a Job.
        parallelism: how many pods of a Job run at the same time; all if it is not given.
        pod: its pods.
        spec: other fields of the object's spec, such as a Deployment's ``strategy``.
        arrival: when it comes.
        duration: how long its pods run; for ever if it is not given.
    """

    name: str
    namespace: str = "default"
    kind: WorkloadKind = "Pod"
    count: int | None = None
    replicas: int = 1
    parallelism: int | None = None
    pod: PodForm = PodForm()
    spec: dict[str, Any] = {}
    arrival: Arrival = Arrival()
    duration: str | DrawnDuration = ""


class NodeSelection(_Form, frozen=True, kw_only=True):
    """Some nodes: those that fit everything that is given.

    Attributes:
        node: one node.
        zone: the nodes of a zone.
        group: the nodes of a node group.
        labels: the nodes with these labels.
        count: only so many of them, the first ones by name.
    """

    node: str = ""
    zone: str = ""
    group: str = ""
    labels: dict[str, str] = {}
    count: int | None = None


class TaintEvent(NodeSelection, frozen=True, kw_only=True):
    """A taint on some nodes.

    Attributes:
        key: the taint's key.
        value: its value.
        effect: ``NoSchedule``, ``PreferNoSchedule`` or ``NoExecute``.
    """

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


class AddNodes(_Form, frozen=True, kw_only=True):
    """More nodes of a group."""

    group: str
    count: int = 1


class ScaleEvent(_Form, frozen=True, kw_only=True):
    """Another number of replicas for a Deployment, ReplicaSet or StatefulSet."""

    workload: str
    replicas: int


class UpdateEvent(_Form, frozen=True, kw_only=True):
    """A rolling update: the pods of a workload are replaced by others.

    Attributes:
        workload: of kind Deployment, StatefulSet or DaemonSet. Of pods, later ones are changed.
        pod: what its pods are like from now on.
    """

    workload: str
    pod: PodForm


class PriorityEvent(_Form, frozen=True, kw_only=True):
    """Another PriorityClass for a workload, which replaces its pods as any update does."""

    workload: str
    priority_class_name: str


class ScenarioEvent(_Form, frozen=True, kw_only=True):
    """Something that happens; exactly one field beside `at` is given.

    Attributes:
        at: when.
        cordon: no more pods on these nodes.
        uncordon: pods again.
        drain: cordon nodes and evict their pods, as far as disruption budgets allow.
        fail: these nodes stop answering; their pods neither start nor end until they recover or
            are removed.
        recover: nodes that failed answer again.
        remove: these nodes are gone with everything on them.
        add: more nodes.
        taint: a taint on nodes.
        untaint: take a taint away.
        scale: another number of replicas.
        update: a rolling update.
        priority: another PriorityClass.
        apply: create a Kubernetes object, or replace it.
    """

    at: str
    cordon: NodeSelection | None = None
    uncordon: NodeSelection | None = None
    drain: NodeSelection | None = None
    fail: NodeSelection | None = None
    recover: NodeSelection | None = None
    remove: NodeSelection | None = None
    add: AddNodes | None = None
    taint: TaintEvent | None = None
    untaint: TaintEvent | None = None
    scale: ScaleEvent | None = None
    update: UpdateEvent | None = None
    priority: PriorityEvent | None = None
    apply: dict[str, Any] | None = None


class AutoscalerForm(_Form, frozen=True, kw_only=True):
    """How node groups with `autoscaling` are changed, as cluster-autoscaler does.

    Attributes:
        expander: which group grows if several would help.
        scan_interval: how often it looks.
        scale_down_unneeded_time: a node goes when it was not needed for so long.
        scale_down_delay_after_add: none goes for so long after a group has grown.
        scale_down_utilization_threshold: a node may go if its pods request less than this share of
            its CPU and of its memory, or of its GPUs if it has some.
    """

    expander: Expander = "random"
    scan_interval: str = "10s"
    scale_down_unneeded_time: str = "10m"
    scale_down_delay_after_add: str = "10m"
    scale_down_utilization_threshold: float = 0.5


class LatencyForm(_Form, frozen=True, kw_only=True):
    """How long things take in virtual time.

    Attributes:
        decision: of the scheduler; the next one begins after it.
        binding: from a decision until the pod is bound.
        preemption: from a decision until victims are told to go.
        pod_start: from being bound to running.
        pod_stop: from being deleted to being gone.
        node_monitor_grace_period: from a node's silence until it counts as unreachable, as of
            kube-controller-manager.
    """

    decision: str = "1ms"
    binding: str = "10ms"
    preemption: str = "10ms"
    pod_start: str = "1s"
    pod_stop: str = "1s"
    node_monitor_grace_period: str = "50s"


class SchedulerForm(_Form, frozen=True, kw_only=True):
    """A scheduler to try; ``moor simulate`` takes the first, ``moor compare`` all of them.

    Attributes:
        name: for people.
        config: a KubeSchedulerConfiguration file, relative to the scenario.
        policy: a policy file, relative to the scenario, or ``package.module:policy``.
    """

    name: str = ""
    config: str = ""
    policy: str = ""


class Scenario(_Form, frozen=True, kw_only=True):
    """A scenario.

    Attributes:
        name: for people; the file's name if it is not given.
        seed: for everything that is drawn, unless ``--seed`` says otherwise.
        until: the end; without it, when nothing happens any more.
        cluster: what is there at the beginning.
        workloads: what comes.
        manifests: files with Kubernetes objects that are created at the beginning, relative to the
            scenario.
        events: what happens to the cluster.
        autoscaler: present if node groups grow and shrink.
        latencies: how long things take.
        schedulers: who decides; kube-scheduler's defaults if nobody is given.
    """

    name: str = ""
    seed: int = 0
    until: str = ""
    cluster: ClusterForm
    workloads: list[WorkloadForm] = []
    manifests: list[str] = []
    events: list[ScenarioEvent] = []
    autoscaler: AutoscalerForm | None = None
    latencies: LatencyForm = LatencyForm()
    schedulers: list[SchedulerForm] = []
