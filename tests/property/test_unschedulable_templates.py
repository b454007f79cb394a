"""A pod that is answered like the last one of its template gets the answer it would get itself.

Random clusters change in every way. In between, pods of a few templates are decided one after the
other as `moor run` does, and once more by asking every plugin. What a pod's event says and which
plugins rejected it, and so what wakes it, is compared.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from mooring.framework.decisions import unschedulable_templates
from mooring.framework.decisions.decision import Decision
from mooring.framework.decisions.decision_cycle import decide, without_extenders
from mooring.state.cluster import Cluster
from tests.property.test_equivalence_classes import FULL, Difference, Story

AT_ONCE = 6


class ManyAtOnce(Story):
    """Several pods wait, and are decided one after the other on the same state.

    Attributes:
        kept: how many pods were answered like an earlier one.
    """

    def __init__(self, seed: int, nodes: int) -> None:
        super().__init__(seed, nodes)
        self.kept = 0
        # Some templates that fit nowhere, each for another reason.
        for number, template in enumerate(self.templates[::2]):
            template["spec"]["containers"][0]["resources"] = {
                "requests": {"cpu": str(1000 + number), "memory": f"{1 + number}Ti"}
            }

    def _decide(self, step: int) -> Iterator[Difference]:
        pods = [self._new_pod() for _ in range(AT_ONCE)]
        for pod in pods:
            self.cluster.put(pod)
        for pod in pods:
            usual = without_extenders(decide(self.runtime, pod))
            full = without_extenders(decide(self.runtime, pod, FULL))
            self.kept += bool(usual.known_message)
            if told(usual) != told(full):
                yield Difference(step, pod.key, told(usual), told(full))
        for pod in pods:
            self.cluster.remove(pod)


def told(decision: Decision) -> list[str]:
    """What the user and the queue are told of a decision."""
    if len(decision.best):
        return ["fits"]
    return [decision.message, *sorted(decision.filtering.plugins)]


@pytest.mark.parametrize("nodes", [5, 40])
@pytest.mark.parametrize("seed", range(8))
def test_a_pod_is_told_what_asking_everybody_would_tell(seed: int, nodes: int) -> None:
    story = ManyAtOnce(seed, nodes)
    assert list(story.differences()) == []
    assert story.kept


def unchanged(_: object) -> tuple[int, int, int]:
    """Says that nothing ever changes."""
    return (0, 0, 0)


@pytest.mark.parametrize(
    ("owner", "name", "planted"),
    [
        (unschedulable_templates, "_key", lambda cycle: cycle.pod.namespace),
        (Cluster, "changes", property(unchanged)),
    ],
    ids=["one template", "nothing changes"],
)
def test_a_planted_difference_is_found(
    owner: Any, name: str, planted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, planted)
    assert any(list(ManyAtOnce(seed, 5).differences()) for seed in range(20))
