"""Where configurations and Policies are: files of their own, values of ConfigMaps, pods' volumes.

Called by `migration`. Finds things in texts; translates nothing.
"""

import itertools
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

import yaml

from mooring.config.types import API_VERSION, KIND
from mooring.deploy.migration import policy_types
from mooring.deploy.migration.migration_error import MigrationError
from mooring.deploy.migration.old_types import FIELDS
from mooring.deploy.migration.scheduler_args import SchedulerArgs, scheduler_args
from mooring.deploy.migration.texts import EditedText, field, line_of
from mooring.deploy.mounted_files import mounted_file
from mooring.deploy.static_pods import is_static_folder

_OF_POLICY: Final = {"predicates", "priorities", "alwaysCheckAllPredicates"}
_KEY_OF_POLICY: Final = "policy.cfg"


class InConfigMap(NamedTuple):
    """A value of a ConfigMap."""

    namespace: str
    name: str
    key: str
    data_node: yaml.MappingNode
    key_node: yaml.Node
    value_node: yaml.Node

    def __str__(self) -> str:
        return f"ConfigMap {self.namespace + '/' if self.namespace else ''}{self.name}, {self.key}"


class ConfigPlace:
    """A configuration or a Policy in a text.

    Attributes:
        text: the text.
        node, data: the object.
        config_map: the value of a ConfigMap that it is in; None for a document of its own.
    """

    def __init__(
        self,
        text: EditedText,
        node: yaml.Node,
        data: dict[str, Any],
        config_map: InConfigMap | None = None,
    ) -> None:
        self.text = text
        self.node = node
        self.data = data
        self.config_map = config_map
        kind = data.get("kind")
        self.is_policy = kind == policy_types.KIND or (
            kind is None and bool(_OF_POLICY & data.keys())
        )
        if self.is_policy:
            self.version = "Policy"
        else:
            self.version = str(data.get("apiVersion") or "")
            if self.version not in (API_VERSION, *FIELDS):
                raise MigrationError(
                    f"{self.where('apiVersion')}: apiVersion: {self.version!r} is not a version of "
                    f"{KIND}; known are {', '.join(FIELDS)} and {API_VERSION}",
                    text.source,
                )

    @property
    def is_current(self) -> bool:
        """Whether it needs no migration."""
        return self.version == API_VERSION

    @property
    def file_name(self) -> str:
        """The name that a file with it has."""
        name = self.config_map.key if self.config_map is not None else self.text.source
        return PurePosixPath(name).name

    def where(self, path: str = "", args_of: str = "") -> str:
        """File and line of one of its fields, or of the arguments of a plugin."""
        line = line_of(self._plugin_config(args_of) if args_of else self.node, path)
        if self.config_map is not None:
            value = self.config_map.value_node
            block = isinstance(value, yaml.ScalarNode) and value.style in ("|", ">")
            line = value.start_mark.line + (1 + line if block else 0)
        return f"{self.text.source}, line {line + 1}"

    def _plugin_config(self, plugin: str) -> yaml.Node:
        profiles = field(self.node, "profiles")
        for profile in (self.node, *getattr(profiles, "value", ())):
            for one in getattr(field(profile, "pluginConfig"), "value", ()):
                name = field(one, "name")
                if name is not None and name.value == plugin:
                    found: yaml.Node = one
                    return found
        return self.node


class Workload(NamedTuple):
    """A container of a manifest that runs a kube-scheduler."""

    text: EditedText
    node: yaml.Node
    data: dict[str, Any]
    pod_spec: dict[str, Any]
    pod_node: yaml.MappingNode
    container: dict[str, Any]
    args: SchedulerArgs

    @property
    def namespace(self) -> str:
        """The namespace of the object; empty if it does not say."""
        return str(as_object(self.data.get("metadata")).get("namespace") or "")

    @property
    def name(self) -> str:
        """The name of the object."""
        return str(as_object(self.data.get("metadata")).get("name") or "")

    def line_of_flag(self, flag: str) -> int:
        """The line of the word that has a flag, counted from 1."""
        for name in ("command", "args"):
            for word in getattr(field(self.args.container, name), "value", ()):
                if f"--{flag}" in str(word.value).replace("_", "-"):
                    return int(word.start_mark.line) + 1
        return int(self.node.start_mark.line) + 1

    @property
    def is_static(self) -> bool:
        """Whether the kubelet reads it from a file, as far as the object says."""
        labels = as_object(as_object(self.data.get("metadata")).get("labels"))
        return self.data.get("kind") == "Pod" and (
            is_static_folder(self.text.source)
            or labels.get("tier") == "control-plane"
            or self.pod_spec.get("hostNetwork") is True
        )

    def __str__(self) -> str:
        return f"{self.data.get('kind')} {self.name}, container {self.container.get('name')}"

    def mounted(self, path: str) -> tuple[str, str]:
        """The ConfigMap and the key behind a path in the container; empty if it is none."""
        found = mounted_file(self.pod_spec, self.container, path)
        return (found.config_map, found.key) if found is not None else ("", "")


