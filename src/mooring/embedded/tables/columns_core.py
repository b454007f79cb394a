"""The columns of nodes, namespaces, events, services and other kinds of the core group.

Owns what ``kubectl get`` shows of them; `tables` calls it.
"""

# parity v1.36.4: pkg/printers/internalversion/printers.go
from typing import Final

from mooring.embedded.event_conversion import to_core_v1
from mooring.embedded.resources import Obj
from mooring.embedded.tables.ages import UNKNOWN, age
from mooring.embedded.tables.printer import (
    AGE,
    NAME,
    NONE,
    WIDE_NAME,
    Cell,
    Printer,
    age_of,
    amount,
    containers,
    first_few,
    flag,
    labels_text,
    listed,
    name_of,
    number,
    part,
    text,
    wide,
)

_ROLE_PREFIX: Final = "node-role.kubernetes.io/"
_ROLE: Final = "kubernetes.io/role"


def _node(node: Obj, now: float) -> list[Cell]:
    status, info = part(node, "status"), part(node, "status", "nodeInfo")
    kernel = info.get("kernelVersion") or UNKNOWN
    if info.get("architecture"):
        kernel = f"{kernel} ({info['architecture']})"
    return [
        name_of(node),
        _node_status(node),
        _node_roles(node),
        age_of(node, now),
        info.get("kubeletVersion", ""),
        _node_address(status, "InternalIP"),
        _node_address(status, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        kernel,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _node_status(node: Obj) -> str:
    status = "Unknown"
    for condition in listed(node, "status", "conditions"):
        if condition.get("type") == "Ready":
            status = "Ready" if condition.get("status") == "True" else "NotReady"
    return f"{status},SchedulingDisabled" if flag(part(node, "spec"), "unschedulable") else status


def _node_roles(node: Obj) -> str:
    roles = set()
    for key, value in part(node, "metadata", "labels").items():
        if key.startswith(_ROLE_PREFIX):
            roles.add(key.removeprefix(_ROLE_PREFIX))
        elif key == _ROLE:
            roles.add(value)
    return ",".join(sorted(roles - {""})) or NONE


def _node_address(status: Obj, kind: str) -> str:
    for address in listed(status, "addresses"):
        if address.get("type") == kind:
            return str(address.get("address", ""))
    return NONE


def _namespace(namespace: Obj, now: float) -> list[Cell]:
    phase = part(namespace, "status").get("phase", "")
    return [name_of(namespace), phase, age_of(namespace, now)]


def _event(event: Obj, now: float) -> list[Cell]:
    first = age(event.get("firstTimestamp") or event.get("eventTime"), now)
    last = age(event["lastTimestamp"], now) if event.get("lastTimestamp") else first
    series = event.get("series")
    count = number(event, "count") or 1
    if series is not None:
        last = age(series.get("lastObservedTime"), now)
        count = number(series, "count")
    about, source = part(event, "involvedObject"), part(event, "source")
    kind, name = about.get("kind", "").lower(), about.get("name")
    reporter = source.get("component") or event.get("reportingComponent") or ""
    instance = source.get("host") or event.get("reportingInstance")
    return [
        last,
        event.get("type", ""),
        event.get("reason", ""),
        f"{kind}/{name}" if name else kind,
        about.get("fieldPath", ""),
        f"{reporter}, {instance}" if instance else reporter,
        event.get("message", "").strip(),
        first,
        count,
        name_of(event),
    ]


def _new_event(event: Obj, now: float) -> list[Cell]:
    return _event(to_core_v1(event), now)


def _config_map(config: Obj, now: float) -> list[Cell]:
    count = len(part(config, "data")) + len(part(config, "binaryData"))
    return [name_of(config), count, age_of(config, now)]


def _secret(secret: Obj, now: float) -> list[Cell]:
    count = len(part(secret, "data"))
    return [name_of(secret), secret.get("type", ""), count, age_of(secret, now)]


def _service(service: Obj, now: float) -> list[Cell]:
    spec = part(service, "spec")
    addresses = listed(spec, "clusterIPs")
    ports = ",".join(_service_port(one) for one in listed(spec, "ports"))
    return [
        name_of(service),
        spec.get("type", ""),
        (addresses[0] if addresses else spec.get("clusterIP")) or NONE,
        _external(service),
        ports or NONE,
        age_of(service, now),
        labels_text(spec.get("selector")),
    ]


def _service_port(port: Obj) -> str:
    protocol = port.get("protocol", "")
    if number(port, "nodePort") > 0:
        return f"{port.get('port')}:{port['nodePort']}/{protocol}"
    return f"{port.get('port')}/{protocol}"


def _external(service: Obj) -> str:
    spec = part(service, "spec")
    kind, given = spec.get("type"), listed(spec, "externalIPs")
    if kind in ("ClusterIP", "NodePort"):
        return ",".join(given) or NONE
    if kind == "LoadBalancer":
        ingress = listed(service, "status", "loadBalancer", "ingress")
        balancers = {one.get("ip") or one.get("hostname") or "" for one in ingress} - {""}
        return ",".join([*sorted(balancers), *given]) or "<pending>"
    if kind == "ExternalName":
        return str(spec.get("externalName", ""))
    return UNKNOWN


def _endpoints(endpoints: Obj, now: float) -> list[Cell]:
    subsets = listed(endpoints, "subsets")
    every = [
        _joined(address.get("ip", ""), port)
        for subset in subsets
        for port in listed(subset, "ports") or [None]
        for address in listed(subset, "addresses")
    ]
    return [name_of(endpoints), first_few(every) if subsets else NONE, age_of(endpoints, now)]


def _joined(address: str, port: Obj | None) -> str:
    if port is None:
        return address
    shown = f"[{address}]" if ":" in address else address
    return f"{shown}:{number(port, 'port')}"


def _quota(quota: Obj, now: float) -> list[Cell]:
    hard, used = part(quota, "status", "hard"), part(quota, "status", "used")
    requests: list[str] = []
    limits: list[str] = []
    for resource in sorted(hard):
        column = limits if resource.startswith("limits.") else requests
        column.append(f"{resource}: {amount(used.get(resource))}/{amount(hard[resource])}")
    return [name_of(quota), ", ".join(requests), ", ".join(limits), age_of(quota, now)]


def _pod_template(template: Obj, _now: float) -> list[Cell]:
    inner = part(template, "template")
    return [
        name_of(template),
        *containers(inner),
        labels_text(part(inner, "metadata").get("labels")),
    ]


NODES: Final = Printer(
    (
        NAME, text("Status"), text("Roles"), AGE, text("Version"), wide("Internal-IP"),
        wide("External-IP"), wide("OS-Image"), wide("Kernel-Version"), wide("Container-Runtime"),
    ),
    _node,
)  # fmt: skip
NAMESPACES: Final = Printer((NAME, text("Status"), AGE), _namespace)
_EVENT_COLUMNS: Final = (
    text("Last Seen"), text("Type"), text("Reason"), text("Object"), wide("Subobject"),
    wide("Source"), text("Message"), wide("First Seen"), wide("Count"), WIDE_NAME,
)  # fmt: skip
CORE_EVENTS: Final = Printer(_EVENT_COLUMNS, _event)
EVENTS: Final = Printer(_EVENT_COLUMNS, _new_event)
CONFIG_MAPS: Final = Printer((NAME, text("Data"), AGE), _config_map)
SECRETS: Final = Printer((NAME, text("Type"), text("Data"), AGE), _secret)
SERVICES: Final = Printer(
    (
        NAME, text("Type"), text("Cluster-IP"), text("External-IP"), text("Port(s)"), AGE,
        wide("Selector"),
    ),
    _service,
)  # fmt: skip
ENDPOINTS: Final = Printer((NAME, text("Endpoints"), AGE), _endpoints)
RESOURCE_QUOTAS: Final = Printer((NAME, text("Request"), text("Limit"), AGE), _quota)
POD_TEMPLATES: Final = Printer(
    (NAME, text("Containers"), text("Images"), text("Pod Labels")), _pod_template
)
