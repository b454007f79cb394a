"""What would help a pod that a spread constraint keeps from a node."""

from mooring.testing import make_node, make_pod
from tests.unit.explaining.suggested import suggest, texts

ZONE = "topology.kubernetes.io/zone"


def test_a_larger_skew_is_the_smallest_that_works() -> None:
    nodes = [
        make_node(name, labels={ZONE: name}, cpu=cpu) for name, cpu in (("a", "8"), ("b", "1"))
    ]
    pods = [make_pod(f"x{n}", labels={"app": "web"}, node="a") for n in range(3)]
    constraint = {
        "maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }  # fmt: skip
    pod = make_pod(
        labels={"app": "web"},
        requests={"cpu": "2"},
        spec={"topologySpreadConstraints": [constraint]},
    )
    found = suggest([*nodes, *pods], pod)
    assert texts(found) == [
        f"raise maxSkew over {ZONE} from 1 to 4",
        f"make the spread over {ZONE} a preference (whenUnsatisfiable: ScheduleAnyway)",
        "request 1 less cpu (1 instead of 2)",
    ]


def test_a_label_that_is_missing_is_proposed_unless_it_states_a_fact() -> None:
    constraint = {
        "maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {},
    }  # fmt: skip
    nodes = [make_node("a"), make_node("b", cpu="1", labels={ZONE: "z"})]
    pod = make_pod(requests={"cpu": "8"}, spec={"topologySpreadConstraints": [constraint]})
    assert not any(text.startswith("label a") for text in texts(suggest(nodes, pod)))
    own = [make_node("a"), make_node("b", cpu="1", labels={"rack": "r"})]
    pod = make_pod(
        requests={"cpu": "8"},
        spec={"topologySpreadConstraints": [{**constraint, "topologyKey": "rack"}]},
    )
    assert "label a with rack=r" in texts(suggest(own, pod))
