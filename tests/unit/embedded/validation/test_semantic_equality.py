"""Whether two versions mean the same, and changes that need a history."""

import copy
from typing import Any

import pytest

from mooring.embedded.resources import BINDINGS, PODS
from mooring.embedded.validation.field_errors import shown
from mooring.embedded.validation.semantic_equality import differences, same
from mooring.embedded.validation.validation import validate
from tests.unit.embedded.fake_api_server import FakeApiServer


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": ""}, {}),
        ({"hostNetwork": False}, {}),
        ({"tolerations": []}, {"tolerations": None}),
        ({"resources": {"limits": {}}}, {}),
        ([{"a": 0}], [{}]),
    ],
)
def test_zero_is_the_same_as_nothing(one: Any, other: Any) -> None:
    assert same(one, other)
    assert same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"priority": 0}, {}),
        ({"emptyDir": {}}, {}),
        ({"securityContext": {"runAsUser": 0}}, {"securityContext": {}}),
        ({"a": 1}, {"a": 2}),
        (["a"], ["a", "b"]),
        ({"storageClassName": ""}, {}),
    ],
)
def test_a_pointer_to_zero_is_not_nothing(one: Any, other: Any) -> None:
    assert not same(one, other)
    assert not same(other, one)


def test_differences_name_the_fields() -> None:
    old = {"a": {"b": [{"c": 1}]}, "d": "e"}
    new = {"a": {"b": [{"c": 2}]}, "f": ""}
    assert list(differences(old, new, "spec")) == [
        "- spec.a.b[0].c: 1",
        "+ spec.a.b[0].c: 2",
        '- spec.d: "e"',
        "+ spec.d: null",
    ]


def test_values_are_shown_as_go_shows_them() -> None:
    assert shown('a"\\\n\x01ü') == '"a\\"\\\\\\n\\x01ü"'
    assert shown({"a": "<&>", "b": [1, True, None]}) == (
        '{"a":"\\u003c\\u0026\\u003e","b":[1,true,null]}'
    )


def test_a_rejected_change_of_a_pod_tells_what_changed() -> None:
    old = FakeApiServer().pod("a").obj
    new = copy.deepcopy(old)
    new["spec"]["nodeName"] = "n"
    (cause,) = validate(PODS, new, old)
    assert cause.field == "spec"
    assert cause.message.startswith("Forbidden: pod updates may not change fields other than ")
    assert cause.message.endswith('\n- spec.nodeName: null\n+ spec.nodeName: "n"')


def ended(server: FakeApiServer, restart: str, code: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A pod whose container has ended, and the pod with the container running again."""
    old = server.bound_pod("a", restartPolicy=restart).obj
    state = {"terminated": {"exitCode": code}}
    old["status"]["containerStatuses"] = [{"name": "c", "state": state}]
    new = copy.deepcopy(old)
    new["status"]["containerStatuses"][0]["state"] = {"running": {}}
    return new, old


@pytest.mark.parametrize(("restart", "code"), [("Never", 1), ("OnFailure", 0)])
def test_a_container_that_has_ended_stays_so(restart: str, code: int) -> None:
    new, old = ended(FakeApiServer(), restart, code)
    (cause,) = validate(PODS, new, old, subresource="status")
    assert cause.field == "status.containerStatuses[0].state"
    assert cause.message == "Forbidden: may not be transitioned to non-terminated state"


@pytest.mark.parametrize(("restart", "code"), [("Always", 0), ("OnFailure", 1)])
def test_a_container_may_start_again(restart: str, code: int) -> None:
    new, old = ended(FakeApiServer(), restart, code)
    assert validate(PODS, new, old, subresource="status") == []


def test_no_finalizers_for_what_is_being_deleted() -> None:
    old = FakeApiServer().pod("a").obj
    old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    new = copy.deepcopy(old)
    new["metadata"]["finalizers"] = ["example.com/b", "example.com/a"]
    causes = validate(PODS, new, old)
    expected = (
        "Forbidden: no new finalizers can be added if the object is being deleted, found new "
        'finalizers []string{"example.com/a", "example.com/b"}'
    )
    assert {one.message for one in causes} == {expected}


def test_bindings() -> None:
    assert validate(BINDINGS, {"target": {"kind": "Node", "name": "n"}}, None) == []
    causes = validate(BINDINGS, {"target": {"kind": "Rack"}}, None)
    assert [(one.field, one.message) for one in causes] == [
        ("target.kind", 'Unsupported value: "Rack": supported values: "Node", "<empty>"'),
        ("target.name", "Required value"),
    ]
