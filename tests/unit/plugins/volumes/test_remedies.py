"""What would help a pod whose volumes keep it from a node."""

from mooring.model.pod import Pod
from mooring.testing import make_node, make_pod
from tests.unit.explaining.suggested import suggest, texts


def pod_with(*claims: str) -> Pod:
    volumes = [
        {"name": f"v-{name}", "persistentVolumeClaim": {"claimName": name}} for name in claims
    ]
    return make_pod(spec={"volumes": volumes})


def test_a_claim_that_is_missing() -> None:
    found = suggest([make_node("a")], pod_with("data"))
    assert texts(found) == [
        "create the claim data and bind it to a volume that every node can reach",
        "remove the volume v-data (claim data)",
    ]


def test_two_claims_that_are_missing() -> None:
    found = suggest([make_node("a")], pod_with("x", "y"))
    assert texts(found)[0] == (
        "create the claim x and bind it and create the claim y and bind it "
        "to a volume that every node can reach"
    )
