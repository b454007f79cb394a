"""Patches and server-side apply, compared with the real API server's.

The real server's object is patched by the real server and by us. What we make of it is sent to the
real server as an update that is not stored, so that it is defaulted in the same way.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Literal, NamedTuple

import msgspec
import pytest

from mooring.embedded.patches.json_patch import apply_json_patch
from mooring.embedded.patches.json_values import copied
from mooring.embedded.patches.merge_patch import apply_merge_patch
from mooring.embedded.patches.server_side_apply import apply, track_update
from mooring.embedded.patches.strategic_patch import apply_strategic_patch
from mooring.embedded.resources import BY_KIND, Obj
from mooring.embedded.schema.definitions import definition_of
from mooring.embedded.status_errors import StatusError
from mooring.testing.real_kubernetes import ControlPlane
from tests.e2e import patch_cases as cases

pytestmark = pytest.mark.kube

Form = Literal["apply", "json", "merge", "strategic"]
TYPES: dict[Form, str] = {
    "apply": "application/apply-patch+yaml",
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
PATCHES: dict[Form, Callable[[Random, Obj], Any]] = {
    "json": cases.json_patch,
    "merge": cases.merge_patch,
    "strategic": cases.strategic_patch,
}


NOW = "2026-01-01T00:00:00Z"


class Outcome(NamedTuple):
    """What the real server has answered."""

    code: int
    answer: Obj


class Pair:
    """The real server and us, with one object."""

    def __init__(self, plane: ControlPlane, namespace: str, obj: Obj) -> None:
        self.resource = BY_KIND[obj["apiVersion"], obj["kind"]]
        self.kind = definition_of(self.resource)
        self._client = plane.https(plane.port)
        place = namespace if self.resource.namespaced else None
        self._all = plane.path(obj["kind"], "", place, api_version=obj["apiVersion"])
        self._path = f"{self._all}/{obj['metadata']['name']}"

    def close(self) -> None:
        self.send("PATCH", body={"metadata": {"finalizers": None}}, form="merge")
        self.send("DELETE", "?gracePeriodSeconds=0")
        self._client.close()

    def send(
        self, method: str, more: str = "", body: Any = None, form: Form | None = None
    ) -> Outcome:
        """Send something to the real server."""
        path = self._all if method == "POST" else self._path
        content = None if body is None else msgspec.json.encode(body)
        kind = TYPES[form] if form is not None else "application/json"
        code, answer = self._client.send(method, path + more, content, content_type=kind)
        return Outcome(code, msgspec.json.decode(answer))

    def step(
        self, form: Form, patch: Any, manager: str, *, force: bool = False, subresource: str = ""
    ) -> int:
        """Patch the object here and there, compare, and return the real server's code."""
        found = self.send("GET")
        live = found.answer if found.code == 200 else None
        more = f"/{subresource}" if subresource else ""
        query = f"?fieldManager={manager}" + ("&force=true" if force else "")
        real = self.send("PATCH", more + query, patch, form)
        time = latest(real.answer)
        mine, rejected = self._patched(form, live, patch, manager, subresource, time, force=force)
        if rejected is not None:
            assert in_order(rejected.status) == in_order(real.answer)
            return real.code
        made = copied(mine)
        managed = made["metadata"].pop("managedFields", None)
        if live is None:
            assert real.code == 201, real.answer
            assert owners(mine) == owners(real.answer)
            return real.code
        # What is stored may be what we made already: then nothing must change.
        version = real.answer["metadata"].get("resourceVersion")
        made["metadata"]["resourceVersion"] = version or live["metadata"]["resourceVersion"]
        put = self.send("PUT", f"{more}?dryRun=All", made)
        if real.code >= 300:
            assert problem(put.answer) == problem(real.answer)
            return real.code
        assert content(put.answer) == content(real.answer)
        if form == "apply":
            assert owners(mine) == owners(real.answer)
        elif "managedFields" in live["metadata"]:
            tracked = copied(real.answer)
            tracked["metadata"].pop("managedFields", None)
            if managed is not None:
                tracked["metadata"]["managedFields"] = managed
            version = self.resource.api_version
            track_update(live, tracked, self.kind, manager=manager, time=time,
                         api_version=version, subresource=subresource)  # fmt: skip
            assert owners(tracked) == owners(real.answer)
        return real.code

    def _patched(
        self,
        form: Form,
        live: Obj | None,
        patch: Any,
        manager: str,
        subresource: str,
        time: str,
        *,
        force: bool,
    ) -> tuple[Obj, StatusError | None]:
        """What we make of the object, or how we reject."""
        text = msgspec.json.encode(patch)
        try:
            if form == "apply" or live is None:
                version = self.resource.api_version
                return apply(
                    live, patch, self.kind, manager=manager, force=force, time=time,
                    api_version=version, subresource=subresource,
                ), None  # fmt: skip
            if form == "json":
                return apply_json_patch(live, text), None
            if form == "merge":
                return apply_merge_patch(live, text), None
            return apply_strategic_patch(live, text, self.kind), None
        except StatusError as rejected:
            return {}, rejected


