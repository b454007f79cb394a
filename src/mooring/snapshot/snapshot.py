"""A cluster from Kubernetes objects as people have them: dumps, manifests, test vectors.

`Snapshot` takes objects in any order, gives them the API server's defaults and puts them into a
`Cluster`. A strict snapshot raises at the first object it cannot use; a lenient one leaves the
object out and remembers why, so that nothing is skipped silently. Reading texts is the business of
`mooring.snapshot.text_reader`; this module opens no files.
"""

from collections import Counter
from typing import NamedTuple, TypeVar, cast

from mooring.errors import InputError
from mooring.model.checks import check_object
from mooring.model.defaults import Defaults
from mooring.model.kinds import KINDS
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.workloads import PriorityClass
from mooring.state.cluster import Cluster
from mooring.state.node_info import without_usage
from mooring.state.shapes import Shapes

T = TypeVar("T", bound=KubeObject)


class SkippedObject(NamedTuple):
    """Something that does not count: which object or document, and a sentence that says why."""

    thing: str
    problem: str


class Snapshot:
    """Objects of one cluster, collected and then made into its state.

    Args:
        strict: raise at something that cannot be used, instead of leaving it out.

    Attributes:
        skipped: what was left out.
        ignored: how many objects there were of kinds that scheduling does not read, by kind.
    """

    def __init__(self, *, strict: bool = True) -> None:
        self.skipped: list[SkippedObject] = []
        self.ignored: Counter[str] = Counter()
        self._strict = strict
        self._defaults = Defaults()
        self._things: dict[type[KubeObject], list[KubeObject]] = {}

    def add(self, thing: KubeObject) -> None:
        """Take one object."""
        if isinstance(thing, Node):
            thing = without_usage(thing)  # which a node of another cluster has
        self._things.setdefault(type(thing), []).append(thing)

    def all(self, kind: type[T]) -> list[T]:
        """All objects of a kind as they came, also those that turned out to be unusable."""
        return cast("list[T]", self._things.get(kind, []))

    def __len__(self) -> int:
        return sum(map(len, self._things.values()))

    def skip(self, thing: str, problem: str) -> None:
        """Leave something out.

        Raises:
            InputError: the snapshot is strict.
        """
        if self._strict:
            raise InputError(problem)
        self.skipped.append(SkippedObject(thing, problem))

    def build(self) -> Cluster:
        """Make the cluster's state from all objects taken so far.

        Pods on nodes that are not there count for nothing, as in kube-scheduler; a lenient snapshot
        mentions them.

        Raises:
            InputError: an object cannot be used, and the snapshot is strict.
        """
        self._defaults = Defaults(self.all(PriorityClass))
        cluster = Cluster()
        for kind in KINDS:
            seen: set[str] = set()
            for thing in self._things.get(kind.type, ()):
                self._put(cluster, thing, seen)
        return cluster

    def stored(self, pod: Pod) -> Pod:
        """A pod as the API server would have stored it.

        Raises:
            InputError: something in it is wrong; the text says what and where.
        """
        problem = _problem(pod)
        if problem is not None:
            raise InputError(problem)
        stored = self._defaults.apply(pod)
        try:
            Shapes().of(stored)
        except OverflowError as error:
            raise InputError(_too_large(pod)) from error
        return stored

    def _put(self, cluster: Cluster, thing: KubeObject, seen: set[str]) -> None:
        key = thing.key
        problem = _problem(thing)
        if problem is None and key in seen:
            problem = f"{thing.kind_name} {key} occurs more than once; the first one is used"
        if problem is None and isinstance(thing, Pod) and not self._strict:
            problem = _lost(cluster, thing)
        if problem is None:
            seen.add(key)
            try:
                cluster.put(self._defaults.apply(thing))
            except InputError as error:
                problem = str(error)
            except OverflowError:
                problem = _too_large(thing)
        if problem is not None:
            self.skip(f"{thing.kind_name} {key}", problem)


def _problem(thing: KubeObject) -> str | None:
    problems = check_object(thing)
    if problems:
        return problems[0]
    if not thing.name:
        return f"a {thing.kind_name} has no name; set metadata.name"
    return None


def _too_large(thing: KubeObject) -> str:
    return f"{thing.kind_name} {thing.key}: a number in it is larger than Kubernetes allows"


def _lost(cluster: Cluster, pod: Pod) -> str | None:
    if not pod.node_name or pod.node_name in cluster.nodes or pod.finished:
        return None
    return f"Pod {pod.key} is on node {pod.node_name}, which is not in the snapshot"
