import pytest

from mooring.embedded.defaults.images import pull_policy

_DIGEST = "sha256:" + "1" * 64


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("registry.example:5000/a/b", "Always"),
        ("registry.example:5000/a/b:2", "IfNotPresent"),
        (f"nginx@{_DIGEST}", "IfNotPresent"),
        (f"nginx:latest@{_DIGEST}", "Always"),
        ("", "IfNotPresent"),
        ("Not An Image", "IfNotPresent"),
    ],
)
def test_only_the_latest_is_always_pulled(image: str, policy: str) -> None:
    assert pull_policy(image) == policy
