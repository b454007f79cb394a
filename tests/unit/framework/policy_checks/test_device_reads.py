"""Which policies read the devices of nodes, so that these have to be known."""

from pathlib import Path

import pytest

import mooring as mr
from mooring.framework.declarations import kinds_to_watch
from mooring.framework.policy_checks.device_reads import reads_devices
from mooring.framework.policy_checks.policy_signature import policy_signature, why_called
from mooring.framework.policy_plugin import policy_plugin
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.devices.resource_slice import ResourceSlice
from tests.unit.framework.policy_checks.checked_files import HEAD

FILTER = "@policy.filter\ndef one(pod, node):\n    "


def loaded(folder: Path, body: str) -> mr.Policy:
    file = folder / "policy.py"
    file.write_text(HEAD + body)
    return mr.load(file)


@pytest.mark.parametrize(
    "body",
    [
        f"{FILTER}return bool(node.devices.free)",
        f"{FILTER}return free(node)\n\ndef free(one):\n    return bool(one.devices)",
        f"{FILTER}return any(one.free for one in (lambda: node.devices)())",
        (
            "import functools\n\ndef more(least, pod, node):\n"
            "    return len(node.devices) > least\n\n"
            "policy.filter(name='more')(functools.partial(more, 1))"
        ),
        (
            "class Gpus:\n    def __init__(self, node):\n        self.all = node.devices\n\n"
            f"{FILTER}return bool(Gpus(node).all)"
        ),
        "@policy.score_nodes\ndef one(pod, nodes):\n    return nodes.devices.free['gpu'] * 1.0",
        "@policy.score_nodes\ndef one(pod, nodes):\n    return [len(n.devices) for n in nodes]",
        "@policy.filter_nodes\ndef one(pod, nodes):\n    return [not nodes[0].devices]",
        (
            "@policy.filter\ndef none(pod, node):\n    return True\n\n"
            "@policy.bind\ndef one(binding):\n    return str(binding.node.devices)"
        ),
        (
            "class Plugin(hook.Filter):\n    def filter(self, pod, node):\n"
            "        return bool(node.devices)\n\npolicy.add(Plugin())"
        ),
    ],
)
def test_devices_are_read(tmp_path: Path, body: str) -> None:
    policy = loaded(tmp_path, body)
    assert reads_devices(policy)
    assert kinds_to_watch(policy_plugin(policy)) == {ResourceClaim, ResourceSlice}


@pytest.mark.parametrize(
    "body",
    [
        f"{FILTER}return bool(node.free)",
        f"import os as devices_of\n{FILTER}return not hasattr(devices_of, 'x')",
        f"import types\ntypes.devices = 1\n{FILTER}return types.devices == 1",
        f"devices = 1\n{FILTER}return devices == 1",
        f"{FILTER}return not pod.spec.resource_claims and 'devices' in node.labels",
        (
            "class Plugin(hook.Filter):\n    devices = 1\n    def filter(self, pod, node):\n"
            "        return self.devices == 1\n\npolicy.add(Plugin())"
        ),
    ],
)
def test_they_are_not(tmp_path: Path, body: str) -> None:
    policy = loaded(tmp_path, body)
    assert not reads_devices(policy)
    assert kinds_to_watch(policy_plugin(policy)) == set()


def test_modules_beside_the_policy_count(tmp_path: Path) -> None:
    beside = tmp_path / "beside_with_devices.py"
    beside.write_text("def free(one):\n    return one.devices.free\n")
    policy = loaded(
        tmp_path,
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n"
        f"import functools\nfrom beside_with_devices import free\n"
        f"sys.path.pop(0)\n{FILTER}return bool(free(node))",
    )
    assert reads_devices(policy)


def test_other_functions_of_the_file_do_not(tmp_path: Path) -> None:
    policy = loaded(tmp_path, f"{FILTER}return True\n\ndef unused(node):\n    return node.devices")
    assert not reads_devices(policy)


def test_the_policy_knows_better() -> None:
    yes, no = mr.Policy("yes", devices=True), mr.Policy("no", devices=False)
    yes.filter(name="f")(lambda pod, node: True)  # noqa: ARG005
    no.filter(name="f")(lambda pod, node: bool(node.devices))  # noqa: ARG005
    assert (reads_devices(yes), reads_devices(no)) == (True, False)


def test_results_are_not_kept(tmp_path: Path) -> None:
    policy = loaded(
        tmp_path,
        "@policy.filter(pure=True)\ndef one(pod, node):\n    return bool(node.devices)\n\n"
        "@policy.score\ndef plain(pod, node):\n    return 1",
    )
    assert policy_signature(policy) is None
    why = "the policy reads the devices of nodes"
    assert why_called(policy) == {("filter", "one"): why, ("score", "plain"): why}
