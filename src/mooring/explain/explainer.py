"""One decision in full, for any pod on a given cluster.

`explain` is the library's call; `Explainer` keeps the cluster for many pods, for the command line
and the parity tool. Nothing is changed by asking: what was taken out of the state is put back.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from mooring.errors import InputError
from mooring.explain.reading import Objects, Reader
from mooring.explain.snapshot import Snapshot
from mooring.framework.building import build_profiles, build_runtime
from mooring.framework.examine import examine
from mooring.framework.policy import Policy
from mooring.framework.record import Record
from mooring.framework.registry import Registry
from mooring.framework.runtime import Runtime
from mooring.model.pod import Pod

#: A pod: parsed JSON, a model object, or the ``namespace/name`` of one in the cluster.
PodLike = Pod | Mapping[str, Any] | str


class Explainer:
    """Explains decisions on one cluster.

    Args:
        objects: the cluster.
        config: a parsed ``KubeSchedulerConfiguration``; None is the default one.
        policy: a policy that takes part beside the default plugins.
        pending: other waiting pods, which count where they are nominated.
        now_ns: the clock, nanoseconds since 1970.

    Raises:
        InputError: an object or the configuration cannot be used.
    """

    def __init__(
        self,
        objects: Objects | Snapshot,
        config: Mapping[str, Any] | None = None,
        *,
        policy: Policy | None = None,
        pending: Iterable[Pod | Mapping[str, Any]] = (),
        now_ns: Callable[[], int] = lambda: 0,
    ) -> None:
        self.snapshot = _snapshot(objects)
        self.cluster = self.snapshot.build()
        self.registry = Registry.default()
        self.profiles = build_profiles(config, self.registry, [policy] if policy is not None else [])
        self._now_ns = now_ns
        self._runtimes: dict[str, Runtime] = {}
        for one in pending:
            pod = self.pod(one)
            if pod.status.nominated_node_name:
                self.cluster.nominations.put(pod, pod.status.nominated_node_name)

    def pod(self, wanted: PodLike) -> Pod:
        """The pod that is meant, as the API server would have stored it.

        Raises:
            InputError: there is no such pod, or something in it is wrong.
        """
        if isinstance(wanted, str):
            namespace, slash, name = wanted.rpartition("/")
            found = self.cluster.pod(namespace if slash else "default", name)
            if found is None:
                raise InputError(f"there is no pod {wanted!r} among the objects")
            return found
        if not isinstance(wanted, Pod):
            wanted = Pod.from_dict(dict(wanted))
        return self.snapshot.stored(wanted)

    def record(self, wanted: PodLike) -> Record:
        """Decide about a pod and note everything that was said.

        A pod that is on a node already is taken off for the time of the question.

        Raises:
            InputError: there is no such pod, or something in it is wrong.
            PluginError: a plugin failed.
        """
        pod = self.pod(wanted)
        known = self.cluster.pod(pod.namespace, pod.name)
        if known is None or not known.node_name:
            return self._record(pod)
        self.cluster.remove_pod(known.key)
        try:
            return self._record(replace(pod, spec=replace(pod.spec, node_name=None)))
        finally:
            self.cluster.put_pod(known)

    def _record(self, pod: Pod) -> Record:
        runtime = self.runtime(pod.scheduler_name)
        if runtime is None:
            name = pod.scheduler_name.replace("\\", "\\\\").replace('"', '\\"')
            return Record(
                pod=pod.key,
                profile=pod.scheduler_name,
                priority=pod.priority,
                error=f'no profile for scheduler name "{name}"',
            )
        return examine(runtime, pod)

    def runtime(self, scheduler_name: str) -> Runtime | None:
        """The plugins that decide for a scheduler name; None if there is no such profile."""
        if scheduler_name not in self._runtimes and scheduler_name in self.profiles:
            self._runtimes[scheduler_name] = build_runtime(
                self.profiles[scheduler_name], self.registry, self.cluster, self._now_ns
            )
        return self._runtimes.get(scheduler_name)


def _snapshot(objects: Objects | Snapshot) -> Snapshot:
    if isinstance(objects, Snapshot):
        return objects
    snapshot = Snapshot()
    Reader(snapshot).all(objects)
    return snapshot


def explain(
    objects: Objects,
    pod: PodLike,
    config: Mapping[str, Any] | None = None,
    pending: Iterable[Pod | Mapping[str, Any]] = (),
) -> Record:
    """Decide where a pod goes, as kube-scheduler would, and note what every plugin said.

    Args:
        objects: the cluster: lists of objects by name (``nodes``, ``pods``, ...), or objects as
            parsed JSON or as model objects.
        pod: the pod: parsed JSON, a model object, or the ``namespace/name`` of one in the cluster.
        config: a parsed ``KubeSchedulerConfiguration``; None is the default one.
        pending: other waiting pods, which count where they are nominated.

    Raises:
        InputError: an object or the configuration cannot be used; the text says which and why.
        PluginError: a plugin failed.
    """
    return Explainer(objects, config, pending=pending).record(pod)
