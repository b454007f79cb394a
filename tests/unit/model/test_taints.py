import msgspec
import pytest

from mooring import Taint, Toleration, untolerated
from mooring.model.taints import PREFER_NO_SCHEDULE
from tests.unit.model.golden import rows


def test_the_first_untolerated_taint_is_the_one_kube_scheduler_finds() -> None:
    for taints, tolerations, answer in rows("taints"):
        got = untolerated(
            msgspec.convert(taints, list[Taint]), msgspec.convert(tolerations, list[Toleration])
        )
        expected = None if answer is None else msgspec.convert(answer, Taint)
        assert got == expected, f"{taints} with {tolerations}"


def test_only_the_asked_effects_count() -> None:
    soft = Taint(key="spot", effect="PreferNoSchedule")
    assert untolerated([soft], []) is None
    assert untolerated([soft], [], [PREFER_NO_SCHEDULE]) is soft


def test_an_iterator_of_tolerations_serves_every_taint() -> None:
    taints = [Taint(key=key, effect="NoSchedule") for key in ("a", "b")]
    everything = iter([Toleration(key="a", operator="Exists"), Toleration(key="b")])
    assert untolerated(taints, everything) is None


@pytest.mark.parametrize(
    ("taint", "text"),
    [
        (Taint(key="gpu", value="a100", effect="NoSchedule"), "gpu=a100:NoSchedule"),
        (Taint(key="gpu", effect="NoExecute"), "gpu:NoExecute"),
    ],
)
def test_a_taint_prints_as_kubectl_writes_it(taint: Taint, text: str) -> None:
    assert str(taint) == text
