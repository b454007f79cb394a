"""Defaults of resources that are asked for by a pod as a whole.

`pod` calls it, seldom. Sums keep the form of the first amount, as the API server's do.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.schema.canonical_values import total
from mooring.model.quantity import parse_quantity
from mooring.model.resources import CPU, MEMORY, is_pod_level

_HUGE: Final = "hugepages-"


def default_pod_level(spec: Obj) -> None:
    """Complete the pod-level resources of a pod, in place; its containers are complete already."""
    # parity v1.36.4: pkg/apis/core/v1/defaults.go defaultHugePagePodLimits, defaultPodRequests
    level = spec["resources"]
    requests: dict[str, str] = dict(level.get("requests") or {})
    limits: dict[str, str] = dict(level.get("limits") or {})
    if not requests and not limits:
        return
    for name, amount in of_containers(spec, "limits").items():
        if name.startswith(_HUGE) and name not in requests:
            limits.setdefault(name, amount)
    if limits:
        for name, amount in of_containers(spec, "requests").items():
            if name in (CPU, MEMORY):
                requests.setdefault(name, amount)
        for name, amount in limits.items():
            if is_pod_level(name):
                requests.setdefault(name, amount)
        level["limits"] = limits
    if requests:
        level["requests"] = requests


def of_containers(spec: Obj, what: str) -> dict[str, str]:
    """What all containers of a pod ask for together: ``requests`` or ``limits``."""
    # parity v1.36.4: component-helpers/resource/helpers.go AggregateContainerRequests
    whole: dict[str, str] = {}
    sidecars: dict[str, str] = {}
    first: dict[str, str] = {}
    for container in spec.get("containers") or ():
        whole = _sum(whole, container["resources"].get(what, {}))
    for container in spec.get("initContainers", ()):
        asked = container["resources"].get(what, {})
        if container.get("restartPolicy") == "Always":
            whole = _sum(whole, asked)
            sidecars = _sum(sidecars, asked)
            asked = sidecars
        else:
            asked = _sum(asked, sidecars)
        first = _most(first, asked.items())
    return _most(whole, first.items())


def _sum(some: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    both = dict(some)
    for name, amount in more.items():
        both[name] = total(both[name], amount) if name in both else amount
    return both


def _most(some: Mapping[str, str], others: Iterable[tuple[str, str]]) -> dict[str, str]:
    most = dict(some)
    for name, amount in others:
        if name not in most or parse_quantity(amount) > parse_quantity(most[name]):
            most[name] = amount
    return most
