"""Fake nodes: a mixed fleet of them, or those that a file describes.

`moor cluster`, `moor demo` and tests ask for manifests here and create them through the API.
Everything is worked out from numbers: the same question gives the same fleet.
"""

from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from mooring.embedded.resources import Obj
from mooring.errors import InputError, QuantityError
from mooring.model.node import Node
from mooring.model.quantity import parse_quantity
from mooring.version import KUBERNETES_VERSION
from mooring.yaml_depth import check_depth

_PODS: Final = "110"
_DISK: Final = "100Gi"
_GPU: Final = "nvidia.com/gpu"
#: Instance type, cores and memory; the mixture repeats.
_SIZES: Final = (
    ("medium", "8", "32Gi"), ("small", "4", "16Gi"), ("medium", "8", "32Gi"),
    ("large", "16", "64Gi"), ("small", "4", "16Gi"),
)  # fmt: skip
_SSD_EVERY: Final = 4
_GPU_EVERY: Final = 10
_IMAGES_EVERY: Final = 2
#: Images, with their sizes in bytes, that some nodes have already.
_IMAGES: Final = (
    ("docker.io/library/nginx:1.29", 72_000_000),
    ("docker.io/library/postgres:18", 160_000_000),
    ("registry.example.com/models/resnet:2", 2_400_000_000),
)
# As a kubelet writes them: type, status when all is well, reason, message.
_CONDITIONS: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory",
     "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)  # fmt: skip


class NodeForm(msgspec.Struct, forbid_unknown_fields=True):
    """The short form of one or several equal nodes in a file.

    Attributes:
        name: of the node; with a count, the beginning of the names.
        count: how many.
        cpu: cores.
        memory: such as ``128Gi``.
        pods: how many pods may run on it.
        storage: ephemeral storage.
        labels: beside those every node has.
        taints: as in a Node.
        extended: other resources, such as ``nvidia.com/gpu``.
        images: names of images that are there already.
        unschedulable: whether it is cordoned.
    """

    name: str
    count: int | None = None
    cpu: str | int | float = "8"
    memory: str | int = "32Gi"
    pods: str | int = _PODS
    storage: str | int = _DISK
    labels: dict[str, str] = {}
    taints: list[dict[str, Any]] = []
    extended: dict[str, str | int] = {}
    images: list[str] = []
    unschedulable: bool = False


