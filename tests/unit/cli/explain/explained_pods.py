"""A small cluster, and a pod to be explained, for tests of ``moor explain``."""

from mooring.testing import make_node, make_pod

WAITING = make_pod("web", namespace="shop", requests={"cpu": "2", "memory": "1Gi"})
NODES = [
    make_node("a", cpu="4"),
    make_node("b", cpu="8", labels={"disk": "ssd"}),
    make_node("c", unschedulable=True),
]
BUSY = [make_pod("x", requests={"cpu": "3"}, node="a"), make_pod("y", node="b")]
#: Of a plugin in a test that limits it to this time.
INTERRUPTED = "it was interrupted because the decision took longer than 0.1 seconds"