class Places:
    """Everything that the given texts hold.

    Args:
        texts: the texts.

    Raises:
        MigrationError: something claims to be a configuration and is none.
    """

    def __init__(self, texts: list[EditedText]) -> None:
        self.found: list[ConfigPlace] = []
        self.workloads: list[Workload] = []
        self._config_maps: set[tuple[str, str]] = set()
        self._volumes: dict[int, set[str]] = {}
        for text in texts:
            for document in text.documents:
                for node, data in _unpacked(document.node, document.data):
                    self._look_at(text, node, data)

    def in_config_map(self, name: str, key: str, namespace: str = "") -> ConfigPlace | None:
        """What a value of a ConfigMap holds; without a key its only Policy."""
        places = [
            one
            for one in self.found
            if one.config_map is not None
            and one.config_map.name == name
            and (not namespace or one.config_map.namespace in ("", namespace))
        ]
        exact = [one for one in places if one.config_map and one.config_map.key == key]
        if not key:
            policies = [one for one in places if one.is_policy]
            exact = [one for one in policies if one.file_name == _KEY_OF_POLICY]
            exact = exact or (policies if len(policies) == 1 else [])
        return exact[0] if exact else None

    def policy_file_for(self, name: str, namespace: str) -> ConfigPlace | None:
        """The only Policy in a file of its own, for a ConfigMap that is not given."""
        if any(one == name and where in ("", namespace) for where, one in self._config_maps):
            return None
        files = [one for one in self.found if one.config_map is None and one.is_policy]
        return files[0] if len(files) == 1 else None

    def free_config_map(self, name: str, namespace: str) -> str:
        """A name that no ConfigMap has, and which is taken from now on."""
        taken = {one for where, one in self._config_maps if where == namespace}
        found = _free(name, taken)
        self._config_maps.add((namespace, found))
        return found

    def free_volume(self, workload: Workload, name: str) -> str:
        """A name that no volume of a pod has, and which is taken from now on."""
        own = {str(one.get("name")) for one in _objects(workload.pod_spec.get("volumes"))}
        taken = self._volumes.setdefault(id(workload.pod_node), own)
        found = _free(name, taken)
        taken.add(found)
        return found

    def named(self, path: str, near: ConfigPlace | None = None) -> ConfigPlace | None:
        """What a file of some name holds; that in the same ConfigMap first."""
        name = PurePosixPath(path).name
        found = [one for one in self.found if one.file_name == name and one is not near]
        if near is not None and near.config_map is not None:
            own = near.config_map
            found.sort(key=lambda one: one.config_map is None or one.config_map.name != own.name)
        return found[0] if found else None

    def behind(self, workload: Workload, path: str) -> ConfigPlace | None:
        """What a path in a container leads to."""
        name, key = workload.mounted(path)
        if not name:
            return self.named(path)
        if any(one == name for _, one in self._config_maps):
            return self.in_config_map(name, key, workload.namespace)
        # kubectl create configmap makes it of files.
        files = [one for one in self.found if one.config_map is None and one.file_name == key]
        return files[0] if len(files) == 1 else None

    def _look_at(self, text: EditedText, node: yaml.Node, data: dict[str, Any]) -> None:
        kind = data.get("kind")
        if _is_configuration(data):
            self.found.append(ConfigPlace(text, node, data))
        elif kind == "ConfigMap":
            self._look_into(text, node, data)
        else:
            self._look_for_schedulers(text, node, data)

    def _look_into(self, text: EditedText, node: yaml.Node, data: dict[str, Any]) -> None:
        meta = as_object(data.get("metadata"))
        self._config_maps.add((str(meta.get("namespace") or ""), str(meta.get("name") or "")))
        values = field(node, "data")
        if not isinstance(values, yaml.MappingNode):
            return
        for key_node, value_node in values.value:
            content = as_object(data.get("data")).get(key_node.value)
            if not isinstance(content, str) or not content.strip():
                continue
            config_map = InConfigMap(
                str(meta.get("namespace") or ""),
                str(meta.get("name") or ""),
                str(key_node.value),
                values,
                key_node,
                value_node,
            )
            try:
                inner = EditedText(content, f"{text.source} ({config_map})")
            except MigrationError:
                if "predicates" in content or KIND in content:
                    raise
                continue
            for document in inner.documents[:1]:
                if isinstance(document.data, dict) and _is_configuration(document.data):
                    self.found.append(ConfigPlace(text, document.node, document.data, config_map))

    def _look_for_schedulers(self, text: EditedText, node: yaml.Node, data: dict[str, Any]) -> None:
        pod_node, pod = field(node, "spec"), data.get("spec")
        if data.get("kind") != "Pod":
            pod_node = field(field(pod_node, "template"), "spec")
            template = pod.get("template") if isinstance(pod, dict) else None
            pod = template.get("spec") if isinstance(template, dict) else None
        containers = field(pod_node, "containers")
        if not isinstance(pod, dict) or not isinstance(containers, yaml.SequenceNode):
            return
        for one, container in zip(containers.value, pod["containers"], strict=True):
            args = scheduler_args(one)
            if args is not None and isinstance(pod_node, yaml.MappingNode):
                self.workloads.append(Workload(text, node, data, pod, pod_node, container, args))


def _free(name: str, taken: set[str]) -> str:
    """The name, or the first with a number behind it that is not taken."""
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(one for one in itertools.chain((name,), numbered) if one not in taken)


def _is_configuration(data: dict[str, Any]) -> bool:
    version = data.get("apiVersion")
    if data.get("kind") == policy_types.KIND:
        return version in (None, *policy_types.API_VERSIONS)
    if data.get("kind") is None and version is None:
        return bool(_OF_POLICY & data.keys())
    return data.get("kind") == KIND


def _unpacked(node: yaml.Node, data: Any) -> Iterator[tuple[yaml.Node, dict[str, Any]]]:
    """An object, or those in a list of objects."""
    if not isinstance(data, dict):
        return
    items = field(node, "items")
    if str(data.get("kind")).endswith("List") and isinstance(items, yaml.SequenceNode):
        for one, inner in zip(items.value, data["items"], strict=True):
            yield from _unpacked(one, inner)
    else:
        yield node, data


def as_object(given: Any) -> dict[str, Any]:
    """Something that should be an object; an empty one if it is not."""
    return given if isinstance(given, dict) else {}


def _objects(given: Any) -> list[dict[str, Any]]:
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
