"""Claims to devices, device classes and slices in which something is wrong, new and changed."""

from typing import Any

from tests.unit.embedded.validation.builders import (
    LONG,
    Change,
    Obj,
    container,
    expression,
    obj,
    pod,
    put,
)

API = "resource.k8s.io/v1"
CLASS = "gpu.example.com"
ADMIN = {"deviceClassName": CLASS, "adminAccess": True}


def exactly(**more: Any) -> Obj:
    return {"name": "gpu", "exactly": {"deviceClassName": CLASS, **more}}


def first(*choices: Obj) -> Obj:
    return {"name": "gpu", "firstAvailable": list(choices)}


def choice(name: str = "a", **more: Any) -> Obj:
    return {"name": name, "deviceClassName": CLASS, **more}


def claim(*requests: Obj, **devices: Any) -> Obj:
    spec = {"devices": {"requests": list(requests) or [exactly()], **devices}}
    return obj(API, "ResourceClaim", spec=spec)


def template(*requests: Obj, metadata: Obj | None = None) -> Obj:
    spec = {"devices": {"requests": list(requests) or [exactly()]}}
    whole = {"spec": spec} if metadata is None else {"metadata": metadata, "spec": spec}
    return obj(API, "ResourceClaimTemplate", spec=whole)


def selecting(text: str) -> Obj:
    return {"cel": {"expression": text}}


def opaque(**more: Any) -> Obj:
    return {"opaque": {"driver": CLASS, "parameters": {"a": 1}, **more}}


def device_class(**spec: Any) -> Obj:
    return obj(API, "DeviceClass", spec=spec)


def slice_of(*devices: Obj, pool: Obj | None = None, **spec: Any) -> Obj:
    known = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    if not {"nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"} & set(spec):
        spec["nodeName"] = "n"
    whole = {"driver": CLASS, "pool": {**known, **(pool or {})}, **spec}
    if devices:
        whole["devices"] = list(devices)
    return obj(API, "ResourceSlice", spec=whole)


def device(**more: Any) -> Obj:
    return slice_of({"name": "d", **more})


def shared(policy: Obj, value: str = "10") -> Obj:
    capacity = {"memory": {"value": value, "requestPolicy": policy}}
    return device(allowMultipleAllocations=True, capacity=capacity)


def result(**more: Any) -> Obj:
    return {"request": "gpu", "driver": CLASS, "pool": "p", "device": "d", **more}


def allocation(*results: Obj, **more: Any) -> Obj:
    return {"devices": {"results": list(results) or [result()], **more}}


def consumer(number: int = 1, **more: Any) -> Obj:
    uid = f"00000000-0000-4000-8000-{number:012}"
    return {"resource": "pods", "name": f"p{number}", "uid": uid, **more}


def status(**more: Any) -> Change:
    return put("status", more)


def using_claims() -> Obj:
    """A pod that uses a claim and an extended resource."""
    limits = {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}
    reference = {"name": "gpu", "resourceClaimTemplateName": "t"}
    return pod(container(resources=limits), resourceClaims=[reference])


def mapping(container: str, resource: str, request: str = "r") -> Obj:
    return {"containerName": container, "resourceName": resource, "requestName": request}


READY = {
    "type": "Ready", "status": "True", "reason": "Up", "lastTransitionTime": "2026-01-02T03:04:05Z"
}  # fmt: skip
_TAINT = {"key": "a", "effect": "NoSchedule"}
_COUNTERS = {"name": "c", "counters": {"memory": {"value": "1"}}}
_USES = {"counterSet": "c", "counters": {"memory": {"value": "1"}}}

