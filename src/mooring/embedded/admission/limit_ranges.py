"""LimitRanges: what the containers of a namespace get by default, and what they may ask for.

`admission` calls it. In a cluster without any it costs nothing.
"""

from collections.abc import Iterator, Mapping

from mooring.embedded.defaults.pod_level_resources import of_containers
from mooring.embedded.resources import (
    LIMIT_RANGES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    Obj,
    Resource,
)
from mooring.embedded.status_errors import StatusError, forbidden
from mooring.embedded.store import Store
from mooring.embedded.watch_history import WatchEvent
from mooring.model.quantity import Quantity, parse_quantity
from mooring.model.resources import CPU, MEMORY

_ANNOTATION = "kubernetes.io/limit-ranger"
_Amounts = Mapping[str, str]


class LimitRanges:
    """The LimitRanges of a cluster; false if there are none."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, list[Obj]] | None = None
        store.listen(LIMIT_RANGES, self._forget)

    def __bool__(self) -> bool:
        return bool(self._ranges())

    def apply_to_pod(self, pod: Obj) -> None:
        """Give a new pod's containers what they get by default, in place."""
        # parity v1.36.4: plugin/pkg/admission/limitranger/admission.go PodMutateLimitFunc
        for limit_range in self._of(pod):
            requests: dict[str, str] = {}
            limits: dict[str, str] = {}
            for item in limit_range["spec"]["limits"] or ():
                if item.get("type") == "Container":
                    requests |= item.get("defaultRequest", {})
                    limits |= item.get("default", {})
            set_fields = [
                text
                for field, kind in (
                    ("containers", "container"),
                    ("initContainers", "init container"),
                )
                for container in pod["spec"].get(field) or ()
                for text in _complete(container, kind, requests, limits)
            ]
            if set_fields:
                annotations = pod["metadata"].setdefault("annotations", {})
                annotations[_ANNOTATION] = f"LimitRanger plugin set: {'; '.join(set_fields)}"

    def check_pod(self, pod: Obj) -> None:
        """Reject a new pod that asks for more or less than it may.

        Raises:
            StatusError: it does; the text has all reasons.
        """
        # parity v1.36.4: plugin/pkg/admission/limitranger/admission.go PodValidateLimitFunc
        spec = pod["spec"]
        for limit_range in self._of(pod):
            wrong: list[str] = []
            for item in limit_range["spec"]["limits"] or ():
                if item.get("type") == "Container":
                    containers = [*(spec.get("containers") or ()), *spec.get("initContainers", ())]
                    for container in containers:
                        wrong += _check(item, container["resources"])
                elif item.get("type") == "Pod":
                    wrong += _check(item, _of_pod(spec))
            if wrong:
                raise _rejected(PODS, pod, wrong)

    def check_claim(self, claim: Obj) -> None:
        """Reject a new claim to a volume that asks for more or less than it may.

        Raises:
            StatusError: it does.
        """
        requests = claim["spec"]["resources"].get("requests", {})
        for limit_range in self._of(claim):
            wrong: list[str] = []
            for item in limit_range["spec"]["limits"] or ():
                if item.get("type") == "PersistentVolumeClaim":
                    for name, bound in item.get("min", {}).items():
                        wrong += _least(item["type"], name, bound, requests, {})
                    for name, bound in item.get("max", {}).items():
                        wrong += _most_requested(item["type"], name, bound, requests)
            if wrong:
                raise _rejected(PERSISTENT_VOLUME_CLAIMS, claim, wrong)

    def _of(self, obj: Obj) -> list[Obj]:
        return self._ranges().get(obj["metadata"].get("namespace", ""), [])

    def _ranges(self) -> dict[str, list[Obj]]:
        if self._known is None:
            self._known = {}
            for item in self._store.all(LIMIT_RANGES):
                self._known.setdefault(item.namespace, []).append(item.obj)
        return self._known

    def _forget(self, _event: WatchEvent) -> None:
        self._known = None


def _complete(container: Obj, kind: str, requests: _Amounts, limits: _Amounts) -> Iterator[str]:
    for what, defaults in (("requests", requests), ("limits", limits)):
        have = container["resources"].get(what, {})
        missing = sorted(name for name in defaults if name not in have)
        if missing:
            container["resources"][what] = {**have, **{one: defaults[one] for one in missing}}
            yield f"{', '.join(missing)} {what[:-1]} for {kind} {container.get('name', '')}"


def _of_pod(spec: Obj) -> Obj:
    asked: Obj = {}
    for what in ("requests", "limits"):
        asked[what] = of_containers(spec, what)
        level = spec.get("resources", {}).get(what, {})
        asked[what] |= {name: level[name] for name in (CPU, MEMORY) if name in level}
    return asked


def _check(item: Obj, resources: Obj) -> list[str]:
    requests, limits = resources.get("requests", {}), resources.get("limits", {})
    kind = item["type"]
    wrong: list[str] = []
    for name, bound in item.get("min", {}).items():
        wrong += _least(kind, name, bound, requests, limits)
    for name, bound in item.get("max", {}).items():
        wrong += _most(kind, name, bound, requests, limits)
    for name, bound in item.get("maxLimitRequestRatio", {}).items():
        wrong += _ratio(kind, name, bound, requests, limits)
    return wrong


def _least(kind: str, name: str, bound: str, requests: _Amounts, limits: _Amounts) -> Iterator[str]:
    begin = f"minimum {name} usage per {kind} is {bound}"
    if name not in requests:
        yield f"{begin}.  No request is specified"
    elif _read(requests[name]) < _read(bound):
        yield f"{begin}, but request is {requests[name]}"
    elif name in limits and _read(limits[name]) < _read(bound):
        yield f"{begin}, but limit is {limits[name]}"


def _most(kind: str, name: str, bound: str, requests: _Amounts, limits: _Amounts) -> Iterator[str]:
    begin = f"maximum {name} usage per {kind} is {bound}"
    if name not in limits:
        yield f"{begin}.  No limit is specified"
    elif _read(limits[name]) > _read(bound):
        yield f"{begin}, but limit is {limits[name]}"
    elif name in requests and _read(requests[name]) > _read(bound):
        yield f"{begin}, but request is {requests[name]}"


def _most_requested(kind: str, name: str, bound: str, requests: _Amounts) -> Iterator[str]:
    begin = f"maximum {name} usage per {kind} is {bound}"
    if name not in requests:
        yield f"{begin}.  No request is specified"
    elif _read(requests[name]) > _read(bound):
        yield f"{begin}, but request is {requests[name]}"


def _ratio(kind: str, name: str, bound: str, requests: _Amounts, limits: _Amounts) -> Iterator[str]:
    begin = f"{name} max limit to request ratio per {kind} is {bound}"
    request, limit = _read(requests.get(name, "0")), _read(limits.get(name, "0"))
    if not request:
        yield f"{begin}, but no request is specified or request is 0"
    elif not limit:
        yield f"{begin}, but no limit is specified or limit is 0"
    else:
        ratio = limit.milli / request.milli
        if ratio * 1000 > _read(bound).milli:
            yield f"{begin}, but provided ratio is {ratio:.6f}"


def _read(text: str) -> Quantity:
    return parse_quantity(text)


def _rejected(resource: Resource, obj: Obj, wrong: list[str]) -> StatusError:
    distinct = list(dict.fromkeys(wrong))
    text = distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
    return forbidden(resource, obj["metadata"].get("name", ""), text)
