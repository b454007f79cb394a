"""Which key of which ConfigMap a file in a container is."""

from typing import Any

import pytest

from mooring.deploy.mounted_files import MountedFile, mounted_file

VOLUMES: list[dict[str, Any]] = [
    {"name": "outer", "configMap": {"name": "outer-config"}},
    {"name": "inner", "configMap": {"name": "inner-config"}},
    {
        "name": "renamed",
        "configMap": {"name": "c", "items": [{"key": "scheduler", "path": "conf/config.yaml"}]},
    },
    {
        "name": "projected",
        "projected": {
            "sources": [
                {"serviceAccountToken": {"path": "token"}},
                {"configMap": {"name": "a", "items": [{"key": "policy", "path": "policy.cfg"}]}},
                {"configMap": {"name": "b"}},
            ]
        },
    },
    {"name": "host", "hostPath": {"path": "/srv"}},
]


def mount(name: str, path: str, sub_path: str = "") -> dict[str, str]:
    return {"name": name, "mountPath": path} | ({"subPath": sub_path} if sub_path else {})


@pytest.mark.parametrize(
    ("mounts", "path", "expected"),
    [
        (
            [mount("outer", "/etc/k"), mount("inner", "/etc/k/inner")],
            "/etc/k/inner/config.yaml",
            MountedFile(1, "inner-config", "config.yaml"),
        ),
        ([mount("outer", "/etc/k")], "/etc/k/a.yaml", MountedFile(0, "outer-config", "a.yaml")),
        (
            [mount("outer", "/etc/a.yaml", "key")],
            "/etc/a.yaml",
            MountedFile(0, "outer-config", "key"),
        ),
        (
            [mount("renamed", "/etc/k", "conf")],
            "/etc/k/config.yaml",
            MountedFile(2, "c", "scheduler"),
        ),
        ([mount("projected", "/etc/k")], "/etc/k/policy.cfg", MountedFile(3, "a", "policy")),
        ([mount("projected", "/etc/k")], "/etc/k/config.yaml", MountedFile(3, "b", "config.yaml")),
        ([mount("host", "/etc/k")], "/etc/k/config.yaml", MountedFile(4)),
        ([mount("host", "/etc/k")], "/etc/kubernetes/config.yaml", None),
        ([mount("nowhere", "/etc/k")], "/etc/k/config.yaml", None),
    ],
)
def test_where_a_path_leads(
    mounts: list[dict[str, str]], path: str, expected: MountedFile | None
) -> None:
    assert mounted_file({"volumes": VOLUMES}, {"volumeMounts": mounts}, path) == expected


@pytest.mark.parametrize("given", [None, "text", 3, [None, "text"], {"name": "outer"}])
def test_anything_may_be_written(given: object) -> None:
    container = {"volumeMounts": [mount("outer", "/etc/k")]}
    assert mounted_file({"volumes": given}, container, "/etc/k/a") is None
    assert mounted_file({"volumes": VOLUMES}, {"volumeMounts": given}, "/etc/k/a") is None
