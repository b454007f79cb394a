"""Answers of hooks: what is legal stays as it is, and nothing foreign is looked at twice."""

from collections.abc import Collection, Iterator

import pytest

from mooring.errors import AnswerError
from mooring.framework.binding import Binding
from mooring.framework.decisions.post_filter_answers import legal_post_filter
from mooring.framework.filtering import Preemption
from mooring.framework.hook_answers import (
    legal_binding,
    legal_pre_filter,
    legal_verdict,
    rejection,
)
from mooring.framework.verdict import Verdict, reject
from mooring.state.cluster import Cluster
from mooring.testing import make_pod

BINDING = Binding(namespace="shop", name="web", uid="u-1", node_name="a")


class Once(Collection[str]):
    """Names that can be read once."""

    def __init__(self, *names: str) -> None:
        self._names = list(names)
        self._reads = 0

    def __iter__(self) -> Iterator[str]:
        self._reads += 1
        if self._reads > 1:
            raise SystemExit(3)
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names


def test_names_are_read_once() -> None:
    found = legal_pre_filter(Once("a", "b"))
    assert isinstance(found, frozenset)
    assert found == {"a", "b"}


def test_a_rejection_before_a_binding_keeps_all_it_says() -> None:
    no = Verdict(accepted=False, reason="one", also=("two",), error=True)
    assert legal_binding(BINDING, no, "Mine") == no
    bare = legal_binding(BINDING, Verdict(accepted=False), "Mine")
    assert isinstance(bare, Verdict)
    assert bare.reason == "rejected by Mine"


def test_annotations_become_texts_that_can_be_sent() -> None:
    found = legal_binding(BINDING, BINDING.annotate({"why": "a\ud800"}), "Mine")
    assert isinstance(found, Binding)
    assert found.annotations == {"why": "a?"}
    fine = BINDING.annotate({"why": "so"})
    assert legal_binding(BINDING, fine, "Mine") == fine


def test_a_note_is_a_text_that_can_be_shown() -> None:
    assert legal_verdict(reject("no", note="only 3")) == reject("no", note="only 3")
    assert len(legal_verdict(reject("no", note="x" * 5000)).note) == 1027
    assert rejection(reject("no", note="why"), "", unresolvable=True).note == "why"
    with pytest.raises(AnswerError, match="the note of a Verdict must be strings"):
        legal_verdict(reject("no", note=3))  # type: ignore[arg-type]


def test_long_reasons_are_cut_wherever_they_stand() -> None:
    no = Verdict(accepted=False, reason="x" * 5000, also=("y" * 5000, "short"))
    cut = legal_verdict(no)
    assert [len(one) for one in cut.reasons] == [1027, 1027, 5]
    found = legal_post_filter(Preemption(verdict=no), make_pod("p"), Cluster())
    assert isinstance(found, Preemption)
    assert found.verdict == cut
