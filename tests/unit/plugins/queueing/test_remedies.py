"""What would help a pod that is not let into the queue."""

from mooring.testing import make_node, make_pod
from tests.unit.explaining.suggested import suggest


def test_gates() -> None:
    pod = make_pod(spec={"schedulingGates": [{"name": "one"}, {"name": "two"}]})
    [found] = suggest([make_node("a")], pod)
    assert found.combination.text == "remove the scheduling gates one, two"
