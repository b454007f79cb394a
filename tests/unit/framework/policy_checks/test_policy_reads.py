"""What a policy reads, so that a made-up cluster can have it."""

from pathlib import Path

import mooring as mr
from mooring.framework.policy_checks.policy_reads import PolicyReads, policy_reads


def reads(folder: Path, body: str) -> PolicyReads:
    file = folder / "policy.py"
    file.write_text("import mooring as mr\npolicy = mr.Policy('p')\n" + body)
    return policy_reads(mr.load(file))


def test_resources_labels_and_annotations_are_found(tmp_path: Path) -> None:
    found = reads(
        tmp_path,
        """
GPU, HOT = "nvidia.com/gpu", "example.com/hot"
TIERS = {"silver", "gold"}

@policy.filter
def fits(pod, node):
    if node.free[GPU] < pod.requests["cpu"] or node.used.get("example.com/fpga", 0):
        return False
    if HOT in pod.labels and node.labels["rack"] in ("r1", "r2"):
        return pod.labels.get("zone") == node.labels.get("zone")
    if "r3" == node.labels.get("rack") or pod.annotations.get("tier") not in TIERS:
        return node.annotations.get("window") != "open"
    return pod.labels.get("unknown") is None or pod.labels[node.name] == "x"

class Plugin(mr.hook.Filter):
    def filter(self, one, other):
        return one.labels.get("app") == "web"

policy.add(Plugin())
""",
    )
    assert found.resources == ("nvidia.com/gpu", "cpu", "example.com/fpga")
    assert found.pod_labels == {"example.com/hot": ("true",), "zone": ("1",), "app": ("web",)}
    assert found.node_labels == {
        "rack": ("r1", "r2", "r3"),
        "zone": ("1",),
        "app": ("web",),
    }
    assert found.pod_annotations == {"tier": ("gold", "silver")}
    assert found.node_annotations == {"window": ("open",)}


def test_a_policy_may_read_nothing(tmp_path: Path) -> None:
    body = "@policy.score\ndef s(pod, node): return 1 < len(pod.labels) > 2\n"
    assert reads(tmp_path, body) == PolicyReads()


def test_functions_without_source_read_nothing_that_is_known() -> None:
    policy = mr.Policy("p")
    policy.score(name="built-in")(max)  # type: ignore[type-var]
    assert policy_reads(policy) == PolicyReads()
