"""Objects without what is nobody's business, about which the scheduler decides the same.

Only modelled fields come out at all: environment, commands, arguments, mounts, secrets and whatever
else scheduling does not read is gone. Of the rest, names, namespaces, ids, images, annotations,
labels, taints, volumes' handles, resources, storage drivers and schedulers get aliases, the same
for the same, so that references and selectors still match. What stays: amounts, numbers, times and
the words of `well_known_names`. A text where such a word belongs, and which is none, gets an alias,
too.

Every text field has a rule here; a field without one is an error, not a leak.
"""

import functools
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from mooring.model import pod, selectors, storage, taints, volumes, workloads
from mooring.model.devices import allocation, device_class, resource_claim, resource_slice
from mooring.model.meta import KubeObject, ObjectMeta, OwnerReference
from mooring.model.node import ContainerImage, Node, NodeCondition, NodeSpec, NodeStatus
from mooring.model.resources import ResourceList, ResourceStatus
from mooring.snapshot.aliases import Aliases
from mooring.snapshot.expression_aliases import expression_alias, value_alias
from mooring.snapshot.well_known_names import ADDRESSES, CONDITIONS, OWNERS, WORDS

T = TypeVar("T", bound=KubeObject)
#: Makes the new value of a field.
RedactionRule = Callable[[Aliases, Any], Any]

_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,18}(Z|[+-][0-9]{2}:[0-9]{2})")
_AMOUNT: Final = re.compile(r"[+-]?[0-9.]{1,40}([eE][+-]?[0-9]{1,3}|[numkMGTPE]|[KMGTPE]i)?")


def redact(thing: T, aliases: Aliases) -> T:
    """The object with aliases, and with nothing that is not modelled."""
    fields = {name: rule(aliases, getattr(thing, name)) for name, rule in _plan(type(thing))}
    return msgspec.structs.replace(thing, metadata=_meta(thing, aliases), **fields)


def redacted_key(thing: KubeObject, aliases: Aliases) -> str:
    """The object's key as it is after `redact`."""
    return redact(type(thing)(metadata=thing.metadata), aliases).key


def _meta(thing: KubeObject, aliases: Aliases) -> ObjectMeta:
    meta = thing.metadata
    name: Callable[[str], str] = aliases.name
    labels = _labels
    if isinstance(thing, storage.CSIDriver):
        name = aliases.driver
    elif isinstance(thing, workloads.Namespace):
        name = aliases.namespace
    elif isinstance(thing, Node | storage.PersistentVolume):
        labels = _node_labels
    return ObjectMeta(
        name=name(meta.name),
        namespace=_namespace(aliases, meta.namespace),
        uid=_name(aliases, meta.uid),
        generation=meta.generation,
        creation_timestamp=_time(aliases, meta.creation_timestamp),
        deletion_timestamp=_time(aliases, meta.deletion_timestamp),
        labels=labels(aliases, meta.labels),
        annotations=_annotations(aliases, meta.annotations),
        owner_references=_each(_owner)(aliases, meta.owner_references),
    )


# -- rules


def _keep(_: Aliases, value: Any) -> Any:
    return value


def _drop(_: Aliases, value: Any) -> Any:
    return "" if isinstance(value, str) else None


def _optional(rule: RedactionRule) -> RedactionRule:
    return lambda aliases, value: None if value is None else rule(aliases, value)


def _each(rule: RedactionRule) -> RedactionRule:
    return _optional(lambda aliases, values: [rule(aliases, one) for one in values])


_name: Final = _optional(lambda aliases, text: aliases.name(text))
_namespace: Final = _optional(lambda aliases, text: aliases.namespace(text))
_key: Final = _optional(lambda aliases, key: aliases.label_key(key))
_value: Final = _optional(lambda aliases, value: aliases.label_value(value))
_node_value: Final = _optional(lambda aliases, value: aliases.node_label_value(value))
_node_image: Final = _optional(lambda aliases, name: aliases.image(name))
_driver: Final = _optional(lambda aliases, name: aliases.driver(name))
_resource: Final = _optional(lambda aliases, name: aliases.resource(name))
_scheduler: Final = _optional(lambda aliases, name: aliases.scheduler(name))


@_optional
def _word(aliases: Aliases, word: str) -> str:
    """One of a few words that a field may hold."""
    return word if word in WORDS else aliases.name(word)


@_optional
def _time(aliases: Aliases, text: str) -> str:
    return text if _TIME.fullmatch(text) else aliases.text(text)


@_optional
def _amount(aliases: Aliases, amount: str | float) -> str | float:
    return (
        amount
        if isinstance(amount, int | float) or _AMOUNT.fullmatch(amount)
        else (aliases.text(amount))
    )


