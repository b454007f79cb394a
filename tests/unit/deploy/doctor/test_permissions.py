from pathlib import Path

import yaml

from mooring.deploy.doctor.evidence import Permission
from mooring.deploy.doctor.permissions import (
    extender_permissions,
    permissions_of,
    scheduler_permissions,
)

SAMPLE = Path(__file__).parents[4] / "docs" / "samples" / "scheduler-rbac.yaml"


def test_what_a_scheduler_needs_is_what_the_documented_role_allows() -> None:
    """Device classes are left out: without them a scheduler goes on."""
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
    assert set(scheduler_permissions(("kube-system", "mooring-scheduler"))) == allowed


def test_an_extender_needs_less() -> None:
    assert set(extender_permissions(binds=True)) < set(scheduler_permissions())
    assert Permission("create", "pods/binding") not in extender_permissions(binds=False)
    serve = permissions_of("moor serve", lease=None, binds=False)
    assert serve == extender_permissions(binds=False)
