"""What kubectl gets to show: durations, columns, the state of pods and of other objects.

That all of it equals the real server's is tested in tests/e2e/test_embedded_tables.py.
"""

from typing import Any

import pytest

from mooring.embedded.resources import (
    CORE_EVENTS,
    DEPLOYMENTS,
    EVENTS,
    JOBS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    RESOURCES,
    ROLES,
    SERVICES,
    Obj,
    Resource,
)
from mooring.embedded.tables.ages import age, duration
from mooring.embedded.tables.printer import amount, selector_text
from mooring.embedded.tables.tables import accepts_table, metadata_only, table, wants_metadata_only

CREATED = "2026-01-31T12:00:00Z"
NOW = 1769860800.0 + 90
META = {"name": "x", "namespace": "shop", "creationTimestamp": CREATED}
DAY = 24 * 3600


@pytest.mark.parametrize(
    ("length", "shown"),
    [
        (-2.1, "<invalid>"), (-1.9, "0s"), (0, "0s"), (1.9, "1s"), (119, "119s"), (120, "2m"),
        (121, "2m1s"), (599, "9m59s"), (600, "10m"), (3 * 3600 - 1, "179m"), (3 * 3600, "3h"),
        (3 * 3600 + 60, "3h1m"), (8 * 3600, "8h"), (2 * DAY - 1, "47h"), (2 * DAY, "2d"),
        (2 * DAY + 3600, "2d1h"), (8 * DAY, "8d"), (2 * 365 * DAY - 1, "729d"),
        (2 * 365 * DAY, "2y"), (2 * 365 * DAY + DAY, "2y1d"), (8 * 365 * DAY + DAY, "8y"),
    ],
)  # fmt: skip
def test_durations_have_few_characters(length: float, shown: str) -> None:
    assert duration(length) == shown


def test_an_age_is_since_a_time() -> None:
    assert age(CREATED, NOW) == "90s"
    assert age("2026-01-31T12:00:30.500000Z", NOW) == "59s"
    assert age(None, NOW) == "<unknown>"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (None, "0"), ("1024Mi", "1Gi"), ("0.5Gi", "512Mi"), ("1500Mi", "1500Mi"), ("1000m", "1"),
        ("1500m", "1500m"), ("1000000", "1M"), (5, "5"), ("0.5Ki", "512"),
    ],
)  # fmt: skip
def test_amounts_are_written_as_the_server_does(given: str | int | None, shown: str) -> None:
    assert amount(given) == shown


def test_selectors_are_sorted_by_key() -> None:
    selector = {
        "matchLabels": {"b": "1"},
        "matchExpressions": [
            {"key": "c", "operator": "NotIn", "values": ["z", "y"]},
            {"key": "a", "operator": "DoesNotExist"},
        ],
    }
    assert selector_text(selector) == "!a,b=1,c notin (y,z)"
    assert selector_text(None) == "<none>"


def cells(resource: Resource, obj: Obj) -> dict[str, Any]:
    made = table(resource, [{"metadata": META, **obj}], NOW)
    names = [one["name"] for one in made["columnDefinitions"]]
    return dict(zip(names, made["rows"][0]["cells"], strict=True))


RUNNING: Obj = {"running": {}}


def container(state: Obj, restarts: int = 0, ready: bool = False, **more: Any) -> Obj:
    return {"name": "a", "restartCount": restarts, "ready": ready, "state": state, **more}


def terminated(code: int, **more: Any) -> Obj:
    return {"terminated": {"exitCode": code, **more}}


