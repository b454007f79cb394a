"""The forms in which a pod can be named."""

from pathlib import Path

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
    with pytest.raises(
        InputError, match=("other/web is not in the namespace given with --namespace shop")
    ):
        pod_keys("other/web", "shop", "mine")


def test_a_file_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("manifests/web/pod.yaml")
    with pytest.raises(InputError, match="is not the name of a pod; use NAME"):
        pod_keys(str(file), "", "mine")
    file.parent.mkdir(parents=True)
    file.touch()
    assert pod_keys(str(file), "shop", "mine") == []
    Path("manifests/pod.yaml").touch()
    assert pod_keys("manifests/pod.yaml", "shop", "mine") == []