@_optional
def _resources(aliases: Aliases, amounts: ResourceList) -> ResourceList:
    return {aliases.resource(name): _amount(aliases, one) for name, one in amounts.items()}


def _drivers(aliases: Aliases, names: str) -> str:
    return ",".join(aliases.driver(name) for name in names.split(","))


def _truth(aliases: Aliases, text: str) -> str:
    return text if text in ("true", "false") else aliases.text(text)


#: Annotations that scheduling reads.
_ANNOTATIONS: Final[dict[str, RedactionRule]] = {
    resource_claim.EXTENDED_RESOURCE_CLAIM: _truth,
    storage.SELECTED_NODE: _name,
    "volume.beta.kubernetes.io/storage-class": _name,
    storage.BIND_COMPLETED: _name,  # "yes"
    storage.BOUND_BY_CONTROLLER: _name,
    storage.MIGRATED_PLUGINS: _drivers,
}


def _pod_image(aliases: Aliases, name: str) -> str:
    # parity v1.36.4: plugins/imagelocality normalizedImageName; nodes report names with tags
    return aliases.image(f"{name}:latest" if name.rfind(":") <= name.rfind("/") else name)


def _address(aliases: Aliases, text: str) -> str:
    return text if text in ADDRESSES else aliases.name(text)


def _field(aliases: Aliases, path: str) -> str:
    return path if path == "metadata.name" else aliases.name(path)


@_optional
def _condition(aliases: Aliases, word: str) -> str:
    return word if word in CONDITIONS else aliases.name(word)


@_optional
def _labels(aliases: Aliases, labels: Mapping[str, str]) -> dict[str, str]:
    return {aliases.label_key(key): aliases.label_value(one) for key, one in labels.items()}


@_optional
def _node_labels(aliases: Aliases, labels: Mapping[str, str]) -> dict[str, str]:
    return {aliases.label_key(key): aliases.node_label_value(one) for key, one in labels.items()}