def latest(answer: Obj) -> str:
    """The time at which the real server has written, as far as it tells."""
    entries = answer["metadata"].get("managedFields", ())
    return max((entry.get("time", "") for entry in entries), default="") or NOW


def problem(status: Obj) -> str:
    """What is wrong with an object; a patch that makes it undecodable is told in another frame."""
    message: str = status["message"]
    if message.startswith(' "" is invalid: patch: '):
        return message.rpartition('": ')[2]
    return message.rpartition(" cannot be handled as a ")[2].partition(": ")[2] or message


def in_order(status: Obj) -> Obj:
    """A status whose causes are in one order; the real server's are in any."""
    made: Obj = copied(status)
    made.get("details", {}).get("causes", []).sort(key=str)
    return made


def content(obj: Obj) -> Obj:
    """What a patch is about."""
    hidden = ("managedFields", "resourceVersion", "generation")
    metadata = {name: one for name, one in obj["metadata"].items() if name not in hidden}
    return {**obj, "metadata": metadata}


def owners(obj: Obj) -> list[Obj]:
    """The managed fields, without times, and in an order that does not depend on them."""
    entries = [
        {**{name: one for name, one in entry.items() if name != "time"}, "timed": "time" in entry}
        for entry in obj["metadata"].get("managedFields", ())
    ]
    return sorted(entries, key=lambda one: (one["manager"], one["operation"], str(one)))


@pytest.fixture
def paired(control_plane: ControlPlane, namespace: str) -> Iterator[Callable[[Obj], Pair]]:
    pairs: list[Pair] = []

    def make(obj: Obj) -> Pair:
        pairs.append(Pair(control_plane, namespace, obj))
        return pairs[-1]

    yield make
    for pair in pairs:
        pair.close()


@pytest.mark.parametrize("seed", range(24))
def test_random_patches(paired: Callable[[Obj], Pair], seed: int) -> None:
    random = Random(seed)
    make = cases.OBJECTS[seed % len(cases.OBJECTS)]
    obj = make(random)
    pair = paired(obj)
    if cases.maybe(random, 0.4):
        assert pair.send("POST", "?fieldManager=maker", obj).code == 201
    else:
        assert pair.step("apply", obj, "a") == 201
    codes = []
    forms: list[Form] = ["apply", "apply", "apply", "strategic", "strategic", "merge", "json"]
    for _ in range(8):
        form = random.choice(forms)
        if form == "apply":
            patch, force = make(random), cases.maybe(random, 0.4)
        else:
            patch, force = PATCHES[form](random, obj), False
        codes.append(pair.step(form, patch, random.choice("abc"), force=force))
    assert 200 in codes


CONTAINER = {"name": "c", "image": "i"}
DEPLOYMENT: Obj = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d", "labels": {"a": "1"}, "annotations": {"x": "y"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "d"}},
        "template": {
            "metadata": {"labels": {"app": "d"}},
            "spec": {"containers": [CONTAINER], "nodeSelector": {"n": "1"}},
        },
    },
}
POD: Obj = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [CONTAINER]},
}
CONFIG_MAP: Obj = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "c", "finalizers": ["k.io/a"]},
    "data": {"k": "v"},
}


def only(obj: Obj, **fields: Any) -> Obj:
    """A config with nothing but a name and these fields."""
    head = {"apiVersion": obj["apiVersion"], "kind": obj["kind"]}
    return {**head, "metadata": {"name": obj["metadata"]["name"]}, **fields}


def test_the_life_of_a_deployment_under_several_managers(paired: Callable[[Obj], Pair]) -> None:
    pair = paired(DEPLOYMENT)
    assert pair.step("apply", DEPLOYMENT, "a") == 201
    assert pair.step("apply", DEPLOYMENT, "a") == 200
    assert pair.step("apply", only(DEPLOYMENT, spec={"replicas": 7}), "b") == 409
    assert pair.step("apply", only(DEPLOYMENT, spec={"replicas": 7}), "b", force=True) == 200
    assert pair.step("apply", only(DEPLOYMENT, spec={}), "b") == 200
    assert pair.step("merge", {"metadata": {"labels": {"q": "1", "a": None}}}, "edit") == 200
    assert pair.step("apply", DEPLOYMENT, "a") == 200
    status = {"status": {"replicas": 3}}
    assert pair.step("merge", status, "controller", subresource="status") == 200
    status = only(DEPLOYMENT, status={"replicas": 4})
    assert pair.step("apply", status, "other", subresource="status") == 409
    assert pair.step("apply", status, "other", subresource="status", force=True) == 200
    assert pair.step("apply", status, "main") == 200
    for number in range(12):
        label = {"metadata": {"labels": {f"l{number}": "1"}}}
        assert pair.step("merge", label, f"manager{number}") == 200
    reset = [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]
    assert pair.step("json", reset, "x") == 200
    assert pair.step("apply", only(DEPLOYMENT, spec={"replicas": 7}), "b") == 409


