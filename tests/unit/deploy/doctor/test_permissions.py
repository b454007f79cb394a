from pathlib import Path

import yaml

from mooring.deploy.doctor.evidence import Permission
from mooring.deploy.doctor.permissions import in_words, permissions_of

SAMPLE = Path(__file__).parents[4] / "docs" / "samples" / "scheduler-rbac.yaml"
LEASE = ("kube-system", "mooring-scheduler")


def test_what_a_scheduler_needs_is_in_the_documented_role() -> None:
    """Which also has get for what is watched, and device classes, which need not be there."""
    allowed = {
        Permission(verb, resource, group, document["metadata"].get("namespace", ""), name)
        for document in yaml.safe_load_all(SAMPLE.read_text())
        for rule in document.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
        if resource != "deviceclasses"
    }
    needed = set(permissions_of("moor run", lease=LEASE))
    assert needed <= allowed
    assert {one.verb for one in allowed - needed} == {"get"}


def test_a_scheduler_with_fewer_plugins_needs_less() -> None:
    point = {"disabled": [{"name": "*"}]}
    binds = {"enabled": [{"name": "DefaultBinder"}]}
    sorts = {"enabled": [{"name": "PrioritySort"}]}
    plugins = {"multiPoint": point, "bind": binds, "queueSort": sorts}
    settings = {"profiles": [{"schedulerName": "small", "plugins": plugins}]}
    needed = permissions_of("moor run", settings)
    read = [one.resource for one in needed if one.verb == "watch"]
    assert sorted(read) == ["nodes", "pods"]


def test_an_extender_needs_less() -> None:
    serve = permissions_of("moor serve", binds=True)
    assert set(serve) < set(permissions_of("moor run"))
    assert Permission("create", "pods/binding") not in permissions_of("moor serve")


def test_permissions_in_words() -> None:
    lease = Permission("get", "leases", "coordination.k8s.io", "kube-system", "packer")
    read = [Permission(verb, what) for what in ("nodes", "pods") for verb in ("list", "watch")]
    assert in_words([*read, lease]) == (
        "list, watch nodes, pods; get leases.coordination.k8s.io packer in kube-system"
    )
