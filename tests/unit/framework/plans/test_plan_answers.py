"""Plans that plugins make are looked at when they are made, and so are their functions' answers."""

from typing import Any

import pytest
from msgspec.structs import replace

import mooring as mr
from mooring import hook
from mooring.errors import AnswerError
from mooring.framework.plans.plan import Plan, WaitingEvent, Write
from mooring.framework.plans.plan_answers import legal_plan, legal_ready, legal_write
from mooring.framework.verdict import Verdict, fail, reject
from mooring.model.storage import PersistentVolume, PersistentVolumeClaim

WRITE = Write(verb="patch", kind=PersistentVolumeClaim, key="default/c", body={"spec": {"a": [1]}})


class Text(str):
    """Not a plain text."""

    __slots__ = ()


class Mine(mr.Node, frozen=True):
    """A class of objects that mooring does not know."""


def wrong(thing: Any, **parts: Any) -> Any:
    """The same with other parts."""
    return replace(thing, **parts)


def test_a_legal_plan_is_taken_as_it_is() -> None:
    plan = Plan(
        doing="binding volumes",
        writes=(WRITE, lambda _: None),
        ready=lambda _: True,
        objects=((PersistentVolumeClaim, "default/c"), (PersistentVolume, "pv")),
        seconds=7,
        too_late="it took too long",
        event=WaitingEvent(reason="VolumePending", note="waiting for a volume"),
        undo=(lambda _: None, replace(WRITE, patch_type="strategic")),
    )
    assert legal_plan(plan) == plan
    assert legal_plan(Plan()) == Plan()


def test_nobody_else_has_its_parts() -> None:
    body: dict[str, Any] = {"metadata": {"name": "c"}, "spec": (1, 2)}
    plan = legal_plan(Plan(doing=Text("x"), writes=(wrong(WRITE, body=body, key=Text("a/b")),)))
    (write,) = plan.writes
    assert isinstance(write, Write)
    body["metadata"] = None
    assert write.body == {"metadata": {"name": "c"}, "spec": [1, 2]}
    assert (type(plan.doing), type(write.key)) == (str, str)


@pytest.mark.parametrize(
    "plan",
    [
        wrong(Plan(), doing=3),
        wrong(Plan(), writes=[WRITE]),
        wrong(Plan(), writes=(WRITE,) * 1001),
        wrong(Plan(), writes=("patch it",)),
        wrong(Plan(), undo=[WRITE]),
        wrong(Plan(), undo=(WRITE,) * 1001),
        wrong(Plan(), undo=("undo it",)),
        wrong(Plan(), too_late=None),
        wrong(Plan(), event="VolumePending"),
        wrong(Plan(), event=WaitingEvent(reason="volume pending", note="n")),
        wrong(Plan(), event=wrong(WaitingEvent(reason="Pending", note="n"), note=3)),
        wrong(Plan(), ready=True),
        wrong(Plan(), objects=[]),
        wrong(Plan(), objects=((PersistentVolume, "pv"),) * 1001),
        wrong(Plan(), objects=("default/c",)),
        wrong(Plan(), objects=((Mine, "a"),)),
        wrong(Plan(), objects=((PersistentVolume, "default/pv"),)),
        wrong(Plan(), objects=((PersistentVolumeClaim, "c"),)),
        wrong(Plan(), objects=((PersistentVolumeClaim, "default/c/d"),)),
        wrong(Plan(), objects=((PersistentVolumeClaim, "/c"),)),
        wrong(Plan(), objects=((PersistentVolume, ""),)),
        wrong(Plan(), seconds="soon"),
        wrong(Plan(), seconds=float("nan")),
        *(
            Plan(writes=(wrong(WRITE, **parts),))
            for parts in (
                {"verb": "replace"},
                {"patch_type": "json"},
                {"patch_type": Text("merge")},
                {"verb": Text("patch")},
                {"kind": Mine},
                {"kind": "PersistentVolumeClaim"},
                {"key": "c"},
                {"key": None},
                {"key": "default/"},
                {"key": "/c"},
                {"key": "default/c/d"},
                {"kind": PersistentVolume, "key": ""},
                {"verb": "create", "key": "/c"},
                {"verb": "create", "key": "default/", "subresource": "status"},
                {"verb": "create", "key": "default/", "on_conflict": lambda _: None},
                {"body": {"a": object()}},
                {"body": [1]},
                {"body": {"a": "\ud800"}},
                {"body": {"spec": {"n": float("nan")}}},
                {"body": {"spec": [float("inf")]}},
                {"subresource": 1},
                {"doing": None},
                {"on_conflict": "again"},
            )
        ),
    ],
)
def test_an_illegal_plan_is_told(plan: Plan) -> None:
    with pytest.raises(AnswerError, match=r"^it returned "):
        legal_plan(plan)


@pytest.mark.parametrize(
    ("kind", "key"), [(PersistentVolumeClaim, "default/"), (PersistentVolume, "")]
)
def test_the_api_server_may_name_what_is_created(kind: Any, key: str) -> None:
    plan = Plan(writes=(Write(verb="create", kind=kind, key=key, body={"metadata": {}}),))
    assert legal_plan(plan) == plan


@pytest.mark.parametrize(("given", "taken"), [(-1, 0.0), (0, 0.0), (float("inf"), 1e8), (5, 5.0)])
def test_how_long_it_is_waited_for(given: float, taken: float) -> None:
    assert legal_plan(Plan(seconds=given)).seconds == taken


@pytest.mark.parametrize(
    ("answer", "means"),
    [
        (True, True),
        (False, False),
        (reject("no"), reject("no")),
        (fail("oops"), fail("oops")),
        ("no", reject("no")),
    ],
)
def test_what_ready_may_say(answer: object, means: bool | Verdict) -> None:
    assert legal_ready(answer) == means


@pytest.mark.parametrize("answer", [None, 1, "", mr.accept(), [True], hook.SKIP])
def test_what_ready_may_not_say(answer: object) -> None:
    with pytest.raises(AnswerError, match="must return True, False or a rejection"):
        legal_ready(answer)


@pytest.mark.parametrize(
    ("answer", "means"),
    [(None, None), (WRITE, WRITE), ("no", reject("no")), (fail("x"), fail("x"))],
)
def test_what_a_step_may_say(answer: object, means: object) -> None:
    assert legal_write(answer) == means


@pytest.mark.parametrize("answer", [True, False, 3, "", mr.accept(), (WRITE,), Plan()])
def test_what_a_step_may_not_say(answer: object) -> None:
    with pytest.raises(AnswerError, match="must return a Write, None or a rejection"):
        legal_write(answer)