@pytest.mark.parametrize(
    "obj",
    [
        DEPLOYMENT,
        CONFIG_MAP,
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "v"},
         "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"},
         "spec": {"serviceName": "x", **DEPLOYMENT["spec"]}},
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "s"},
         "spec": {k: one for k, one in DEPLOYMENT["spec"].items() if k != "replicas"}},
        {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "s"},
         "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": {
             "containers": [CONTAINER], "restartPolicy": "Never"}}}}}},
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "patched-node"},
         "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}},
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"},
         "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"a": "b"}}}},
        {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"},
         "spec": {"holderIdentity": "x", "leaseDurationSeconds": 5}},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
         "metadata": {"name": "r"}, "subjects": [{"kind": "User", "name": "u"}],
         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}},
    ],
    ids=lambda obj: str(obj["kind"]),
)  # fmt: skip
def test_what_the_creator_of_an_object_owns(paired: Callable[[Obj], Pair], obj: Obj) -> None:
    """We note it only when somebody applies; the real server notes it at once."""
    pair = paired(obj)
    real = pair.send("POST", "?fieldManager=maker", obj)
    assert real.code == 201, real.answer
    live = copied(real.answer)
    del live["metadata"]["managedFields"]
    mine = apply(live, only(obj), pair.kind, manager="x", force=False, time=NOW,
                 api_version=obj["apiVersion"], creator="maker")  # fmt: skip
    assert owners(mine) == owners(real.answer)


@pytest.mark.parametrize(
    "spec",
    [
        {"foo": 1},
        {"nodeName": 5},
        {"containers": "x"},
        {"containers": {"a": 1}},
        {"containers": [None]},
        {"containers": ["a"]},
        {"containers": [CONTAINER, CONTAINER]},
        {"containers": [{**CONTAINER, "env": [{"name": "a", "valu": "1"}, {"name": "b", "x": 1}]}]},
        {"containers": [{**CONTAINER, "ports": [{"containerPort": "x"}]}]},
        {"hostNetwork": "x"},
        {"priority": "x"},
        {"nodeSelector": [1]},
        {"nodeSelector": {"a": 1}},
        {"affinity": "x"},
        {"tolerations": [{"key": 1}]},
        {"volumes": [{"name": "v", "emptyDir": {"sizeLimit": []}}]},
    ],
)
def test_configs_are_rejected_in_the_same_words(paired: Callable[[Obj], Pair], spec: Obj) -> None:
    config = {**POD, "spec": {**POD["spec"], **spec}}
    assert paired(POD).step("apply", config, "a") == 500


@pytest.mark.parametrize(
    ("form", "patch", "code"),
    [
        ("json", {}, 400),
        ("json", [1], 400),
        ("json", [{"op": "add", "path": 5}], 400),
        ("json", [{"op": "bogus", "path": "/data"}], 422),
        ("json", [{"op": "test", "path": "/data/k", "value": "x"}], 422),
        ("json", [{"op": "remove", "path": "/data/nope"}], 422),
        ("json", [{"op": "test", "path": "/data/k", "value": "v"}] * 10_001, 413),
        ("json", [{"op": "replace", "path": "/data/new", "value": "1"}], 200),
        ("merge", [], 400),
        ("merge", "x", 400),
        ("strategic", [], 400),
        ("strategic", {"$patch": "bogus"}, 500),
        ("strategic", {"$deleteFromPrimitiveListx": [1]}, 400),
        ("strategic", {"metadata": {"$setElementOrder/finalizers": "x"}}, 500),
        ("strategic", {"metadata": {"$setElementOrder": ["x"]}}, 400),
        ("strategic", {"metadata": {"$setElementOrder/bogus": ["x"]}}, 500),
        ("strategic", {"metadata": {"$setElementOrder/finalizers": [], "finalizers": [1]}}, 500),
        ("strategic", {"metadata": {"$retainKeys": "x"}}, 400),
        ("strategic", {"metadata": {"$retainKeys": ["name"], "labels": {"a": "1"}}}, 400),
        ("strategic", {"metadata": {"finalizers": [["x"]]}}, 500),
        ("strategic", {"metadata": {"finalizers": [1]}}, 500),
    ],
)
def test_patches_are_rejected_in_the_same_words(
    paired: Callable[[Obj], Pair], form: Form, patch: Any, code: int
) -> None:
    pair = paired(CONFIG_MAP)
    assert pair.send("POST", "?fieldManager=maker", CONFIG_MAP).code == 201
    assert pair.step(form, patch, "a") == code


def test_elements_without_a_merge_key(paired: Callable[[Obj], Pair]) -> None:
    pair = paired(POD)
    assert pair.send("POST", body=POD).code == 201
    for element in ({"image": "x"}, {"$patch": "delete"}, {"$patch": "merge", "name": "c"}):
        assert pair.step("strategic", {"spec": {"containers": [element]}}, "a") == 500
