"""Policies whose results are kept decide exactly as if every function were called for every node.

Random policies of functions that provably read nothing but their arguments, README's and the
examples' among them, on clusters that change as in `test_equivalence_classes`, and in what policies
may read besides: annotations, the status and the labels of running pods, annotations of nodes.
"""

import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import mooring as mr
from mooring.config.runtimes import build_profiles, build_runtime
from mooring.framework.policy_checks import policy_signature
from mooring.framework.policy_plugin import PolicySign, policy_plugin
from mooring.model.pod import Pod
from mooring.plugins.in_tree import default_registry
from mooring.state.changes.row_log import RowLog
from mooring.state.pod_info import PodInfo
from mooring.state.usage import NodeUsage
from tests.property.random_world import GPU
from tests.property.test_equivalence_classes import Story, blind_log

ROOT = Path(__file__).parents[2]
HEAD = """\
import mooring as mr

policy = mr.Policy("random")
GPU = "example.com/gpu"


def same(one, other):
    return one.labels.get("app") == other.labels.get("app")
"""
#: These depend on the order of the pods.
ORDERED = (
    "[o.labels.get('app') for o in node.pods][:1] != ['db']",
    "[o.requests['cpu'] for o in node.pods][-1:] != [1000]",
)
FILTERS = (
    *ORDERED,
    "len(node.pods) < 4",
    "sum(o.requests[GPU] for o in (pod, *node.pods)) <= node.allocatable[GPU]",
    "len([o for o in node.pods if o.namespace == pod.namespace]) < 3",
    "not any(same(o, pod) for o in node.pods)",
    "pod.annotations.get('zone') in (None, node.labels.get('topology.kubernetes.io/zone'))",
    "node.annotations.get('beat', '0') != '3' or pod.priority > 0",
    "len({o.spec.priority_class_name for o in [*node.pods, pod]}) < 2",
    "mr.accept_if('disk' in node.labels or len(pod.labels) < 3, 'no disk')",
    "all(t.effect != 'NoSchedule' for t in node.taints) or 'tainted'",
)
SCORES = (
    "min(100, 10 * len(node.pods))",
    "max(0, 100 - sum(o.requests['cpu'] for o in node.pods) / 300)",
    "100 if [o.namespace for o in node.pods][:1] == [pod.namespace] else 3",
    "50 if pod.annotations.get('beat') == node.annotations.get('beat') else 0",
    "sum(1 for o in node.pods if o.labels.get('app') == 'web') % 7",
    "100 * node.used['cpu'] / max(1, node.allocatable['cpu'], node.used['cpu'])",
    "100 if [o.labels.get('app') for o in node.pods][-1:] == ['web'] else 0",
    "100 if [*node.pods] and [o.requests['cpu'] for o in node.pods][0] > 500 else 0",
)


def random_policy(chance: random.Random, folder: Path) -> mr.Policy:
    """A few functions, or one of the examples."""
    example = chance.choice((None, None, None, "03-image-score", "04-ssd-filter", "06-fair-gpus"))
    if example is not None:
        text = (ROOT / "examples" / example / "policy.py").read_text()
        text = text.replace("nvidia.com/gpu", GPU).replace("mooring.example/disk", "beat")
    else:
        text = HEAD
        for kind, bodies in (("filter", FILTERS), ("score", SCORES)):
            for number, body in enumerate(chance.sample(bodies, chance.randint(0, 2))):
                text += f"@policy.{kind}\ndef {kind}{number}(pod, node):\n    return {body}\n"
        if "@policy" not in text:
            return random_policy(chance, folder)
    file = folder / "policy.py"
    file.write_text(text)
    return mr.load(file)


class PolicyStory(Story):
    """A cluster that changes, with a scheduler that has a policy.

    In every second one, mostly pods change that are on nodes: any other change makes kept results
    be looked at again, too.
    """

    def __init__(self, seed: int, nodes: int, folder: Path) -> None:
        super().__init__(seed, nodes)
        self._is_calm = seed % 2 == 0
        policy = random_policy(self.chance, folder)
        assert isinstance(policy_plugin(policy), PolicySign)
        registry = default_registry()
        (profile,) = build_profiles(None, registry, [policy]).values()
        self.runtime = build_runtime(profile, registry, self.cluster, lambda: 0)

    def _new_pod(self) -> Pod:
        pod = super()._new_pod()
        if self.chance.random() < 0.5:
            notes = {"beat": self.chance.choice("123"), "zone": self.chance.choice("ab")}
            pod = replace(pod, metadata=replace(pod.metadata, annotations=notes))
        return pod

    def _change(self) -> None:
        what = self.chance.randrange(6) if not self._is_calm or self.chance.random() < 0.2 else 0
        if what == 0:
            self._update_pod()
        elif what == 1:
            node = self.nodes[self.chance.choice(list(self.nodes))]
            node["metadata"]["annotations"] = {"beat": self.chance.choice("123")}
            self._put(node["metadata"]["name"])
        else:
            super()._change()

    def _update_pod(self) -> None:
        """A running pod changes in what its template does not say, or in its labels."""
        if not self._placed:
            return
        place = self.chance.randrange(len(self._placed))
        pod = self._placed[place]
        metadata, status = pod.metadata, pod.status
        what = self.chance.choice(("annotations", "labels", "status", "confirmed"))
        if what == "annotations":
            metadata = replace(metadata, annotations={"beat": self.chance.choice("123")})
        elif what == "labels":
            app = {"app": self.chance.choice(("web", "db", "job"))}
            metadata = replace(metadata, labels={**(metadata.labels or {}), **app})
        elif what == "status":
            status = replace(status, phase="Running", start_time=f"{self.chance.random()}")
        pod = self._placed[place] = replace(pod, metadata=metadata, status=status)
        self.cluster.put_pod(pod)


@pytest.mark.parametrize("nodes", [6, 40])
@pytest.mark.parametrize("seed", range(20))
def test_a_policy_decides_as_if_it_were_asked_every_time(
    seed: int, nodes: int, tmp_path: Path
) -> None:
    assert list(PolicyStory(seed, nodes, tmp_path).differences()) == []


def test_many_decisions_are_made_from_what_is_kept(tmp_path: Path) -> None:
    decided: Counter[str] = Counter()
    for seed in range(6):
        story = PolicyStory(seed, 12, tmp_path)
        assert list(story.differences()) == []
        decided += story.decided
    assert decided["kept"] > 100, decided


def no_reads(*_: object) -> bytes:
    """Signs all pods alike."""
    return b""


_replace = NodeUsage.replace


def silent_replace(usage: NodeUsage, key: str, info: PodInfo) -> bool:
    """Says that the order of the pods is the same."""
    _replace(usage, key, info)
    return False


@pytest.mark.parametrize(
    ("owner", "name", "planted"),
    [
        (RowLog, "append", blind_log),
        (NodeUsage, "replace", silent_replace),
        (policy_signature.PolicySignature, "of", no_reads),
    ],
    ids=["row log", "order of pods", "signature"],
)
def test_a_planted_difference_is_found(
    owner: Any, name: str, planted: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(owner, name, planted)
    if planted is silent_replace:
        monkeypatch.setattr(sys.modules[__name__], "FILTERS", ORDERED)
    assert any(list(PolicyStory(seed, 12, tmp_path).differences()) for seed in range(40))
