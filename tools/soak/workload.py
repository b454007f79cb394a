"""The pods and nodes of the soak test: what is there at the start, what comes and goes in a phase.

`driver` calls it, in threads beside the trouble. Names are made of the phase's number, so the same
seed makes the same names; which running pods come to their end depends on what runs.
"""

import random
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from mooring.testing.real_kubernetes import node
from tools.soak.api import Admin
from tools.soak.history import History
from tools.soak.kubelets import Kubelets
from tools.soak.script import Churn, Phase

_THREADS: Final = 4
_STEADY: Final = 40
_TIGHT: Final = 5
#: Nodes come and go one after the other, with such a pause.
_CHURN_PAUSE_SECONDS: Final = 0.2
CPU: Final = "16"
SCHEDULER: Final = "default-scheduler"
PROVISIONER: Final = "nobody"


class SoakObjects:
    """The objects in the cluster.

    Args:
        admin: creates and deletes.
        history: knows what is there.
        kubelets: learn of nodes that are made smaller.

    Attributes:
        created: how many pods were created.
    """

    def __init__(self, admin: Admin, history: History, kubelets: Kubelets) -> None:
        self.created = 0
        self._admin = admin
        self._history = history
        self._kubelets = kubelets
        self._steady = [f"steady-{i}" for i in range(_STEADY)]
        self._changed: set[str] = set()

    def begin(self) -> None:
        """What is there before anything happens."""
        nodes = [_node(name) for name in self._steady]
        nodes += [
            node(f"tight-{i}", cpu="4", memory="64Gi", labels={"pool": "tight"})
            for i in range(_TIGHT)
        ]
        kinds: list[dict[str, Any]] = [
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "important"},
                "value": 1000,
            },
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": PROVISIONER},
                "provisioner": f"example.com/{PROVISIONER}",
                "volumeBindingMode": "WaitForFirstConsumer",
            },
        ]
        self._create([*kinds, *nodes])

    # -- pods

    def fill(self, phase: Phase) -> None:
        """Create the pods of a phase, mixed, and let some that run come to their end."""
        wanted, number = phase.workload, phase.number
        draw = random.Random(phase.seed)  # noqa: S311 - no secret
        self.finish(wanted.finished, draw)
        pods = [_pod(f"plain-{number}-{i}", cpu="500m") for i in range(wanted.plain)]
        pods += [_pod(f"oversized-{number}-{i}", cpu="500") for i in range(wanted.oversized)]
        pods += [_pod(f"filler-{number}-{i}", cpu="1", pool="tight") for i in range(wanted.fillers)]
        pods += [
            _pod(f"important-{number}-{i}", cpu="1", pool="tight", important=True)
            for i in range(wanted.important)
        ]
        claims = [f"claim-{number}-{i}" for i in range(wanted.claims)]
        pods += [_pod(name, cpu="10m", claim=name) for name in claims]
        draw.shuffle(pods)
        self._create(pods)
        self.created += len(pods)

    def finish(self, count: int, draw: random.Random) -> None:
        """Let some pods that run come to their end; they stay, as finished pods do."""
        running = sorted(
            one.name
            for one in self._history.pods.all()
            if one.status.phase == "Running" and one.metadata.deletion_timestamp is None
        )
        names = draw.sample(running, min(count, len(running)))
        done = {"status": {"phase": "Succeeded"}}
        self._each(
            lambda name: self._admin.patch(f"/api/v1/namespaces/default/pods/{name}/status", done),
            names,
        )

    def tidy(self, most: int = 400) -> None:
        """Delete what waits for good, what has finished, and what is too much."""
        pods = self._history.pods.all()
        gone = [
            one for one in pods if one.finished or not one.node or one.kind in ("claim", "filler")
        ]
        rest = sorted((one for one in pods if one not in gone), key=lambda one: one.name)
        gone += rest[most:] if len(rest) > most else []
        self._each(lambda name: self._admin.delete("Pod", name), [one.name for one in gone])
        claims = [one.name for one in gone if one.kind == "claim"]
        self._each(lambda name: self._admin.delete("PersistentVolumeClaim", name), claims)

    # -- nodes

    def churn(self, phase: Phase) -> None:
        """Add, delete, cordon, taint and resize nodes, in an order that the seed decides."""
        draw = random.Random(phase.seed + 1)  # noqa: S311 - no secret
        steps = _steps(phase.churn)
        draw.shuffle(steps)
        for number, step in enumerate(steps):
            time.sleep(_CHURN_PAUSE_SECONDS)
            if step == "add":
                self._admin.create(_node(f"extra-{phase.number}-{number}"))
            elif step == "delete":
                self._delete_extra(draw)
            else:
                self._change(step, draw.choice(self._steady), draw)

    def _delete_extra(self, draw: random.Random) -> None:
        names = [one.name for one in self._history.nodes.all() if one.name.startswith("extra-")]
        if names:
            self._admin.delete("Node", draw.choice(sorted(names)))

    def _change(self, step: str, name: str, draw: random.Random) -> None:
        self._changed.add(name)
        path = f"/api/v1/nodes/{name}"
        if step == "cordon":
            self._admin.patch(path, {"spec": {"unschedulable": True}})
        elif step == "taint":
            taint = {"key": "example.com/soak", "effect": "NoSchedule"}
            self._admin.patch(path, {"spec": {"taints": [taint]}})
        else:
            self._resize(name, str(draw.choice((4, 8, 12, 24))))

    def _resize(self, name: str, cpu: str) -> None:
        self._kubelets.shrinks(name)
        room = {"status": {"allocatable": {"cpu": cpu}, "capacity": {"cpu": cpu}}}
        self._admin.patch(f"/api/v1/nodes/{name}/status", room)
        self._kubelets.shrinks(name)

    def restore(self) -> None:
        """Give every changed node back what it had, so that all plain pods have room."""
        for name in sorted(self._changed):
            self._admin.patch(
                f"/api/v1/nodes/{name}", {"spec": {"unschedulable": None, "taints": None}}
            )
            self._resize(name, CPU)
        self._changed.clear()

    # -- many at a time

    def _create(self, manifests: Iterable[dict[str, Any]]) -> None:
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(self._create_with_claim, manifests))

    def _create_with_claim(self, manifest: dict[str, Any]) -> None:
        name = manifest["metadata"]["name"]
        if name.startswith("claim-"):
            self._admin.create(_claim(name))
        self._admin.create(manifest)

    def _each(self, action: Any, names: Iterable[str]) -> None:
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(action, names))


def _steps(churn: Churn) -> list[str]:
    counts = {
        "add": churn.added,
        "delete": churn.deleted,
        "cordon": churn.cordoned,
        "taint": churn.tainted,
        "resize": churn.resized,
    }
    return [step for step, count in counts.items() for _ in range(count)]


def _node(name: str) -> dict[str, Any]:
    return node(name, cpu=CPU, memory="64Gi", labels={"pool": "steady"})


def _pod(
    name: str,
    *,
    cpu: str,
    pool: str = "steady",
    important: bool = False,
    claim: str = "",
) -> dict[str, Any]:
    requests = {"cpu": cpu, "memory": "64Mi"}
    image = "registry.k8s.io/pause:3.10"
    spec: dict[str, Any] = {
        "schedulerName": SCHEDULER,
        "terminationGracePeriodSeconds": 1,
        # A pod that waits for its volumes has room that no list shows: not on the tight nodes.
        "nodeSelector": {"pool": pool},
        "containers": [{"name": "main", "image": image, "resources": {"requests": requests}}],
    }
    if important:
        spec["priorityClassName"] = "important"
    if claim:
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def _claim(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "storageClassName": PROVISIONER,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