def shown_pod(status: Obj, **more: Any) -> tuple[str, str, str]:
    pod = {"spec": {"containers": [{"name": "a"}], **more.pop("spec", {})}, "status": status}
    row = cells(PODS, {**pod, **more})
    return row["Ready"], row["Status"], row["Restarts"]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"phase": "Pending"}, ("0/1", "Pending", "0")),
        ({"phase": "Running", "containerStatuses": [container(RUNNING, ready=True)]},
         ("1/1", "Running", "0")),
        ({"phase": "Failed", "reason": "Evicted"}, ("0/1", "Evicted", "0")),
        ({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]},
         ("0/1", "SchedulingGated", "0")),
        ({"phase": "Running", "containerStatuses": [
            container({"waiting": {"reason": "CrashLoopBackOff"}}, 7)]},
         ("0/1", "CrashLoopBackOff", "7")),
        ({"phase": "Running", "containerStatuses": [
            container(RUNNING, 2, True, lastState=terminated(1, finishedAt=CREATED))]},
         ("1/1", "Running", "2 (90s ago)")),
        ({"phase": "Succeeded", "containerStatuses": [
            container(terminated(0, reason="Completed"))]}, ("0/1", "Completed", "0")),
        ({"phase": "Failed", "containerStatuses": [container(terminated(3))]},
         ("0/1", "ExitCode:3", "0")),
        ({"phase": "Failed", "containerStatuses": [container(terminated(137, signal=9))]},
         ("0/1", "Signal:9", "0")),
        ({"phase": "Running", "containerStatuses": [
            container(terminated(0, reason="Completed")), container(RUNNING, ready=True)]},
         ("1/1", "NotReady", "0")),
        ({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
          "containerStatuses": [
            container(terminated(0, reason="Completed")), container(RUNNING, ready=True)]},
         ("1/1", "Running", "0")),
    ],
)  # fmt: skip
def test_one_word_says_how_a_pod_is(status: Obj, expected: tuple[str, str, str]) -> None:
    assert shown_pod(status) == expected


def test_init_containers_are_told_before_the_others() -> None:
    spec = {"initContainers": [{"name": "x"}, {"name": "y"}]}
    second = container({"waiting": {"reason": "PodInitializing"}})
    waiting = {"initContainerStatuses": [container(terminated(0), 2), second]}
    assert shown_pod(waiting, spec=spec) == ("0/1", "Init:1/2", "2")
    failed = {"initContainerStatuses": [container(terminated(1, reason="Error"))]}
    assert shown_pod(failed, spec=spec) == ("0/1", "Init:Error", "0")


def test_a_sidecar_counts_as_a_container() -> None:
    spec = {"initContainers": [{"name": "a", "restartPolicy": "Always"}]}
    status = {
        "phase": "Running",
        "initContainerStatuses": [container(RUNNING, 2, True, started=True)],
        "containerStatuses": [container(RUNNING, 1, True)],
    }
    assert shown_pod(status, spec=spec) == ("2/2", "Running", "3")


def test_a_pod_that_is_being_deleted_is_terminating_until_it_has_ended() -> None:
    meta = {**META, "deletionTimestamp": CREATED}
    assert shown_pod({"phase": "Running"}, metadata=meta)[1] == "Terminating"
    assert shown_pod({"phase": "Failed"}, metadata=meta)[1] == "Failed"
    assert shown_pod({"phase": "Running", "reason": "NodeLost"}, metadata=meta)[1] == "Unknown"


def test_wide_columns_of_pods() -> None:
    row = cells(PODS, {
        "spec": {"nodeName": "n1", "readinessGates": [{"conditionType": "a"}]},
        "status": {"podIPs": [{"ip": "10.0.0.1"}], "conditions": [{"type": "a", "status": "True"}]},
    })  # fmt: skip
    assert list(row.values())[5:] == ["10.0.0.1", "n1", "<none>", "1/1"]
    assert list(cells(PODS, {}).values())[5:] == ["<none>"] * 4


def test_rows_of_ended_pods_say_so() -> None:
    phases = ("Running", "Succeeded", "Failed")
    rows = table(PODS, [{"metadata": META, "status": {"phase": one}} for one in phases], NOW)[
        "rows"
    ]
    assert "conditions" not in rows[0]
    assert [one["conditions"][0]["reason"] for one in rows[1:]] == ["Succeeded", "Failed"]
    assert {one["conditions"][0]["type"] for one in rows[1:]} == {"Completed"}


