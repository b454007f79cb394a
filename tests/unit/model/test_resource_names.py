import pytest

from mooring.model.resource_names import is_counted, is_extended, is_scalar


@pytest.mark.parametrize("name", ["nvidia.com/gpu", "example.com/a.b_c", "x/y"])
def test_resources_of_devices_are_extended(name: str) -> None:
    assert is_extended(name)
    assert is_scalar(name)
    assert is_counted(name)


@pytest.mark.parametrize(
    "name",
    [
        "cpu",  # no prefix
        "pods.kubernetes.io/x",  # Kubernetes' own
        "requests.example.com/gpu",  # the name of a quota
        "Example.com/gpu",  # no DNS prefix
        f"{'a' * 250}.com/gpu",  # with the prefix of a quota it would be too long
        "a/b/c",
    ],
)
def test_other_resources_are_not(name: str) -> None:
    assert not is_extended(name)


@pytest.mark.parametrize(
    "name", ["hugepages-2Mi", "attachable-volumes-csi-x", "kubernetes.io/batch"]
)
def test_some_of_kubernetes_own_are_scalar(name: str) -> None:
    assert is_scalar(name)
    assert not is_extended(name)


@pytest.mark.parametrize("name", ["cpu", "memory", "ephemeral-storage"])
def test_the_three_known_by_name_count_without_being_scalar(name: str) -> None:
    assert is_counted(name)
    assert not is_scalar(name)


@pytest.mark.parametrize("name", ["pods", "storage", "foo", ""])
def test_others_count_for_nothing(name: str) -> None:
    assert not is_counted(name)
