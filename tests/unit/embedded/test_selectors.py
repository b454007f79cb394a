"""Which objects the selectors of a request mean, and what the server says about wrong ones."""

from typing import NamedTuple

import pytest

from mooring.embedded.resources import (
    CONFIG_MAPS,
    CORE_EVENTS,
    EVENTS,
    JOBS,
    NAMESPACES,
    NODES,
    PODS,
    REPLICATION_CONTROLLERS,
    RESOURCE_SLICES,
    RESOURCES,
    SECRETS,
    Obj,
    Resource,
)
from mooring.embedded.selectors import parse_fields, parse_labels, selectable_fields
from mooring.embedded.status_errors import StatusError

NAME_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


class SelectableObject(NamedTuple):
    name: str
    fields: tuple[str, ...] = ()
    namespace: str = ""


def selectable(resource: Resource, obj: Obj) -> SelectableObject:
    meta = obj["metadata"]
    return SelectableObject(
        meta["name"], selectable_fields(resource, obj), meta.get("namespace", "")
    )


LABELS = {"app": "web", "tier": "front", "size": "7", "empty": "", "in": "notin"}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("", True),
        ("   ", True),
        ("app=web", True),
        ("app==web,tier=front", True),
        ("app = web , tier != back", True),
        ("app=api", False),
        ("app!=web", False),
        ("absent!=web", True),
        ("absent=", False),
        ("empty=", True),
        ("empty=,app", True),
        ("app in (api,web)", True),
        ("app in(api)", False),
        ("app notin (api)", True),
        ("absent notin (api)", True),
        ("app notin (api,web)", False),
        ("absent in ()", False),
        ("empty in ()", True),
        ("empty in (,x)", True),
        ("empty in (x,)", True),
        ("empty in (x,,y)", True),
        ("app", True),
        ("!app", False),
        ("!absent", True),
        ("! absent", True),
        ("size>6,size<8", True),
        ("size>7", False),
        ("size < 7", False),
        ("app>1", False),
        ("absent<1", False),
        ("in=notin", True),
        ("in in (notin,in)", True),
        ("in notin (in)", True),
    ],
)
def test_labels(selector: str, expected: bool) -> None:
    assert parse_labels(selector).matches(LABELS) is expected


def test_only_an_empty_selector_means_everything() -> None:
    assert parse_labels("").everything
    assert parse_fields("", PODS).everything
    assert not parse_labels("a").everything
    assert not parse_fields("metadata.name=a", PODS).everything


OPERATORS = "expected: in, notin, =, ==, !=, gt, lt"


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!!a", "unable to parse requirement: found '!', expected: identifier"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("a b", f"unable to parse requirement: found 'b', {OPERATORS}"),
        ("a ! b", f"unable to parse requirement: found '!', {OPERATORS}"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!a in (b)", "found 'in', expected: ',' or 'end of string'"),
        ("a=(", "unable to parse requirement: found '(', expected: identifier"),
        ("a===b", "unable to parse requirement: found '=', expected: identifier"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (b,!)", "unable to parse requirement: found '!', expected: ',', or identifier"),
        ("-a", f'unable to parse requirement: <nil>: Invalid value: "-a": {NAME_RULE}'),
        (
            "/a",
            (
                'unable to parse requirement: <nil>: Invalid value: "/a": '
                "prefix part must be non-empty"
            ),
        ),
        (
            "k>x",
            (
                'unable to parse requirement: values[0]: Invalid value: "x": '
                "for 'Gt', 'Lt' operators, the value must be an integer"
            ),
        ),
    ],
)
def test_wrong_labels_are_rejected_in_the_servers_words(selector: str, words: str) -> None:
    with pytest.raises(StatusError) as caught:
        parse_labels(selector)
    assert (caught.value.code, str(caught.value)) == (400, words)
    assert caught.value.status["reason"] == "BadRequest"


def test_several_problems_of_a_requirement_are_told_together() -> None:
    with pytest.raises(StatusError) as caught:
        parse_labels("k>-x-")
    told = str(caught.value)
    assert told.startswith('unable to parse requirement: [values[0]: Invalid value: "-x-": for')
    assert ', values[0][k]: Invalid value: "-x-": a valid label must be an empty' in told


def test_a_number_beyond_64_bits_is_no_number() -> None:
    assert not parse_labels("k>5").matches({"k": str(2**63)})
    assert parse_labels("k>5").matches({"k": str(2**63 - 1)})
    assert not parse_labels("k>5").matches({"k": "1_0"})
    with pytest.raises(StatusError):
        parse_labels(f"k>{2**63}")