def test_nodes() -> None:
    labels = {"node-role.kubernetes.io/b": "", "kubernetes.io/role": "a"}
    row = cells(NODES, {
        "metadata": {**META, "labels": labels},
        "spec": {"unschedulable": True},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    })  # fmt: skip
    assert (row["Status"], row["Roles"]) == ("Ready,SchedulingDisabled", "a,b")
    assert cells(NODES, {})["Status"] == "Unknown"


def test_an_event_looks_the_same_in_both_forms() -> None:
    core = cells(CORE_EVENTS, {
        "involvedObject": {"kind": "Pod", "name": "web"}, "message": "m ", "eventTime": CREATED,
        "reportingComponent": "c", "reportingInstance": "i",
    })  # fmt: skip
    new = cells(EVENTS, {
        "regarding": {"kind": "Pod", "name": "web"}, "note": "m ", "eventTime": CREATED,
        "reportingController": "c", "reportingInstance": "i",
    })  # fmt: skip
    assert core == new
    assert core["Last Seen"] == core["First Seen"] == "90s"
    assert (core["Object"], core["Source"], core["Message"]) == ("pod/web", "c, i", "m")
    assert core["Count"] == 1


def test_other_kinds() -> None:
    spec: Obj = {
        "type": "LoadBalancer",
        "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30080}],
    }
    service = cells(SERVICES, {"spec": spec})
    assert (service["External-IP"], service["Port(s)"]) == ("<pending>", "80:30080/TCP")
    deployment = cells(DEPLOYMENTS, {"spec": {"replicas": 3}, "status": {"readyReplicas": 2}})
    assert (deployment["Ready"], deployment["Up-to-date"]) == ("2/3", 0)
    job = cells(JOBS, {"spec": {"parallelism": 3}, "status": {"startTime": CREATED}})
    assert (job["Status"], job["Completions"], job["Duration"]) == ("Running", "0/1 of 3", "90s")
    claim = cells(PERSISTENT_VOLUME_CLAIMS, {"status": {"capacity": {"storage": "1Gi"}}})
    assert (claim["Capacity"], claim["StorageClass"]) == ("", "")
    assert cells(ROLES, {}) == {"Name": "x", "Created At": CREATED}


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda one: one.full_name)
def test_a_bare_object_of_any_kind_fills_all_columns(resource: Resource) -> None:
    assert cells(resource, {})["Name"] == "x"


def test_a_table_says_what_it_is() -> None:
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": META}
    made = table(PODS, [pod], NOW, "Metadata", "17", {"continue": "c", "remainingItemCount": 3})
    assert (made["kind"], made["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert made["metadata"] == {"resourceVersion": "17", "continue": "c", "remainingItemCount": 3}
    assert made["rows"][0]["object"] == metadata_only(pod)
    assert table(PODS, [pod], NOW, "Object")["rows"][0]["object"] == pod
    assert table(PODS, [pod], NOW, "None")["rows"][0]["object"] is None
    assert table(PODS, [pod], NOW, headers=False)["columnDefinitions"] is None


TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", (False, False)),
        ("*/*", (False, False)),
        (TABLE, (True, False)),
        (f"{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
         (True, False)),
        (f"application/vnd.kubernetes.protobuf,{TABLE}", (True, False)),
        (f"application/json,{TABLE}", (False, False)),
        ("application/json;as=Table;v=v2;g=meta.k8s.io,application/json", (False, False)),
        (METADATA.format(""), (False, True)),
        (METADATA.format("List"), (False, True)),
        (f"application/vnd.kubernetes.protobuf;as=x,{METADATA.format('')}", (False, True)),
    ],
)  # fmt: skip
def test_the_first_acceptable_form_is_sent(accept: str, expected: tuple[bool, bool]) -> None:
    assert (accepts_table(accept), wants_metadata_only(accept)) == expected
