"""A user's plugin says what would help against its rejection: it is suggested if it works."""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import mooring as mr
from mooring import hook
from mooring.explaining.explainer import Explainer, Explanation
from mooring.model.pod import Pod
from mooring.testing import make_node, make_pod

Proposal = Callable[[hook.RemedyCase], Iterable[hook.Remedy]]

PACKAGE = '''
from mooring import hook


class Keys(hook.Filter, hook.Remedies):
    """Opens nodes to pods that have the key."""

    name = "Keys"

    def filter(self, pod, node):
        return "key" not in node.labels or "node(s) were locked"

    def remedies(self, case):
        yield hook.Remedy.label_node(case.node, {"key": None})
'''


def labelled(pod: Pod, **labels: str) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, labels={**pod.labels, **labels}))


def label_pod(case: hook.RemedyCase, value: str) -> hook.Remedy:
    return hook.Remedy(f"label it key={value}", 2, pod=labelled(case.pod, key=value))


class Locked(hook.Filter, hook.Remedies):
    """Rejects nodes with a lock for which the pod has not the key; proposes what the test says."""

    def __init__(self, proposal: Proposal, name: str = "") -> None:
        self.name = name
        self.proposal = proposal
        self.cases: list[hook.RemedyCase] = []

    def filter(self, pod: mr.Pod, node: mr.Node) -> bool | str:
        lock = node.labels.get("lock")
        return lock is None or pod.labels.get("key") == lock or "node(s) were locked"

    def remedies(self, case: hook.RemedyCase) -> Iterable[hook.Remedy]:
        self.cases.append(case)
        return self.proposal(case)


class LockedProfile(Locked, hook.PreFilter):
    """The same as a plugin of its own in the profile: it prepares its filter."""

    name = "LockedProfile"

    def pre_filter(self, cycle: hook.Cycle) -> hook.PreFilterAnswer:
        return None


class LockedAsSuch(Locked, hook.PreEnqueue):
    """Rejects pods without a key before they are in the queue."""

    def filter(self, pod: mr.Pod, node: mr.Node) -> bool:
        return True

    def pre_enqueue(self, pod: mr.Pod) -> bool | str:
        return "key" in pod.labels or "it has no key"


NODES = [make_node("a", labels={"lock": "x"}), make_node("b", labels={"lock": "y"})]


def explain(*plugins: hook.Hook, pod: Pod | None = None, node: str = "") -> Explanation:
    policy = mr.Policy("locks")
    for plugin in plugins:
        policy.add(plugin)
    return Explainer(NODES, policy=policy).explain(pod or make_pod("web"), node)


def texts(found: Explanation) -> list[str]:
    return [one.combination.text for one in found.suggestions]


KINDS = pytest.mark.parametrize("kind", [Locked, LockedProfile])


@KINDS
def test_what_works_is_suggested(kind: type[Locked]) -> None:
    found = explain(kind(lambda case: [label_pod(case, case.node.labels["lock"])]))
    assert [(one.combination.text, one.nodes) for one in found.suggestions] == [
        ("label it key=x", ("a",)),
        ("label it key=y", ("b",)),
    ]
    assert found.failed == ()


@KINDS
def test_what_does_not_work_is_not_suggested(kind: type[Locked]) -> None:
    assert texts(explain(kind(lambda case: [label_pod(case, "wrong")]))) == []


@KINDS
def test_the_case_is_the_rejection(kind: type[Locked]) -> None:
    plugin = kind(lambda _: [])
    assert texts(explain(plugin, node="b")) == []
    [case] = plugin.cases
    assert (case.pod.key, case.node.name, case.nominated) == ("default/web", "b", False)
    assert case.verdict.reasons == ("node(s) were locked",)
    assert set(case.cluster.nodes) == {"a", "b"}
    assert not case.accepts(case.pod)
    assert not case.accepts(labelled(case.pod, key="x"))
    assert case.accepts(labelled(case.pod, key="y"))


