"""Pods as people name them."""

import pytest

from mooring.cli.pod_names import read_pod_name
from mooring.errors import InputError


@pytest.mark.parametrize(
    ("text", "namespace", "found"),
    [
        ("web", None, ("usual", "web")),
        ("web", "shop", ("shop", "web")),
        ("pod/web", None, ("usual", "web")),
        ("pods/web", "shop", ("shop", "web")),
        ("po/web", "", ("usual", "web")),
        ("shop/web", None, ("shop", "web")),
        ("shop/web", "shop", ("shop", "web")),
    ],
)
def test_names(text: str, namespace: str | None, found: tuple[str, str]) -> None:
    assert read_pod_name(text, namespace, "usual") == found


@pytest.mark.parametrize("text", ["", "/", "a/", "/b", "a/b/c", "pod/", "pod/a/b"])
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(
        InputError, match="is not the name of a pod; use NAME, pod/NAME or NAMESPACE/NAME"
    ):
        read_pod_name(text, None, "usual")


def test_two_namespaces() -> None:
    with pytest.raises(
        InputError, match=("shop/web is not in the namespace given with --namespace other")
    ):
        read_pod_name("shop/web", "other", "usual")
