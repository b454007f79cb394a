"""The forms in which a pod can be named."""

import pytest

from mooring.cli.explain.pod_finder import pod_keys
from mooring.errors import InputError


@pytest.mark.parametrize(
    ("typed", "namespace", "expected"),
    [
        ("web", "", ["mine/web"]),
        ("web", "shop", ["shop/web"]),
        ("shop/web", "", ["shop/web"]),
        ("shop/web", "shop", ["shop/web"]),
        ("pod/web", "", ["mine/web", "pod/web"]),
        ("pods/web", "shop", ["shop/web", "pods/web"]),
        ("po/web", "", ["mine/web", "po/web"]),
    ],
)
def test_forms(typed: str, namespace: str, expected: list[str]) -> None:
    assert pod_keys(typed, namespace, "mine") == expected


def test_two_namespaces() -> None:
    with pytest.raises(InputError, match="is not in the namespace given with --namespace shop"):
        pod_keys("other/web", "shop", "mine")