def test_a_plugin_that_rejects_the_pod_as_such() -> None:
    found = explain(LockedAsSuch(lambda case: [label_pod(case, "any")]))
    assert texts(found) == ["label it key=any"]
    assert found.suggestions[0].nodes == ("a", "b")


def test_every_kind_of_change() -> None:
    def every(case: hook.RemedyCase) -> Iterator[hook.Remedy]:
        yield hook.Remedy.label_node(case.node, {"lock": None})
        yield hook.Remedy("add a node", hook.Cost.ADD_NODE, added=make_node("free"))

    found = explain(Locked(every))
    assert [(one.combination.text, one.nodes) for one in found.suggestions] == [
        ("remove the label lock from a", ("a",)),
        ("add a node", ("free",)),
    ]


def test_another_pod_is_taken_off() -> None:
    class Alone(hook.Filter, hook.Remedies):
        def filter(self, pod: mr.Pod, node: mr.Node) -> bool:
            return not node.pods

        def remedies(self, case: hook.RemedyCase) -> Iterator[hook.Remedy]:
            yield from map(hook.Remedy.take_off, case.node.pods)

    policy = mr.Policy("alone")
    policy.add(Alone())
    objects = [make_node("a"), make_pod("x", node="a")]
    found = Explainer(objects, policy=policy).explain(make_pod("web"))
    assert texts(found)[0] == "remove default/x from a"


def test_remedies_of_several_plugins_are_combined() -> None:
    pod = make_pod("web", spec={"nodeSelector": {"disk": "ssd"}})
    found = explain(Locked(lambda case: [label_pod(case, "x")]), pod=pod, node="a")
    assert texts(found)[0] == "drop the node selector disk=ssd and label it key=x"


def test_only_those_of_a_policy_that_reject_the_node_are_asked() -> None:
    class Content(Locked):
        def filter(self, pod: mr.Pod, node: mr.Node) -> bool:
            return True

    content = Content(lambda case: [label_pod(case, "x")], "content")
    locked = Locked(lambda case: [label_pod(case, "x")], "locked")
    assert texts(explain(content, locked)) == ["label it key=x"]
    assert content.cases == []
    assert locked.cases[0].verdict.reasons == ("node(s) were locked",)


def test_pods_nominated_to_the_node_count() -> None:
    class Alone(Locked):
        def filter(self, pod: mr.Pod, node: mr.Node) -> bool:
            return not node.pods or "key" in pod.labels

    nominated = Pod.from_dict(
        {
            "metadata": {"name": "vip"},
            "spec": {"priority": 10, "containers": [{"name": "c"}]},
            "status": {"nominatedNodeName": "a"},
        }
    )
    plugin = Alone(lambda case: [label_pod(case, "x")])
    policy = mr.Policy("alone")
    policy.add(plugin)
    found = Explainer([make_node("a"), nominated], policy=policy).explain(make_pod("web"))
    assert texts(found)[0] == "label it key=x"
    assert plugin.cases[0].nominated


def test_a_filter_without_remedies_proposes_nothing() -> None:
    policy = mr.Policy("no")

    @policy.filter
    def never(pod: mr.Pod, node: mr.Node) -> bool:
        return False

    found = Explainer(NODES, policy=policy).explain(make_pod("web"))
    assert (texts(found), found.failed) == ([], ())


def raising(_: hook.RemedyCase) -> list[hook.Remedy]:
    raise KeyError("oops")


def exiting(case: hook.RemedyCase) -> Iterator[hook.Remedy]:
    yield label_pod(case, "x")
    raise SystemExit(3)


def asking_for_ever(case: hook.RemedyCase) -> list[hook.Remedy]:
    while not case.accepts(case.pod):
        pass
    return []


