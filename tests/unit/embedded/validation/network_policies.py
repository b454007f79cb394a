"""NetworkPolicies in which something is wrong, new and changed."""

from typing import Any

from tests.unit.embedded.validation.builders import Change, Obj, expression, obj, put


def policy(**spec: Any) -> Obj:
    return obj("networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": {}, **spec})


def port(**more: Any) -> Obj:
    return policy(ingress=[{"ports": [more]}])


def peer(**more: Any) -> Obj:
    return policy(egress=[{"to": [more]}])


def block(cidr: str, *left_out: str) -> Obj:
    return peer(ipBlock={"cidr": cidr, "except": list(left_out)})


#: By what is wrong.
NEW_NETWORK_POLICIES: dict[str, Obj] = {
    "network policy name": obj("networking.k8s.io/v1", "NetworkPolicy", "Web", spec={}),
    "network policy": policy(),
    "network policy selector": policy(podSelector=expression("a b", "Is")),
    "network policy types": policy(policyTypes=["Ingress", "Both"]),
    "network policy with three types": policy(policyTypes=["Ingress", "Egress", "Ingress"]),
    "network policy protocol": port(protocol="HTTP", port=80),
    "network policy port number": port(port=65536),
    "network policy port name": port(port="No Name"),
    "network policy ports in order": port(port=90, endPort=80),
    "network policy ports up to none": port(port=90, endPort=70000),
    "network policy ports from a name": port(port="web", endPort=80),
    "network policy ports from nowhere": port(endPort=80),
    "network policy peer": peer(),
    "network policy peer of all kinds": peer(
        podSelector={}, namespaceSelector={"matchLabels": {"a": "-"}}, ipBlock={"cidr": "::/0"}
    ),
    "network policy block": block(""),
    "network policy block with host": block("10.0.0.1/8"),
    "network policy block with zeros": block("10.00.0.0/08", "10.1.0.0/16"),
    "network policy block of text": block("some", "10.1.0.0/16"),
    "network policy block but all": block("10.0.0.0/8", "10.0.0.0/8", "10.1.0.0/16"),
    "network policy block but others": block("10.0.0.0/8", "11.0.0.0/16", "fd00::/64", "x"),
    "network policy block of the new kind": block("fd00::/8", "fd00:1::/64", "::/0"),
}
CHANGED_NETWORK_POLICIES: dict[str, tuple[Obj, Change, str]] = {
    "port of a network policy": (
        port(port=80),
        put("spec/ingress", [{"ports": [{"port": 0}]}]),
        "",
    ),
    "block of a network policy": (
        block("10.0.0.0/8"),
        put("spec/egress", [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10/8"]}}]}]),
        "",
    ),
    "name of a network policy": (policy(), put("metadata/labels", {"a": "-"}), ""),
}
