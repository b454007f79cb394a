"""Bodies for every verb, a policy that calls one function, and what its replies say."""

# ruff: noqa: ARG005 - a policy's function takes what it is given
from typing import Any

import mooring as mr
from mooring.testing import make_pod
from tests.unit.extender.asgi import Caller, Reply, args, compact

WEB = make_pod("web")
NAMES = args(WEB, names=["a", "b"])
VICTIMS = compact(
    {
        "Pod": WEB.raw,
        "NodeNameToVictims": {"a": {"Pods": [make_pod("low").raw], "NumPDBViolations": 0}},
        "NodeNameToMetaVictims": None,
    }
)
BINDING = compact({"PodName": "web", "PodNamespace": "default", "PodUID": "u", "Node": "a"})
BODIES = {"filter": NAMES, "prioritize": NAMES, "preempt": VICTIMS, "bind": BINDING}
VERBS = list(BODIES)


def fail(*_: object) -> Any:
    raise ValueError("the disk is gone")


def make_policy(function: Any = lambda *_: None) -> mr.Policy:
    """A policy that calls one function at every point."""
    policy = mr.Policy("mine", description="What the tests ask.")
    policy.filter(name="check")(function)
    policy.score(name="rate")(lambda pod, node: function(pod, node) or 0)
    policy.preempt(name="spare")(lambda pod, node, victims: function(pod, node))
    policy.bind(name="note")(function)
    return policy


def sentence(verb: str, reply: Reply, status: int = 400) -> str:
    """The error in a reply, which must be of the verb's own form."""
    assert reply.headers["content-type"] == "application/json"
    found = reply.json()
    if verb in ("filter", "bind"):
        assert reply.status == 200
        error = found.pop("Error")
        nothing = ["Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes"]
        assert found == (dict.fromkeys(nothing) if verb == "filter" else {})
    else:
        assert reply.status == status
        error = found.pop("error")
        assert found == {}
    assert isinstance(error, str)
    assert error
    assert "Traceback" not in error
    return error


def errors(caller: Caller, verb: str, kind: str) -> float:
    return caller.metric("mooring_extender_errors_total", verb=verb, kind=kind)