POD: Obj = {
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "nodeName": "n1", "restartPolicy": "Always", "schedulerName": "default-scheduler",
        "serviceAccountName": "default",
    },
    "status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]},
}  # fmt: skip


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("metadata.name=web", True),
        ("metadata.name==web,metadata.namespace=shop", True),
        ("metadata.name!=web", False),
        ("metadata.namespace!=shop", False),
        ("spec.nodeName=n1", True),
        ("spec.host=n1", True),
        ("spec.nodeName=", False),
        ("spec.nodeName!=", True),
        ("spec.hostNetwork=false", True),
        ("status.phase!=Succeeded,status.phase!=Failed", True),
        ("status.phase=Running,,status.podIP=10.0.0.1,", True),
        ("status.nominatedNodeName=", True),
        ("status.podIPs=10.0.0.1", False),
        (r"spec.nodeName!=a\,b\=c\\", True),
    ],
)
def test_fields_of_pods(selector: str, expected: bool) -> None:
    assert parse_fields(selector, PODS).matches(selectable(PODS, POD)) is expected


def test_escaped_characters_are_part_of_the_value() -> None:
    query = parse_fields(r"type=a\,b\=c\\", SECRETS)
    assert query.matches(SelectableObject("s", ("a,b=c\\",)))


def test_the_name_is_known_when_one_is_required() -> None:
    assert parse_fields("metadata.name=a,spec.nodeName=n", PODS).name == "a"
    assert parse_fields("metadata.name!=a", PODS).name is None
    assert parse_fields("spec.nodeName=a", PODS).name is None


@pytest.mark.parametrize(
    ("selector", "resource", "words"),
    [
        ("spec.foo=x", PODS, "field label not supported: spec.foo"),
        ("metadata.namespace=x", NODES, "field label not supported: metadata.namespace"),
        ("metadata.namespace=x", NAMESPACES, "field label not supported: metadata.namespace"),
        ("regarding.name=x", CORE_EVENTS, "field label not supported: regarding.name"),
        ("involvedObject.name=x", EVENTS, "field label not supported: involvedObject.name"),
        ("status.phase=x", JOBS, 'field label "status.phase" not supported for Job'),
        (
            "a=x",
            RESOURCE_SLICES,
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: a",
        ),
        (
            "data=x",
            CONFIG_MAPS,
            '"data" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ("b,a", PODS, "invalid selector: 'b,a'; can't understand 'a'"),
        ("type=a=b", SECRETS, "invalid field selector: unescaped character in value: 61"),
        (r"type=\a", SECRETS, r"invalid field selector: invalid escape sequence: \a"),
        ("type=a\\", SECRETS, "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_wrong_fields_are_rejected_in_the_servers_words(
    selector: str, resource: Resource, words: str
) -> None:
    with pytest.raises(StatusError) as caught:
        parse_fields(selector, resource)
    assert (caught.value.code, str(caught.value)) == (400, words)


EVENT: Obj = {
    "metadata": {"name": "web.1", "namespace": "shop"},
    "involvedObject": {"kind": "Pod", "name": "web", "namespace": "shop", "apiVersion": "v1"},
    "reason": "Scheduled",
    "type": "Normal",
    "reportingComponent": "mooring",
}


def test_both_kinds_of_events_are_asked_about_the_stored_form() -> None:
    stored = selectable(CORE_EVENTS, EVENT)
    assert parse_fields("involvedObject.name=web,source=mooring", CORE_EVENTS).matches(stored)
    assert parse_fields("regarding.kind=Pod,reportingController=mooring", EVENTS).matches(stored)
    assert not parse_fields("regarding.name=db", EVENTS).matches(stored)
    assert parse_fields("type=Normal,reason=Scheduled", EVENTS).matches(stored)
    assert selectable_fields(EVENTS, EVENT) == stored.fields


def test_the_source_of_an_event_is_its_component_first() -> None:
    event = {**EVENT, "source": {"component": "kubelet", "host": "n1"}}
    fields = dict(zip(CORE_EVENTS.selectable, selectable_fields(CORE_EVENTS, event), strict=True))
    assert (fields["source"], fields["reportingComponent"]) == ("kubelet", "mooring")


@pytest.mark.parametrize(
    ("resource", "obj", "expected"),
    [
        (NODES, {}, ("false",)),
        (NODES, {"spec": {"unschedulable": True}}, ("true",)),
        (JOBS, {}, ("0",)),
        (JOBS, {"status": {"succeeded": 3}}, ("3",)),
        (REPLICATION_CONTROLLERS, {"status": {}}, ("0",)),
        (REPLICATION_CONTROLLERS, {"status": {"replicas": 2}}, ("2",)),
        (PODS, {}, ("", "", "", "", "false", "", "", "")),
        (PODS, {"spec": {"hostNetwork": True}}, ("", "", "", "", "true", "", "", "")),
        (CONFIG_MAPS, {"data": {"a": "b"}}, ()),
    ],
)
def test_values_are_text_as_the_server_has_it(
    resource: Resource, obj: Obj, expected: tuple[str, ...]
) -> None:
    assert selectable_fields(resource, obj) == expected


def test_every_resource_has_as_many_values_as_fields() -> None:
    for resource in RESOURCES:
        stored = CORE_EVENTS if resource == EVENTS else resource
        assert len(selectable_fields(resource, {})) == len(stored.selectable)