@_optional
def _annotations(aliases: Aliases, annotations: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for key, text in annotations.items():
        rule = _ANNOTATIONS.get(key)
        found[aliases.label_key(key)] = rule(aliases, text) if rule else aliases.text(text)
    return found


@_optional
def _names_to_times(aliases: Aliases, times: Mapping[str, str | None]) -> dict[str, str | None]:
    return {aliases.name(name): _time(aliases, time) for name, time in times.items()}


def _owner(aliases: Aliases, owner: OwnerReference) -> OwnerReference:
    known = OWNERS.get(owner.kind)
    version = owner.api_version
    return OwnerReference(
        kind=owner.kind if known is not None else aliases.name(owner.kind),
        name=aliases.name(owner.name),
        uid=aliases.name(owner.uid),
        api_version=version if version in ("", known) else aliases.name(version),
        controller=owner.controller,
    )


def _requirement(value: RedactionRule, key: RedactionRule = _key) -> RedactionRule:
    def rule(aliases: Aliases, one: selectors.Requirement) -> selectors.Requirement:
        return selectors.Requirement(
            key(aliases, one.key), _word(aliases, one.operator), _each(value)(aliases, one.values)
        )

    return rule


@_optional
def _node_selector(aliases: Aliases, selector: selectors.LabelSelector) -> selectors.LabelSelector:
    """A label selector for nodes or volumes."""
    return selectors.LabelSelector(
        _node_labels(aliases, selector.match_labels),
        _each(_requirement(_node_value))(aliases, selector.match_expressions),
    )


@_optional
def _qualified(aliases: Aliases, name: str) -> str:
    """The name of an attribute or capacity, after its domain if it has one."""
    return "/".join(value_alias(aliases, part) for part in name.split("/"))


_expression: Final = _optional(expression_alias)
_attribute: Final = _optional(value_alias)


def _keyed(key: RedactionRule, part: type[msgspec.Struct]) -> RedactionRule:
    """Parts by a name."""

    def rule(aliases: Aliases, parts: Mapping[str, Any] | None) -> dict[str, Any] | None:
        if parts is None:
            return None
        inner = _struct_rule(part)
        return {key(aliases, name): inner(aliases, one) for name, one in parts.items()}

    return rule


@_optional
def _capacities(aliases: Aliases, amounts: ResourceList) -> ResourceList:
    return {_qualified(aliases, name): _amount(aliases, one) for name, one in amounts.items()}


_RULES: Final[dict[type, dict[str, RedactionRule]]] = {
    # model/selectors.py, model/taints.py
    selectors.LabelSelector: {
        "match_labels": _labels,
        "match_expressions": _each(_requirement(_value)),
    },
    selectors.NodeSelectorTerm: {
        "match_expressions": _each(_requirement(_node_value)),
        "match_fields": _each(_requirement(_name, key=_field)),
    },
    selectors.PodAffinityTerm: {
        "topology_key": _key,
        "namespaces": _each(_namespace),
        "match_label_keys": _each(_key),
        "mismatch_label_keys": _each(_key),
    },
    taints.Taint: {"key": _key, "value": _value, "effect": _word},
    taints.Toleration: {"key": _key, "operator": _word, "value": _value, "effect": _word},
    # model/pod.py, model/resources.py
    pod.ContainerPort: {"host_ip": _address, "protocol": _word},
    pod.ContainerRestartRule: {"action": _word},
    pod.Container: {"name": _name, "image": _pod_image, "restart_policy": _word},
    pod.TopologySpreadConstraint: {
        "topology_key": _key,
        "when_unsatisfiable": _word,
        "node_affinity_policy": _word,
        "node_taints_policy": _word,
        "match_label_keys": _each(_key),
    },
    pod.PodSchedulingGate: {"name": _name},
    pod.PodResourceClaim: {
        "name": _name,
        "resource_claim_name": _name,
        "resource_claim_template_name": _name,
    },
    pod.PodResourceClaimStatus: {"name": _name, "resource_claim_name": _name},
    pod.PodSpec: {
        "node_name": _name,
        "scheduler_name": _scheduler,
        "priority_class_name": _name,
        "preemption_policy": _word,
        "node_selector": _node_labels,
    },
    pod.PodCondition: {
        "type": _condition,
        "status": _word,
        "reason": _condition,
        "message": _drop,
    },
    pod.PodStatus: {"phase": _word, "nominated_node_name": _name, "start_time": _time},
    ResourceStatus: {"name": _name},
    # model/volumes.py
    volumes.Volume: {"name": _name},
    volumes.PersistentVolumeClaimVolumeSource: {"claim_name": _name},
    volumes.GCEPersistentDiskVolumeSource: {"pd_name": _name},
    volumes.AWSElasticBlockStoreVolumeSource: {"volume_id": _name},
    volumes.RBDVolumeSource: {"monitors": _each(_name), "image": _name, "pool": _name},
    volumes.ISCSIVolumeSource: {"iqn": _name},
    volumes.AzureDiskVolumeSource: {"disk_uri": _name, "kind": _word},
    volumes.AzureFileVolumeSource: {"share_name": _name, "secret_name": _drop},
    volumes.CinderVolumeSource: {"volume_id": _name},
    volumes.PortworxVolumeSource: {"volume_id": _name},
    volumes.VsphereVirtualDiskVolumeSource: {"volume_path": _name},
    volumes.CSIVolumeSource: {"driver": _driver},
    volumes.ImageVolumeSource: {"reference": _pod_image},
    # model/node.py
    NodeSpec: {"provider_id": _drop},
    ContainerImage: {"names": _each(_node_image)},
    NodeCondition: {"type": _condition, "status": _word, "reason": _condition},
    NodeStatus: {"declared_features": _each(_word)},
    # model/storage.py
    storage.PersistentVolumeClaimSpec: {
        "access_modes": _each(_word),
        "selector": _node_selector,
        "volume_name": _name,
        "storage_class_name": _name,
        "volume_mode": _word,
        "volume_attributes_class_name": _name,
    },
    storage.PhaseStatus: {"phase": _word},
    storage.ObjectReference: {"namespace": _namespace, "name": _name, "uid": _name},
    storage.CSIPersistentVolumeSource: {"driver": _driver, "volume_handle": _name},
    storage.PersistentVolumeSpec: {
        "access_modes": _each(_word),
        "storage_class_name": _name,
        "volume_mode": _word,
        "volume_attributes_class_name": _name,
    },
    storage.TopologySelectorLabelRequirement: {"key": _key, "values": _each(_node_value)},
    storage.StorageClass: {"provisioner": _driver, "volume_binding_mode": _word},
    storage.CSINodeDriver: {"name": _driver},
    storage.CSIStorageCapacity: {
        "storage_class_name": _name,
        "node_topology": _node_selector,
        "capacity": _amount,
        "maximum_volume_size": _amount,
    },
    storage.VolumeAttachmentSource: {"persistent_volume_name": _name},
    storage.VolumeAttachmentSpec: {"attacher": _driver, "node_name": _name},
    # model/devices/
    device_class.DeviceClassSpec: {"extended_resource_name": _resource},
    device_class.CELDeviceSelector: {"expression": _expression},
    device_class.OpaqueDeviceConfiguration: {"driver": _name, "parameters": _drop},
    resource_slice.DeviceAttribute: {"string_value": _attribute, "version_value": _attribute},
    resource_slice.CapacityRequestPolicyRange: {"min": _amount, "max": _amount, "step": _amount},
    resource_slice.CapacityRequestPolicy: {"default": _amount, "valid_values": _each(_amount)},
    resource_slice.DeviceCapacity: {"value": _amount},
    resource_slice.Counter: {"value": _amount},
    resource_slice.CounterSet: {
        "name": _name,
        "counters": _keyed(_name, resource_slice.Counter),
    },
    resource_slice.DeviceCounterConsumption: {
        "counter_set": _name,
        "counters": _keyed(_name, resource_slice.Counter),
    },
    resource_slice.DeviceTaint: {
        "key": _key,
        "value": _value,
        "effect": _word,
        "time_added": _time,
    },
    resource_slice.Device: {
        "name": _name,
        "attributes": _keyed(_qualified, resource_slice.DeviceAttribute),
        "capacity": _keyed(_qualified, resource_slice.DeviceCapacity),
        "node_name": _name,
        "binding_conditions": _each(_condition),
        "binding_failure_conditions": _each(_condition),
    },
    resource_slice.ResourcePool: {"name": _name},
    resource_slice.ResourceSliceSpec: {"driver": _name, "node_name": _name},
    allocation.DeviceRequestAllocationResult: {
        "request": _name,
        "driver": _name,
        "pool": _name,
        "device": _name,
        "binding_conditions": _each(_condition),
        "binding_failure_conditions": _each(_condition),
        "share_id": _name,
        "consumed_capacity": _capacities,
    },
    allocation.DeviceAllocationConfiguration: {"source": _word, "requests": _each(_name)},
    allocation.AllocationResult: {"allocation_timestamp": _time},
    resource_claim.CapacityRequirements: {"requests": _capacities},
    resource_claim.DeviceSubRequest: {
        "name": _name,
        "device_class_name": _name,
        "allocation_mode": _word,
    },
    resource_claim.ExactDeviceRequest: {"device_class_name": _name, "allocation_mode": _word},
    resource_claim.DeviceRequest: {"name": _name},
    resource_claim.DeviceConstraint: {
        "requests": _each(_name),
        "match_attribute": _qualified,
        "distinct_attribute": _qualified,
    },
    resource_claim.DeviceClaimConfiguration: {"requests": _each(_name)},
    resource_claim.ResourceClaimConsumerReference: {
        "api_group": _name,
        "resource": _word,
        "name": _name,
        "uid": _name,
    },
    resource_claim.DeviceCondition: {
        "type": _condition,
        "status": _word,
        "reason": _condition,
        "message": _drop,
    },
    resource_claim.AllocatedDeviceStatus: {
        "driver": _name,
        "pool": _name,
        "device": _name,
        "share_id": _name,
    },
    # model/workloads.py
    workloads.PriorityClass: {"preemption_policy": _word},
    workloads.ServiceSpec: {"selector": _labels},
    workloads.PodTemplateMeta: {"labels": _labels},
    workloads.ReplicationControllerSpec: {"selector": _labels},
    workloads.PodDisruptionBudgetStatus: {"disrupted_pods": _names_to_times},
}


# -- from types to rules


@functools.cache
def _plan(kind: type[msgspec.Struct]) -> list[tuple[str, RedactionRule]]:
    """The fields of a struct that have to be looked at, with their rules.

    Raises:
        TypeError: a field may hold a text, and nobody said what to do with it.
    """
    rules = _RULES.get(kind, {})
    plan = []
    own = set(KubeObject.__struct_fields__) if issubclass(kind, KubeObject) else set()
    hints = typing.get_type_hints(kind)
    for field in msgspec.structs.fields(kind):
        if field.name in own:
            continue
        rule = rules.get(field.name) or _rule_for(hints[field.name])
        if rule is None:
            raise TypeError(f"{kind.__name__}.{field.name} has no rule for redacting")
        if rule is not _keep:
            plan.append((field.name, rule))
    return plan


def _rule_for(kind: Any) -> RedactionRule | None:
    """What to do with a value of a declared type; None if it may be a text."""
    if kind in (bool, int, float):
        return _keep
    if kind == ResourceList:
        return _resources
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        left = [one for one in arguments if one is not type(None)]
        inner = _rule_for(left[0]) if len(left) == 1 else None
        return inner if inner is None or inner is _keep else _optional(inner)
    if origin is list:
        inner = _rule_for(arguments[0])
        return _each(inner) if inner is not None else None
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _struct_rule(kind)
    return None


def _struct_rule(kind: type[msgspec.Struct]) -> RedactionRule:
    plan = _plan(kind)
    if not plan:
        return _keep

    def rule(aliases: Aliases, part: msgspec.Struct) -> msgspec.Struct:
        fields = {name: inner(aliases, getattr(part, name)) for name, inner in plan}
        return msgspec.structs.replace(part, **fields)

    return rule