def make_fleet(
    count: int, *, zones: int = 3, region: str = "moor-1", prefix: str = "node-"
) -> list[Obj]:
    """Manifests of nodes of several sizes, some with fast disks, devices and images.

    Args:
        count: how many.
        zones: over how many zones they are spread.
        region: the region of all zones.
        prefix: what their names begin with; a number follows, from 1.
    """
    nodes = []
    for number in range(1, count + 1):
        kind, cpu, memory = _SIZES[number % len(_SIZES)]
        zone = f"{region}{_letters((number - 1) % max(zones, 1))}"
        labels = {
            "topology.kubernetes.io/region": region,
            "topology.kubernetes.io/zone": zone,
            "node.kubernetes.io/instance-type": kind,
        }
        resources = {"cpu": cpu, "memory": memory, "ephemeral-storage": _DISK, "pods": _PODS}
        if number % _SSD_EVERY == 0:
            labels["disktype"] = "ssd"
        if number % _GPU_EVERY == 0:
            resources[_GPU] = "4"
        node = make_node(f"{prefix}{number}", number, labels, resources)
        if number % _IMAGES_EVERY == 0:
            chosen = _IMAGES[: 1 + number // _IMAGES_EVERY % len(_IMAGES)]
            node["status"]["images"] = [
                {"names": [name], "sizeBytes": size} for name, size in chosen
            ]
        nodes.append(node)
    return nodes


def make_node(name: str, number: int, labels: dict[str, str], resources: dict[str, str]) -> Obj:
    """The manifest of one node.

    Args:
        name: its name.
        number: which node of the cluster it is, from 1; its addresses follow from it.
        labels: beside those every node has.
        resources: its capacity, all of which pods can use.
    """
    conditions = [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
        }
        for kind, status, reason, message in _CONDITIONS
    ]
    pod_range = f"10.{64 + (number >> 8 & 127)}.{number & 255}.0/24"
    identity = f"{number:032x}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "linux",
                "beta.kubernetes.io/arch": "amd64",
                **labels,
            },
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": {
            "podCIDR": pod_range,
            "podCIDRs": [pod_range],
            "providerID": f"mooring://{name}",
        },
        "status": {
            "capacity": dict(resources),
            "allocatable": dict(resources),
            "conditions": conditions,
            "addresses": [
                {"type": "InternalIP", "address": _address(number)},
                {"type": "Hostname", "address": name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "machineID": identity,
                "systemUUID": identity,
                "bootID": identity,
                "kernelVersion": "6.12.0",
                "osImage": "mooring embedded",
                "containerRuntimeVersion": "containerd://2.2.0",
                "kubeletVersion": KUBERNETES_VERSION,
                "kubeProxyVersion": "",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
        },
    }


class FleetFile(NamedTuple):
    """What a file with nodes has.

    Attributes:
        nodes: manifests of its nodes.
        has_drivers: whether it has drivers of devices, too, for somebody else to read.
    """

    nodes: list[Obj]
    has_drivers: bool


def read_fleet(path: Path) -> list[Obj]:
    """Manifests of the nodes in a file, YAML or JSON, that has nothing else.

    The file has Node manifests (several documents, a List, or a list of them), or entries of the
    short form `NodeForm`, or both.

    Raises:
        InputError: the file cannot be read, or an entry makes no sense.
    """
    found = read_fleet_file(path)
    if found.has_drivers:
        raise InputError(
            f"the nodes file {path} has drivers of devices, which only moor cluster can use; "
            "leave them out"
        )
    return found.nodes


def read_fleet_file(path: Path) -> FleetFile:
    """The same for a file that may have drivers of devices, too.

    Raises:
        InputError: the file cannot be read, or an entry makes no sense.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"the nodes file {path} does not exist") from None
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"the nodes file {path} cannot be read: {why}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"the nodes file {path} cannot be read: {error}") from error
    documents = _documents(path, text)
    entries = list(_entries(documents))
    if not entries:
        raise InputError(f"the nodes file {path} contains no nodes")
    nodes: list[Obj] = []
    for number, entry in enumerate(entries, start=1):
        where = f"{path}, entry {number}"
        if not isinstance(entry, dict):
            raise InputError(f"{where} is not a node: it must be a mapping with at least a name")
        if "kind" in entry:
            nodes.append(_whole(where, entry))
        else:
            nodes.extend(_short(where, entry, len(nodes) + 1))
    _check_names(path, nodes)
    has_drivers = any(isinstance(one, dict) and "drivers" in one for one in documents)
    return FleetFile(nodes, has_drivers)


def _documents(path: Path, text: str) -> list[Any]:
    import yaml  # noqa: PLC0415 - slow to import, and a fleet is seldom read from a file

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        check_depth(text)
        return list(yaml.load_all(text, loader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" in line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or error
        raise InputError(f"the nodes file {path} is not valid YAML{line}: {problem}") from error


def _entries(documents: list[Any]) -> list[Any]:
    found: list[Any] = []
    for document in documents:
        if isinstance(document, list):
            found.extend(document)
        elif isinstance(document, dict) and str(document.get("kind", "")).endswith("List"):
            found.extend(document.get("items") or [])
        elif isinstance(document, dict) and {"nodes"} <= set(document) <= {"nodes", "drivers"}:
            found.extend(document["nodes"] or [])
        elif document is not None:
            found.append(document)
    return found


def _whole(where: str, entry: Obj) -> Obj:
    if entry["kind"] != "Node":
        raise InputError(f"{where} is a {entry['kind']}, where only nodes are expected")
    entry.setdefault("apiVersion", "v1")
    node: Node
    try:
        node = msgspec.convert(entry, Node)
        if not node.allocatable and not node.capacity:
            raise InputError(f"{where}: the node has neither status.allocatable nor capacity")
    except QuantityError as error:
        raise InputError(f"{where}: {error}") from error
    except msgspec.MsgspecError as error:
        raise InputError(f"{where} cannot be read: {error}") from error
    if not node.name:
        raise InputError(f"{where}: the node has no metadata.name")
    metadata = entry["metadata"]
    # What an API server gave it elsewhere means nothing here.
    for name in ("resourceVersion", "uid", "creationTimestamp", "managedFields", "selfLink"):
        metadata.pop(name, None)
    return entry


def _short(where: str, entry: Obj, first: int) -> list[Obj]:
    try:
        form = msgspec.convert(entry, NodeForm)
    except msgspec.MsgspecError as error:
        raise InputError(f"{where} cannot be read: {error}") from error
    count = 1 if form.count is None else form.count
    if count < 0:
        raise InputError(f"{where}: count is {count}; it must be the number of such nodes")
    amounts = {
        "cpu": form.cpu, "memory": form.memory, "ephemeral-storage": form.storage,
        "pods": form.pods, **form.extended,
    }  # fmt: skip
    resources: dict[str, str] = {}
    for name, amount in amounts.items():
        try:
            parse_quantity(amount)
        except QuantityError as error:
            raise InputError(f"{where}: {name}: {error}") from error
        resources[name] = str(amount)
    nodes = []
    for number in range(count):
        name = form.name if form.count is None else f"{form.name}-{number + 1}"
        node = make_node(name, first + number, form.labels, resources)
        if form.taints:
            node["spec"]["taints"] = [dict(one) for one in form.taints]
        if form.unschedulable:
            node["spec"]["unschedulable"] = True
        if form.images:
            node["status"]["images"] = [
                {"names": [one], "sizeBytes": 100_000_000} for one in form.images
            ]
        nodes.append(node)
    return nodes


def _check_names(path: Path, nodes: list[Obj]) -> None:
    seen: set[str] = set()
    for node in nodes:
        name = node["metadata"]["name"]
        if name in seen:
            raise InputError(f"the nodes file {path} has two nodes named {name!r}")
        seen.add(name)


def _address(number: int) -> str:
    return f"172.{16 + (number >> 16 & 15)}.{number >> 8 & 255}.{number & 255}"


def _letters(number: int) -> str:
    """a, b, ... z, ba, bb, ..."""
    text = chr(ord("a") + number % 26)
    return text if number < 26 else _letters(number // 26) + text
