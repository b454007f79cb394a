"""The Lease of a scheduler whose configuration names none."""

import pytest

from mooring.config.lease_name import default_lease_name


@pytest.mark.parametrize(
    ("names", "lease"),
    [
        (["default-scheduler"], "kube-scheduler"),
        (["packer", "default-scheduler"], "kube-scheduler"),
        (["packer", "spreader"], "packer"),
        (["My Packer!"], "my-packer"),
        (["---"], "kube-scheduler"),
    ],
)
def test_it_is_kube_scheduler_s_only_in_its_place(names: list[str], lease: str) -> None:
    assert default_lease_name(names) == lease