FAILURES: dict[str, tuple[Any, str]] = {
    "raises": (raising, "KeyError: 'oops'"),
    "exits": (exiting, "it tried to end the process (SystemExit: 3)"),
    "asks for ever": (asking_for_ever, "it tested more than 100 changes"),
    "a number": (lambda _: 3, "it returned 3; it must return hook.Remedy objects"),
    "texts": (
        lambda _: ["uncordon a"],
        "it returned 'uncordon a'; it must return hook.Remedy objects",
    ),
    "no change": (
        lambda _: [hook.Remedy("nothing", 1)],
        "it returned a Remedy with 0 changes; set one of pod, node, moved, added and created",
    ),
    "another pod": (
        lambda _: [hook.Remedy("swap", 1, pod=make_pod("other"))],
        "it returned pod default/other in place of default/web",
    ),
}


@KINDS
@pytest.mark.parametrize("failure", FAILURES)
def test_a_plugin_that_fails_is_named_once_and_the_others_are_asked(
    kind: type[Locked], failure: str
) -> None:
    proposal, text = FAILURES[failure]
    plugin = kind(proposal, "Broken")
    pod = make_pod("web", spec={"nodeSelector": {"disk": "ssd"}})
    found = explain(plugin, pod=pod)
    assert [str(one) for one in found.failed] == [
        f"plugin Broken failed in remedies for pod default/web: {text}"
    ]
    assert len(plugin.cases) == 1
    assert found.suggestions == ()
    assert found.record.message.startswith("0/2 nodes are available")


class Hostile:
    """Does harm whoever looks at it."""

    def _harm(self, *_: object) -> Any:
        sys.exit(5)

    __class__ = property(_harm)
    __repr__ = __str__ = __iter__ = __len__ = __bool__ = __eq__ = __ne__ = __float__ = _harm
    __hash__ = None  # type: ignore[assignment]


HOSTILE: dict[str, Callable[[Pod], Any]] = {
    "answer": lambda _: Hostile(),
    "remedy": lambda _: [Hostile()],
    "text": lambda pod: [hook.Remedy(Hostile(), 1, pod=pod)],  # type: ignore[arg-type]
    "cost": lambda pod: [hook.Remedy("do", Hostile(), pod=pod)],  # type: ignore[arg-type]
    "kinds": lambda pod: [hook.Remedy("do", 1, Hostile(), pod=pod)],  # type: ignore[arg-type]
    "pod": lambda _: [hook.Remedy("do", 1, pod=Hostile())],  # type: ignore[arg-type]
    "part": lambda pod: [hook.Remedy("do", 1, pod=replace(pod, spec=Hostile()))],
    "moved": lambda _: [hook.Remedy("do", 1, moved=Hostile())],  # type: ignore[arg-type]
    "created": lambda _: [hook.Remedy("do", 1, created=(Hostile(),))],  # type: ignore[arg-type]
}


@pytest.mark.parametrize("part", HOSTILE)
def test_what_does_harm_when_it_is_looked_at_breaks_nothing(part: str) -> None:
    found = explain(Locked(lambda case: HOSTILE[part](case.pod), "Broken"))
    assert [(one.plugin, one.hook, one.pod) for one in found.failed] == [
        ("Broken", "remedies", "default/web")
    ]
    assert found.suggestions == ()


def test_the_others_of_a_policy_are_asked_if_one_fails() -> None:
    good = Locked(lambda case: [label_pod(case, "x")], "Good")
    found = explain(Locked(raising, "Broken"), good)
    assert texts(found) == ["label it key=x"]
    assert [one.plugin for one in found.failed] == ["Broken"]


def test_endless_remedies_are_cut_off() -> None:
    def endless(case: hook.RemedyCase) -> Iterator[hook.Remedy]:
        while True:
            yield label_pod(case, "x")

    found = explain(Locked(endless))
    assert (texts(found), found.failed) == (["label it key=x"], ())


def test_a_plugin_of_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "keys_plugin.py").write_text(PACKAGE)
    info = tmp_path / "keys-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: keys\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mooring.plugins]\nKeys = keys_plugin:Keys\n")
    monkeypatch.syspath_prepend(tmp_path)
    config = {"profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Keys"}]}}}]}
    found = Explainer([make_node("a", labels={"key": "1"})], config).explain(make_pod("web"))
    assert texts(found) == ["remove the label key from a"]
