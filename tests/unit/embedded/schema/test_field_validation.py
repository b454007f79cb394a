"""What is rejected, told and taken out; the words are compared with the real ones in tests/e2e."""

from typing import Any

import msgspec
import pytest

from mooring.embedded.resources import CONFIG_MAPS, DEPLOYMENTS, LEASES, PODS, SECRETS, Obj
from mooring.embedded.schema.definitions import definition_of_kind
from mooring.embedded.schema.field_validation import check_fields
from mooring.embedded.schema.scalars import QUANTITY_FORM
from mooring.embedded.status_errors import StatusError

ORDINARY: Obj = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "a", "labels": {"app": "x"}, "creationTimestamp": "2026-01-28T10:00:00Z",
        "managedFields": [{"fieldsV1": {"f:spec": {".": {}}}, "time": "2026-01-28T10:00:00Z"}],
    },
    "spec": {
        "containers": [
            {
                "name": "a",
                "image": "b",
                "ports": [{"containerPort": 80}],
                "resources": {"requests": {"cpu": "100m", "memory": "0.5Gi"}},
                "livenessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 5},
                "readinessProbe": {"httpGet": {"port": 80}},
            }
        ],
        "hostNetwork": False,
        "volumes": [{"name": "v", "emptyDir": {}}],
        "tolerations": [{"operator": "Exists", "tolerationSeconds": 2**40}],
    },
}  # fmt: skip


def copied(obj: Obj) -> Obj:
    decoded: Obj = msgspec.json.decode(msgspec.json.encode(obj))
    return decoded


def pod(spec: Obj) -> Obj:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}


def rejection(resource: Any, obj: Obj) -> str:
    with pytest.raises(StatusError) as caught:
        check_fields(resource, obj)
    assert caught.value.code == 400
    assert caught.value.status["reason"] == "BadRequest"
    message: str = caught.value.status["message"]
    return message


def test_an_ordinary_object_stays_as_it_is() -> None:
    obj = copied(ORDINARY)
    assert check_fields(PODS, obj) == []
    assert obj == ORDINARY


def test_unusual_forms_that_are_right_stay_as_they_are() -> None:
    spec = {
        "containers": [
            {"resources": {"requests": {"cpu": 1, "memory": 1.5, "a.b/c": "1e3", "d": "-.5"}}}
        ],
        "overhead": {"cpu": "+1"},
    }
    obj = pod(spec)
    assert check_fields(PODS, obj) == []
    assert obj == pod(copied(spec))


@pytest.mark.parametrize(
    ("time", "micro"),
    [
        ("2024-02-29T23:59:59Z", "2024-02-29T23:59:59.000001Z"),
        ("2026-01-31T00:00:00+02:00", "2026-01-31T00:00:00.123456-07:00"),
        ("2026-01-31T00:00:00.5Z", "2026-01-31T00:00:00.000000Z"),
    ],
)
def test_times_may_have_zones_and_fractions(time: str, micro: str) -> None:
    obj = {"metadata": {"creationTimestamp": time}, "spec": {"renewTime": micro}}
    assert check_fields(LEASES, obj) == []


def test_nulls_are_taken_out() -> None:
    obj = pod({"nodeName": None, "containers": [{"name": "a", "ports": None}], "affinity": None})
    obj["metadata"]["creationTimestamp"] = None
    obj["status"] = None
    assert check_fields(PODS, obj) == []
    assert obj == pod({"containers": [{"name": "a"}]})


def test_nulls_in_lists_and_maps_become_zero() -> None:
    obj = pod({"containers": [None], "nodeSelector": {"a": None}, "overhead": {"cpu": None}})
    obj["metadata"]["finalizers"] = [None]
    assert check_fields(PODS, obj) == []
    assert obj["spec"] == {"containers": [{}], "nodeSelector": {"a": ""}, "overhead": {"cpu": "0"}}
    assert obj["metadata"]["finalizers"] == [""]


def test_unknown_fields_are_listed_and_taken_out() -> None:
    obj = pod({"nodName": "a", "containers": [{"name": "a"}, {"imagee": {}, "env": [{"x": 1}]}]})
    obj["extra"] = []
    assert check_fields(PODS, obj) == [
        'unknown field "spec.nodName"',
        'unknown field "spec.containers[1].imagee"',
        'unknown field "spec.containers[1].env[0].x"',
        'unknown field "extra"',
    ]
    assert obj == pod({"containers": [{"name": "a"}, {"env": [{}]}]})


