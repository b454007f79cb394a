"""What a bind function may return, plain or async, and what becomes of the binding."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

import mooring as mr
from mooring.framework.rules import BindRule

BINDING = mr.Binding(namespace="ns", name="p", uid="u", node_name="a")


def plain(answer: object) -> mr.Binding | mr.Verdict:
    rule = BindRule(kind="bind", name="tie", function=lambda _: answer)
    assert not rule.is_async
    return rule.prepare(BINDING)


def waiting(answer: object) -> mr.Binding | mr.Verdict:
    async def tie(_binding: mr.Binding) -> object:
        await asyncio.sleep(0)
        return answer

    rule = BindRule(kind="bind", name="tie", function=tie)
    assert rule.is_async
    return asyncio.run(rule.prepare_async(BINDING))


both = pytest.mark.parametrize("prepare", [plain, waiting])
Prepare = Callable[[object], mr.Binding | mr.Verdict]


@both
@pytest.mark.parametrize("answer", [None, True, np.True_, mr.accept(), BINDING])
def test_a_yes_leaves_the_binding_as_it_is(prepare: Prepare, answer: object) -> None:
    assert prepare(answer) is BINDING


@both
def test_a_binding_with_annotations_is_taken(prepare: Prepare) -> None:
    more = BINDING.annotate({"card": "0"})
    assert prepare(more) == more


@both
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (False, "rejected by tie"),
        (np.False_, "rejected by tie"),
        ("no card is free", "no card is free"),
        ("", "rejected by tie"),
        (mr.reject("no card is free"), "no card is free"),
        (mr.reject(""), "rejected by tie"),
    ],
)
def test_a_no_is_a_rejection_that_always_has_a_reason(
    prepare: Prepare, answer: object, reason: str
) -> None:
    assert prepare(answer) == mr.reject(reason)


@both
@pytest.mark.parametrize(
    "change", [{"node_name": "b"}, {"name": "q"}, {"namespace": "other"}, {"uid": "v"}]
)
def test_a_binding_of_another_pod_or_node_is_an_error(
    prepare: Prepare, change: dict[str, str]
) -> None:
    with pytest.raises(mr.PolicyError) as caught:
        prepare(msgspec.structs.replace(BINDING, **change))
    assert "bind 'tie' returned a binding with another pod or node" in str(caught.value)
    assert (caught.value.function, caught.value.node) == ("tie", "a")


@both
@pytest.mark.parametrize("annotations", [{"card": 0}, {0: "card"}])
def test_annotations_that_are_no_texts_are_an_error(
    prepare: Prepare, annotations: dict[Any, Any]
) -> None:
    with pytest.raises(mr.PolicyError, match="a binding with annotations that are not strings"):
        prepare(BINDING.annotate(annotations))


@both
@pytest.mark.parametrize("answer", [0, 1, [], {"card": "0"}, object()])
def test_anything_else_is_an_error(prepare: Prepare, answer: object) -> None:
    with pytest.raises(mr.PolicyError, match=r"bind 'tie' returned .*; it must return None, the"):
        prepare(answer)


def test_an_exception_is_an_error_that_names_function_and_node() -> None:
    def fail(_binding: mr.Binding) -> None:
        raise OSError("no route")

    async def fail_later(_binding: mr.Binding) -> None:
        await asyncio.sleep(0)
        raise OSError("no route")

    with pytest.raises(mr.PolicyError) as now:
        BindRule(kind="bind", name="tie", function=fail).prepare(BINDING)
    with pytest.raises(mr.PolicyError) as later:
        asyncio.run(BindRule(kind="bind", name="tie", function=fail_later).prepare_async(BINDING))
    for caught in (now, later):
        assert str(caught.value) == "bind 'tie' failed on node a: OSError: no route"
        assert isinstance(caught.value.__cause__, OSError)
