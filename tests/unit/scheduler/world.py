"""A small world around a core: it carries out effects at once, or later, as a test wants."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from mooring import Pod, Policy
from mooring.config.runtimes import build_profiles
from mooring.framework.decisions.observer import Observer
from mooring.model.change import Gone, Put
from mooring.model.meta import KubeObject
from mooring.plugins.in_tree import default_registry
from mooring.scheduler.core_building import CoreOptions, build_core
from mooring.scheduler.effects import (
    Bind,
    BindFailed,
    Bound,
    Effect,
    PatchStatus,
    PreemptVictims,
    RecordEvent,
    VictimsPreempted,
)
from mooring.state.cluster import Cluster
from mooring.state.memory_bounds import BOUNDS, MemoryBounds


def first(_: int) -> int:
    """Chooses the first of equals."""
    return 0


class World:
    """A cluster in memory and a scheduler for it; time passes when a test says so."""

    def __init__(
        self,
        *objects: KubeObject,
        config: dict[str, Any] | None = None,
        policy: Policy | None = None,
        bounds: MemoryBounds = BOUNDS,
        observers: Mapping[str, Observer] | None = None,
    ) -> None:
        registry = default_registry()
        profiles = build_profiles(config, registry, [policy] if policy else [])
        self.cluster = Cluster(bounds=bounds)
        self.now = 1000.0
        options = CoreOptions(observers=observers or {})
        self.core = build_core(profiles, registry, self.cluster, lambda: 0, first, options)
        self.runtimes = self.core.runtimes
        self.pods: dict[str, Pod] = {}
        self.events: list[tuple[str, str, str]] = []
        #: Pod, reason and message of each condition ``PodScheduled``.
        self.conditions: list[tuple[str, str, str]] = []
        self.binds: list[Bind] = []
        self.evicts: list[PreemptVictims] = []
        #: Whether effects that are answered by reports are carried out at once.
        self.prompt = True
        self.put(*objects)

    def put(self, *objects: KubeObject) -> None:
        """Objects are created or changed."""
        for thing in objects:
            if isinstance(thing, Pod):
                self.pods[thing.key] = thing
            self.core.handle([Put(thing)], self.now)

    def delete(self, thing: KubeObject) -> None:
        """An object is gone."""
        if isinstance(thing, Pod):
            self.pods.pop(thing.key, None)
        self.core.handle([Gone(thing)], self.now)

    def run(self) -> None:
        """Decide until nothing is ready."""
        self.do(self.core.tick(self.now))
        while (cycle := self.core.schedule_one(self.now)) is not None:
            try:
                next(cycle)
            except StopIteration as stop:
                self.do(stop.value)
            else:
                raise AssertionError("there are no extenders here")

    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.now += seconds
        self.run()

    def do(self, effects: list[Effect]) -> None:
        """Carry out effects."""
        for effect in effects:
            if isinstance(effect, RecordEvent):
                self.events.append((effect.pod.name, effect.reason, effect.note))
            elif isinstance(effect, PatchStatus):
                if effect.reason:
                    self.conditions.append((effect.pod.name, effect.reason, effect.message))
                self._patch(effect)
            elif isinstance(effect, Bind):
                self.binds.append(effect)
                if self.prompt:
                    self.bind(effect)
            elif isinstance(effect, PreemptVictims):
                self.evicts.append(effect)
                if self.prompt:
                    self.evict(effect)

    def bind(self, effect: Bind) -> None:
        """The API server binds a pod, and everybody hears of it."""
        pod = self.pods[effect.pod.key]
        bound = replace(pod, spec=replace(pod.spec, node_name=effect.binding.node_name))
        self.do(self.core.report(Bound(effect.pod, effect.binding.node_name), self.now))
        self.put(bound)

    def reject(self, effect: Bind, message: str = "no") -> None:
        """The API server does not bind a pod."""
        failed = BindFailed(effect.pod, effect.binding.node_name, message)
        self.do(self.core.report(failed, self.now))

    def evict(self, effect: PreemptVictims) -> None:
        """Victims are deleted."""
        self.do(self.core.report(VictimsPreempted(effect.preemptor), self.now))
        for victim in effect.victims:
            self.delete(victim)

    def _patch(self, effect: PatchStatus) -> None:
        pod = self.pods.get(effect.pod.key)
        if pod is not None and effect.nominated_node is not None:
            status = replace(pod.status, nominated_node_name=effect.nominated_node or None)
            self.put(replace(pod, status=status))

    def where(self, name: str) -> str:
        """The node a pod is on; empty if it waits."""
        return self.pods[f"default/{name}"].node_name

    @property
    def used(self) -> list[int]:
        """The CPU in use on each node, by row."""
        used: list[int] = self.cluster.columns.used("cpu").tolist()
        return used