def test_unknown_fields_are_taken_out_silently_where_nobody_asks() -> None:
    obj = pod({"nodName": "a", "containers": []})
    assert check_fields(PODS, obj, strict=False) == []
    assert obj == pod({"containers": []})


def test_names_of_fields_are_read_exactly() -> None:
    assert check_fields(PODS, pod({"nodename": "a"})) == ['unknown field "spec.nodename"']


def test_no_more_than_a_hundred_unknown_fields_are_listed() -> None:
    told = check_fields(PODS, pod({f"f{number}": 1 for number in range(150)}))
    assert len(told) == 100
    assert told[99] == 'unknown field "spec.f99"'


def test_keys_of_maps_are_no_fields() -> None:
    obj = {"metadata": {"name": "a"}, "data": {"any.key": "v"}, "binaryData": {"k": "YWJj"}}
    assert check_fields(CONFIG_MAPS, obj) == []


@pytest.mark.parametrize(
    ("spec", "found", "field", "wanted"),
    [
        ({"priority": "1"}, "string", "PodSpec.spec.priority", "int32"),
        ({"priority": 2**31}, "number 2147483648", "PodSpec.spec.priority", "int32"),
        ({"restartPolicy": 1}, "number", "PodSpec.spec.restartPolicy", "v1.RestartPolicy"),
        ({"containers": {}}, "object", "PodSpec.spec.containers", "[]v1.Container"),
        ({"containers": ["a"]}, "string", "PodSpec.spec.containers", "v1.Container"),
        ({"overhead": "much"}, "string", "PodSpec.spec.overhead", "v1.ResourceList"),
        ({"nodeSelector": {"a": 1}}, "number", "PodSpec.spec.nodeSelector", "string"),
        (
            {"volumes": [{"hostPath": "/"}]},
            "string",
            "Volume.spec.volumes.VolumeSource.hostPath",
            "v1.HostPathVolumeSource",
        ),
    ],
)
def test_wrong_types_are_rejected(spec: Obj, found: str, field: str, wanted: str) -> None:
    assert rejection(PODS, pod(spec)) == (
        'Pod in version "v1" cannot be handled as a Pod: '
        f"json: cannot unmarshal {found} into Go struct field {field} of type {wanted}"
    )


def test_wrong_quantities_are_rejected() -> None:
    assert rejection(PODS, pod({"overhead": {"cpu": "much"}})) == (
        f'Pod in version "v1" cannot be handled as a Pod: {QUANTITY_FORM}'
    )


def test_whole_numbers_are_not_booleans_and_not_fractions() -> None:
    assert "cannot unmarshal bool into" in rejection(PODS, pod({"priority": True}))
    assert "cannot unmarshal number into" in rejection(PODS, pod({"hostPID": 1}))
    assert "cannot unmarshal number 1.0 into" in rejection(PODS, pod({"priority": 1.0}))


def test_the_first_of_several_problems_is_reported() -> None:
    message = rejection(DEPLOYMENTS, {"spec": {"replicas": "3", "paused": "no"}})
    assert message.endswith("DeploymentSpec.spec.replicas of type int32")


def test_a_quantity_ends_the_reading_and_is_told_first() -> None:
    obj = pod({"priority": "high", "overhead": {"cpu": "1x"}, "nodeName": 5})
    assert "quantities must match" in rejection(PODS, obj)


def test_base64_is_checked() -> None:
    assert check_fields(SECRETS, {"data": {"a": "YWJj", "b": "", "c": "YQ==", "d": "YW\nI="}}) == []
    message = rejection(SECRETS, {"data": {"a": "YW J"}})
    assert message.endswith(": illegal base64 data at input byte 2")


def test_things_that_are_no_resources_are_checked_too() -> None:
    options = definition_of_kind("", "v1", "DeleteOptions")
    assert check_fields(options, {"gracePeriodSeconds": 0, "preconditions": {"uid": "a"}}) == []
    message = rejection(options, {"gracePeriodSeconds": "0"})
    assert message == (
        'DeleteOptions in version "v1" cannot be handled as a DeleteOptions: json: cannot '
        "unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64"
    )


def test_an_object_in_place_of_a_part_may_be_empty_or_raw() -> None:
    revisions = definition_of_kind("apps", "v1", "ControllerRevision")
    obj = {"data": {"spec": {"anything": [1, None]}}, "revision": 1}
    assert check_fields(revisions, obj) == []
    assert obj["data"] == {"spec": {"anything": [1, None]}}
