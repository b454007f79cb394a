import copy
from typing import Any

import pytest

from mooring.embedded.admission.service_addresses import allocate_addresses
from mooring.embedded.defaults.defaults import set_defaults
from mooring.embedded.resources import SERVICES, Obj
from mooring.embedded.status_errors import StatusError
from mooring.embedded.store import Store


class Services:
    def __init__(self) -> None:
        self.store = Store()

    def create(self, name: str, **spec: Any) -> Obj:
        obj = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": "here", "uid": name},
            "spec": spec,
        }
        set_defaults(SERVICES, obj)
        allocate_addresses(obj, None, self.store)
        self.store.put(SERVICES, obj)
        return obj

    def update(self, old: Obj, **spec: Any) -> Obj:
        obj = copy.deepcopy(old)
        for name, value in spec.items():
            if value is None:
                obj["spec"].pop(name, None)
            else:
                obj["spec"][name] = value
        set_defaults(SERVICES, obj)
        allocate_addresses(obj, old, self.store)
        self.store.put(SERVICES, obj)
        return obj


@pytest.fixture
def services() -> Services:
    return Services()


def test_every_service_has_an_address_of_its_own(services: Services) -> None:
    first, second = services.create("a")["spec"], services.create("b")["spec"]

    assert (first["clusterIP"], first["clusterIPs"]) == ("10.96.0.2", ["10.96.0.2"])
    assert second["clusterIP"] == "10.96.0.3"
    assert (first["ipFamilies"], first["ipFamilyPolicy"]) == (["IPv4"], "SingleStack")


def test_an_address_can_be_chosen_once(services: Services) -> None:
    assert services.create("a", clusterIP="10.96.7.7")["spec"]["clusterIPs"] == ["10.96.7.7"]

    with pytest.raises(StatusError, match="provided IP is already allocated"):
        services.create("b", clusterIP="10.96.7.7")


def test_headless_services_have_none(services: Services) -> None:
    chosen = services.create("a", clusterIP="None", selector={"a": "b"})["spec"]
    assert (chosen["clusterIPs"], chosen["ipFamilies"]) == (["None"], ["IPv4"])
    bare = services.create("b", clusterIP="None")["spec"]
    assert bare["ipFamilies"] == ["IPv4", "IPv6"]
    assert bare["ipFamilyPolicy"] == "RequireDualStack"
    outside = services.create("c", type="ExternalName", externalName="example.com")["spec"]
    assert "clusterIP" not in outside


def test_ports_on_nodes(services: Services) -> None:
    first = services.create("a", type="NodePort", ports=[{"port": 1}, {"port": 2, "name": "b"}])
    assert [port["nodePort"] for port in first["spec"]["ports"]] == [30000, 30001]
    balanced = services.create(
        "b", type="LoadBalancer", externalTrafficPolicy="Local", ports=[{"port": 1}]
    )["spec"]
    assert balanced["ports"][0]["nodePort"] == 30002
    assert balanced["healthCheckNodePort"] == 30003
    without = services.create(
        "c", type="LoadBalancer", allocateLoadBalancerNodePorts=False, ports=[{"port": 1}]
    )["spec"]
    assert "nodePort" not in without["ports"][0]
    with pytest.raises(StatusError, match="provided port is already allocated"):
        services.create("d", type="NodePort", ports=[{"port": 1, "nodePort": 30002}])


def test_what_is_not_said_stays(services: Services) -> None:
    old = services.create("a", type="NodePort", ports=[{"port": 1, "name": "x"}])
    ports = [{"port": 1, "name": "x"}, {"port": 2, "name": "y"}]

    new = services.update(old, clusterIP=None, clusterIPs=None, ports=ports)["spec"]

    assert new["clusterIP"] == old["spec"]["clusterIP"]
    assert [port["nodePort"] for port in new["ports"]] == [30000, 30001]


def test_what_is_not_needed_goes(services: Services) -> None:
    old = services.create(
        "a", type="LoadBalancer", externalTrafficPolicy="Local", ports=[{"port": 1}]
    )

    plain = services.update(old, type="ClusterIP")["spec"]
    assert "nodePort" not in plain["ports"][0]
    for field in ("healthCheckNodePort", "externalTrafficPolicy", "allocateLoadBalancerNodePorts"):
        assert field not in plain
    outside = services.update(services.create("b"), type="ExternalName")["spec"]
    for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        assert field not in outside


def test_a_node_port_is_one_of_those_that_are_meant_for_it(services: Services) -> None:
    with pytest.raises(StatusError) as caught:
        services.create("a", type="NodePort", ports=[{"port": 80, "nodePort": 80}])
    [cause] = caught.value.status["details"]["causes"]
    assert cause["field"] == "spec.ports[0].nodePort"
    assert "The range of valid ports is 30000-32767" in cause["message"]