#: By what is wrong.
NEW_DEVICES: dict[str, Obj] = {
    "claim": claim(),
    "claim name": obj(API, "ResourceClaim", "Web", spec={"devices": {}}),
    "claim for nothing": obj(API, "ResourceClaim", spec={}),
    "claim with an unknown kind of request": claim({"name": "gpu"}),
    "claim with both kinds of requests": claim({**exactly(), **first(choice())}),
    "claim with a request without name": claim({"exactly": {"deviceClassName": CLASS}}),
    "claim with a request with a bad name": claim({**exactly(), "name": "A.b"}),
    "claim with two requests of one name": claim(exactly(), exactly()),
    "claim with 33 requests": claim(*({**exactly(), "name": f"r{one}"} for one in range(33))),
    "claim without class": claim({"name": "gpu", "exactly": {}}),
    "claim with a bad class": claim(exactly(deviceClassName="A_b")),
    "claim with a bad mode": claim(exactly(allocationMode="Some")),
    "claim for all and a count": claim(exactly(allocationMode="All", count=2)),
    "claim for a negative count": claim(exactly(count=-1)),
    "claim for all": claim(exactly(allocationMode="All")),
    "claim with 33 selectors": claim(exactly(selectors=[selecting("true")] * 33)),
    "claim with an empty selector": claim(exactly(selectors=[{}])),
    "claim with a long selector": claim(exactly(selectors=[selecting(" " * 10241)])),
    "claim with a good selector": claim(exactly(selectors=[selecting("device.driver == 'a'")])),
    "claim with an undeclared name": claim(
        exactly(selectors=[selecting("true"), selecting("x > 1")])
    ),
    "claim with an undefined field": claim(exactly(selectors=[selecting("device.nope == 1")])),
    "claim with a wrong pattern": claim(
        exactly(selectors=[selecting('device.driver.matches("[")')])
    ),
    "claim with text and number": claim(exactly(selectors=[selecting("device.driver\n  == 1")])),
    "claim with an unknown function": claim(first(choice(selectors=[selecting("f(1)")]))),
    "template with a number": template(exactly(selectors=[selecting("1 + 1")])),
    "device class with a mixed list": device_class(selectors=[selecting('1 in [1, "a"]')]),
    "device class with a wrong version": device_class(
        selectors=[selecting("device.attributes['a'].b < semver(1)")]
    ),
    "claim with a toleration of all values": claim(
        exactly(tolerations=[{"operator": "Exists", "value": "x"}])
    ),
    "claim with a toleration of a bad value": claim(exactly(tolerations=[{"value": "-"}])),
    "claim with a toleration of an unknown kind": claim(
        exactly(tolerations=[{"key": "a b", "operator": "Is", "effect": "Never"}])
    ),
    "claim with choices": claim(first(choice("a"), choice("b", count=2))),
    "claim with choices of one name": claim(first(choice(), choice())),
    "claim with nine choices": claim(first(*(choice(f"c{one}") for one in range(9)))),
    "claim with a bad choice": claim(first({"name": "A"})),
    "claim with a constraint": claim(
        constraints=[{"requests": ["gpu"], "matchAttribute": "example.com/numa"}]
    ),
    "claim with a constraint on nothing": claim(constraints=[{"requests": ["gpu"]}]),
    "claim with a constraint without domain": claim(constraints=[{"matchAttribute": "numa"}]),
    "claim with a distinct attribute without domain": claim(
        constraints=[{"distinctAttribute": "1a"}]
    ),
    "claim with a constraint with an empty domain": claim(constraints=[{"matchAttribute": "/a"}]),
    "claim with a constraint with an empty name": claim(
        constraints=[{"matchAttribute": "example.com/"}]
    ),
    "claim with a constraint on other requests": claim(
        constraints=[{"requests": ["nic", "gpu/a", "a/b/c"], "matchAttribute": "example.com/a"}]
    ),
    "claim with a constraint on one request twice": claim(
        constraints=[{"requests": ["gpu", "gpu"], "matchAttribute": "example.com/a"}]
    ),
    "claim with 33 constraints": claim(constraints=[{"matchAttribute": "example.com/a"}] * 33),
    "claim with configuration": claim(config=[{"requests": ["gpu"], **opaque()}]),
    "claim with configuration for nobody": claim(config=[{"requests": ["x"]}]),
    "claim with configuration without content": claim(config=[{"opaque": {"driver": ""}}]),
    "claim with configuration of a text": claim(config=[opaque(parameters="text")]),
    "claim with long configuration": claim(config=[opaque(parameters={"a": "b" * 10240})]),
    "claim with admin access": claim({"name": "gpu", "exactly": ADMIN}),
    "claim template": template(metadata={"labels": {"a": "b"}}),
    "claim template with labels": template(metadata={"labels": {"a": "-"}}),
    "claim template with annotations": template(metadata={"annotations": {"a b": ""}}),
    "claim template without class": template({"name": "gpu", "exactly": {}}),
    "claim template with admin access": template({"name": "gpu", "exactly": ADMIN}),
    "device class": device_class(selectors=[selecting("true")], config=[opaque()]),
    "device class name": obj(API, "DeviceClass", "A_b", spec={}),
    "device class with a core resource": device_class(extendedResourceName="cpu"),
    "device class with a bad resource": device_class(extendedResourceName="example.com/a b"),
    "device class with a resource": device_class(extendedResourceName="example.com/gpu"),
    "device class with 33 selectors": device_class(selectors=[selecting("true")] * 33),
    "device class with empty parts": device_class(selectors=[{}], config=[{}]),
    "slice": slice_of({"name": "d"}),
    "slice name": obj(API, "ResourceSlice", "A", spec=device()["spec"]),
    "slice of no driver": slice_of(driver=""),
    "slice of a bad driver": slice_of(driver="A_b"),
    "slice of a long driver": slice_of(driver=LONG),
    "slice of no pool": slice_of(pool={"name": "", "resourceSliceCount": 0, "generation": -1}),
    "slice of a bad pool": slice_of(pool={"name": "a//B"}),
    "slice for no node": obj(
        API, "ResourceSlice", spec={"driver": CLASS, "pool": {"name": "p", "resourceSliceCount": 1}}
    ),
    "slice for a node without name": slice_of(nodeName=""),
    "slice for a bad node": slice_of(nodeName="A"),
    "slice for nodes in two ways": slice_of(nodeName="n", allNodes=True),
    "slice not for all nodes": slice_of(allNodes=False),
    "slice for selected nodes": slice_of(
        nodeSelector={"nodeSelectorTerms": [expression("a", "In", "b")]}
    ),
    "slice for nodes of two terms": slice_of(
        nodeSelector={"nodeSelectorTerms": [expression("a b", "In", "b")]}
    ),
    "slice with 129 devices": slice_of(*({"name": f"d{one}"} for one in range(129))),
    "slice with 65 tainted devices": slice_of(
        *({"name": f"d{one}", "taints": [_TAINT]} for one in range(65))
    ),
    "slice with two devices of one name": slice_of({"name": "d"}, {"name": "d"}),
    "slice with counters and devices": slice_of({"name": "d"}, sharedCounters=[_COUNTERS]),
    "slice with counters": slice_of(sharedCounters=[_COUNTERS]),
    "slice with nine sets of counters": slice_of(
        sharedCounters=[{**_COUNTERS, "name": f"c{one}"} for one in range(9)]
    ),
    "slice with two sets of counters of one name": slice_of(sharedCounters=[_COUNTERS, _COUNTERS]),
    "slice with empty counters": slice_of(sharedCounters=[{"name": ""}]),
    "slice with 33 counters": slice_of(
        sharedCounters=[{"name": "c", "counters": {f"a{one}": {"value": "1"} for one in range(33)}}]
    ),
    "slice with a counter with a bad name": slice_of(
        sharedCounters=[{"name": "C", "counters": {"A": {"value": "1"}}}]
    ),
    "device name": slice_of({"name": "A"}),
    "device without name": slice_of({}),
    "device with attributes": device(
        attributes={"a": {"int": 1}, "example.com/b": {"version": "1.2.3-rc.1+5"}},
        capacity={"memory": {"value": "1Gi"}},
    ),
    "device with 33 attributes": device(attributes={f"a{one}": {"int": one} for one in range(33)}),
    "device with an attribute without value": device(attributes={"a": {}}),
    "device with an attribute with two values": device(attributes={"a": {"int": 1, "bool": True}}),
    "device with a bad version": device(attributes={"a": {"version": "1.2"}}),
    "device with a long text": device(attributes={"a": {"string": LONG + "a"}}),
    "device with a bad attribute": device(attributes={"1-a": {"int": 1}}),
    "device with a long attribute": device(attributes={"a" * 33: {"int": 1}}),
    "device with an attribute of a bad domain": device(attributes={"a_b/c": {"int": 1}}),
    "device with a bad taint": device(taints=[{"key": "", "value": "-", "effect": "Never"}]),
    "device with a taint without effect": device(taints=[{"key": "a"}]),
    "device with 17 taints": device(taints=[{**_TAINT, "key": f"a{one}"} for one in range(17)]),
    "device that uses counters": device(consumesCounters=[_USES]),
    "device that uses three sets of counters": device(
        consumesCounters=[{**_USES, "counterSet": f"c{one}"} for one in range(3)]
    ),
    "device that uses counters twice": device(consumesCounters=[_USES, _USES]),
    "device that uses no counters": device(consumesCounters=[{"counterSet": ""}]),
    "device for a node": device(nodeName="n"),
    "device for no node": slice_of({"name": "d"}, perDeviceNodeSelection=True),
    "device for nodes in two ways": slice_of(
        {"name": "d", "nodeName": "n", "allNodes": True}, perDeviceNodeSelection=True
    ),
    "device not for all nodes": slice_of(
        {"name": "d", "nodeName": "", "allNodes": False}, perDeviceNodeSelection=True
    ),
    "device with conditions": device(
        bindingConditions=["a"], bindingFailureConditions=["example.com/b"]
    ),
    "device with conditions of one kind": device(bindingConditions=["a"]),
    "device with failures of one kind": device(bindingFailureConditions=["a"]),
    "device with five conditions": device(
        bindingConditions=["a", "b", "c", "d", "e"], bindingFailureConditions=["f"]
    ),
    "device with conditions twice": device(
        bindingConditions=["a b", "c", "c"], bindingFailureConditions=["c", "d", "d"]
    ),
    "capacity of a device for one": device(
        capacity={"memory": {"value": "1", "requestPolicy": {"default": "1"}}}
    ),
    "capacity with values": shared({"default": "2", "validValues": ["1", "2", "10"]}),
    "capacity with both policies": shared(
        {"default": "1", "validValues": ["1"], "validRange": {"min": "1"}}
    ),
    "capacity with values without default": shared({"validValues": ["1"]}),
    "capacity with odd values": shared({"default": "3", "validValues": ["2", "1", "1", "20"]}),
    "capacity with eleven values": shared(
        {"default": "1", "validValues": [str(one) for one in range(1, 12)]}, "20"
    ),
    "capacity with a range": shared(
        {"default": "2", "validRange": {"min": "1", "max": "10", "step": "1"}}
    ),
    "capacity with a range without default": shared({"validRange": {"min": "1"}}),
    "capacity with a range without min": shared({"default": "1", "validRange": {"max": "1"}}),
    "capacity with an odd range": shared(
        {"default": "1", "validRange": {"min": "11", "max": "9", "step": "5"}}
    ),
    "capacity with a wide range": shared(
        {"default": "30", "validRange": {"min": "1Gi", "max": "20Gi", "step": "3"}}, "10Gi"
    ),
}
CHANGED_DEVICES: dict[str, tuple[Obj, Change, str]] = {
    "spec of a claim": (claim(), put("spec/devices/requests/0/name", "a"), ""),
    "requests of a claim": (
        claim(
            exactly(
                selectors=[selecting("true")],
                tolerations=[{"operator": "Exists"}],
                capacity={"requests": {"memory": "1Gi"}},
            ),
            constraints=[{"matchAttribute": "example.com/a"}],
            config=[opaque()],
        ),
        put("spec/devices/requests/1", {**first(choice()), "name": "b"}),
        "",
    ),
    "labels of a claim": (claim(), put("metadata/labels", {"a": "-"}), ""),
    "spec of a claim template": (
        template(),
        put("spec/spec/devices/requests/0/exactly/count", 2),
        "",
    ),
    "labels of a claim template": (template(), put("metadata/labels", {"a": "b"}), ""),
    "selector of a device class": (device_class(), put("spec/selectors", [{}]), ""),
    "resource of a device class": (device_class(), put("spec/extendedResourceName", "memory"), ""),
    "driver of a slice": (slice_of(), put("spec/driver", "other"), ""),
    "pool of a slice": (slice_of(), put("spec/pool/name", "other"), ""),
    "node of a slice": (slice_of(), put("spec/nodeName", "other"), ""),
    "generation of a slice": (slice_of(), put("spec/pool/generation", 2), ""),
    "claim is reserved": (claim(), status(reservedFor=[consumer()]), "status"),
    "claim is allocated": (
        claim(),
        status(allocation=allocation(), reservedFor=[consumer()]),
        "status",
    ),
    "claim is allocated in a bad way": (
        claim(),
        status(
            allocation=allocation(
                result(request="x", driver="", pool="", device="D"),
                result(request="gpu/a", shareID="1"),
            )
        ),
        "status",
    ),
    "claim with conditions": (
        claim(),
        status(allocation=allocation(result(bindingConditions=["a"]))),
        "status",
    ),
    "claim with odd configuration": (
        claim(),
        status(allocation=allocation(config=[{"requests": ["x"], "source": "Me"}, opaque()])),
        "status",
    ),
    "claim with 33 results": (claim(), status(allocation=allocation(*[result()] * 33)), "status"),
    "claim for odd nodes": (
        claim(),
        status(allocation={**allocation(), "nodeSelector": {}}),
        "status",
    ),
    "claim with 256 users": (
        claim(),
        status(allocation=allocation(), reservedFor=[consumer(one) for one in range(256)]),
        "status",
    ),
    "claim with 257 users": (
        claim(),
        status(allocation=allocation(), reservedFor=[consumer(one) for one in range(257)]),
        "status",
    ),
    "claim with one user twice": (
        claim(),
        status(allocation=allocation(), reservedFor=[consumer(), consumer()]),
        "status",
    ),
    "claim with an odd user": (
        claim(),
        status(allocation=allocation(), reservedFor=[{"uid": "a"}]),
        "status",
    ),
    "claim with devices of others": (
        claim(),
        status(
            allocation=allocation(),
            devices=[{"driver": CLASS, "pool": "p", "device": "other"}],
        ),
        "status",
    ),
    "claim with devices": (
        claim(),
        status(allocation=allocation(), devices=[{"driver": CLASS, "pool": "p", "device": "d"}]),
        "status",
    ),
    "claim with odd devices": (
        claim(),
        status(
            allocation=allocation(),
            devices=[
                {
                    "driver": CLASS,
                    "pool": "p",
                    "device": "d",
                    "data": ["a"],
                    "conditions": [{"type": "a b", "status": "Yes"}, *[READY] * 2],
                    "networkData": {
                        "interfaceName": "a" * 257,
                        "hardwareAddress": "a" * 129,
                        "ips": ["10.0.0.1", "10.0.0.1/8", "10.0.0.1/8", "FD00::1/64", "x/8"],
                    },
                }
            ],
        ),
        "status",
    ),
    "claim with ready devices": (
        claim(),
        status(
            allocation=allocation(),
            devices=[
                {
                    "driver": CLASS,
                    "pool": "p",
                    "device": "d",
                    "data": {"a": 1},
                    "conditions": [READY],
                    "networkData": {"ips": ["10.0.0.1/8"]},
                }
            ],
        ),
        "status",
    ),
    "claim with nine conditions": (
        claim(),
        status(
            allocation=allocation(),
            devices=[
                {
                    "driver": CLASS,
                    "pool": "p",
                    "device": "d",
                    "conditions": [{**READY, "type": f"a{one}"} for one in range(9)],
                }
            ],
        ),
        "status",
    ),
    "claims of a pod": (
        using_claims(),
        put(
            "status/resourceClaimStatuses",
            [{"name": "x"}, {"name": "gpu", "resourceClaimName": "A"}, {"name": "gpu"}],
        ),
        "status",
    ),
    "good claims of a pod": (
        using_claims(),
        put("status/resourceClaimStatuses", [{"name": "gpu", "resourceClaimName": "a"}]),
        "status",
    ),
    "extended resources of a pod": (
        using_claims(),
        put("status/extendedResourceClaimStatus", {"requestMappings": []}),
        "status",
    ),
    "odd extended resources of a pod": (
        using_claims(),
        put(
            "status/extendedResourceClaimStatus",
            {
                "resourceClaimName": "A",
                "requestMappings": [
                    mapping("x", "example.com/gpu"),
                    mapping("c", "example.com/nic"),
                    mapping("c", "example.com/gpu", "A"),
                    mapping("c", "example.com/gpu", "A"),
                ],
            },
        ),
        "status",
    ),
    "good extended resources of a pod": (
        using_claims(),
        put(
            "status/extendedResourceClaimStatus",
            {"resourceClaimName": "a", "requestMappings": [mapping("c", "example.com/gpu")]},
        ),
        "status",
    ),
    "spec of a claim with its status": (claim(), put("spec/devices/requests", []), "status"),
}
