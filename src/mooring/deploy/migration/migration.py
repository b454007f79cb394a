"""Old scheduler configuration in, ``kubescheduler.config.k8s.io/v1`` out.

Called by ``moor migrate`` and the doctor. Texts in, texts out: opens no files. What is no scheduler
configuration in a text stays as it is, to the byte.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from mooring.config.strict_decoding import FieldProblem, raise_problems
from mooring.config.types import API_VERSION, KIND
from mooring.deploy.kubernetes_version import FIRST_V1, minor_of
from mooring.deploy.migration.migration_error import MigrationError
from mooring.deploy.migration.notes import Note, Notes
from mooring.deploy.migration.old_configuration import (
    ConfigurationTranslation,
    policy_alone,
    without_nulls,
)
from mooring.deploy.migration.old_types import FIELDS, V1ALPHA1, PolicySource
from mooring.deploy.migration.places import ConfigPlace, Places, Workload, as_object
from mooring.deploy.migration.policy_types import read_policy
from mooring.deploy.migration.result_text import check_result, comments, dump, written
from mooring.deploy.migration.scheduler_flags import (
    CONFIG,
    POLICY_CONFIG_MAP,
    POLICY_FILE,
    POLICY_NAMESPACE,
)
from mooring.deploy.migration.texts import EditedText
from mooring.errors import InputError

MIGRATED: Final = "migrated"
#: Everything in it is v1 already.
CURRENT: Final = "current"
#: Nothing but a Policy that is part of another file now.
MERGED: Final = "merged"
#: Nothing could be migrated; comments say what to do.
NOTED: Final = "noted"
#: No scheduler configuration.
OTHER: Final = "other"
_SYSTEM: Final = "kube-system"
_FOLDER: Final = "/etc/kubernetes/scheduler-config"
#: Served without TLS until Kubernetes v1.22.
_OLD_PORT: Final = 10251
_PROBLEM: Final = re.compile(r"(^|; )([a-z][A-Za-z]*(?:\[\d+\]|\.[A-Za-z]+)*): ")
_ARGS: Final = re.compile(r"the args of (\w+)")


class Migrated(msgspec.Struct, frozen=True):
    """What became of one text.

    Attributes:
        source: its name.
        text: the new text; the old one if nothing in it had to change.
        notes: what there is to say, in order; those with ``action`` ask for something.
        state: ``migrated``, ``current``, ``merged`` (into another text), ``noted`` (nothing but
            comments are new) or ``other``.
        found: the old versions that were in it, such as ``Policy``.
    """

    source: str
    text: str
    notes: tuple[Note, ...] = ()
    state: str = OTHER
    found: tuple[str, ...] = ()


def migrate(text: str, *, source: str) -> Migrated:
    """Translate the scheduler configuration in one text.

    Args:
        text: YAML or JSON: a Policy, a KubeSchedulerConfiguration of any version, or manifests.
        source: its name, for messages.

    Raises:
        MigrationError: it is wrong, or refers to something that is not in it.
    """
    return migrate_all([(source, text)])[0]


def migrate_all(texts: Iterable[tuple[str, str]], *, keep_json: bool = False) -> list[Migrated]:
    """Translate texts that may refer to each other.

    Args:
        texts: names and texts.
        keep_json: write JSON, without comments, where a whole text is JSON.

    Raises:
        MigrationError: something is wrong, or is referred to and not there.
    """
    return _Migration([EditedText(text, source) for source, text in texts], keep_json).run()


class _Migration:
    """Texts on their way."""

    def __init__(self, texts: list[EditedText], keep_json: bool) -> None:
        self._texts = texts
        self._keep_json = keep_json
        self._places = Places(texts)
        self._notes = {id(text): Notes() for text in texts}
        self._found: dict[int, list[str]] = {id(text): [] for text in texts}
        self._done: set[int] = set()
        self._merged: list[ConfigPlace] = []
        self._users: dict[int, Workload] = {}
        #: Policies that flags name beside these configurations.
        self._policies: dict[int, ConfigPlace] = {}
        self._noted: set[int] = set()

    def run(self) -> list[Migrated]:
        for workload in self._places.workloads:
            self._look_at(workload)
        for place in self._places.found:
            if not place.is_policy and not place.is_current and id(place) not in self._done:
                self._configuration(place, place.data, self._users.get(id(place)))
        for place in self._places.found:
            if place.is_policy and id(place) not in self._done and place not in self._merged:
                self._policy(place)
        for place in self._merged:
            self._remove(place)
        return [self._result(text) for text in self._texts]

    def _result(self, text: EditedText) -> Migrated:
        changed = text.changed()
        places = [one for one in self._places.found if one.text is text]
        if changed != text.text and id(text) in self._noted and not self._found[id(text)]:
            state = NOTED
        elif changed != text.text:
            state = MIGRATED
        elif any(one in self._merged and one.node is text.documents[0].node for one in places):
            state = MERGED
        elif places and all(one.is_current for one in places):
            state = CURRENT
        else:
            state = OTHER
        notes, found = self._notes[id(text)], dict.fromkeys(self._found[id(text)])
        return Migrated(text.source, changed, tuple(notes), state, tuple(found))

    def _look_at(self, workload: Workload) -> None:
        args, notes = workload.args, Notes()
        config = args.value(CONFIG)
        place = self._places.behind(workload, config) if config else None
        new_config = ""
        if place is not None:
            self._users[id(place)] = workload
            _say_remade(workload, CONFIG, place, notes)
            self._policy_beside(workload, place, notes)
        elif config and args.policy_flag:
            # Kubernetes v1.19 to v1.22 take both, so that one alone is not the whole configuration.
            line = workload.line_of_flag(CONFIG)
            raise MigrationError(
                f"{workload.text.source}, line {line}: --{args.policy_flag} belongs to the "
                f"configuration --config={config}, which is not among the given files; give it, "
                "too",
                workload.text.source,
            )
        elif config:
            name, key = workload.mounted(config)
            behind = f"{key} of ConfigMap {name}" if name else "a file on its node"
            notes.ask(
                f"--config={config}",
                f"is {behind}, which is not among the given files; give it, too, or correct it",
            )
        if args.configures:
            new_config = self._configured_by_args(workload, notes)
        changed = not args.unclear and args.rewrite(workload.text, new_config, notes)
        if changed or args.unclear:
            args.say_unclear(notes)
        if changed or (place is not None and not place.is_current):
            args.say_gates(notes)
        if changed or config:
            self._versions(workload, notes)
        self._notes[id(workload.text)].add(notes, f"{workload}: ")
        if changed:
            self._found[id(workload.text)].append("arguments")
        if changed or args.unclear:
            self._comment(workload, notes)

    def _policy_beside(self, workload: Workload, place: ConfigPlace, notes: Notes) -> None:
        """Remember the Policy of a flag where Kubernetes took it beside ``--config``."""
        flag = workload.args.policy_flag
        if not flag or place.is_policy:
            return
        # parity v1.19 to v1.22: cmd/kube-scheduler/app/options, ApplyTo
        if place.is_current or "algorithmSource" in FIELDS[place.version]:
            notes.ask(
                f"--{flag}",
                f"left out with what it says, which counts for nothing beside a configuration of "
                f"{place.version}; if the Policy shall count, migrate it by itself",
            )
            return
        policy = self._policy_of_args(workload)
        if self._policies.setdefault(id(place), policy) is not policy:
            raise MigrationError(
                f"{place.text.source} is one configuration for several schedulers with different "
                "Policies; give each of them its own",
                place.text.source,
            )

    def _configured_by_args(self, workload: Workload, about: Notes) -> str:
        """Write the file that says what arguments said; return its path in the container."""
        args, name, content = workload.args, "", ""
        data = {"apiVersion": V1ALPHA1, "kind": KIND, **args.as_configuration()}
        place = self._policy_of_args(workload) if args.policy_flag else None
        if place is not None:
            data["algorithmSource"] = {"policy": {"file": {"path": place.file_name}}}
            self._configuration(place, data, workload, own_policy=place)
            if args.policy_flag == POLICY_FILE:
                _say_remade(workload, POLICY_FILE, place, about)
                return args.value(POLICY_FILE)
            name = place.config_map.name if place.config_map is not None else ""
            key, content = place.file_name, f"{place.file_name} of ConfigMap {name}"
        else:
            key, notes = "config.yaml", Notes()
            with _errors_of_args(workload):
                found = ConfigurationTranslation(data, _no_policy, notes).translate()
                check_result(found)
            if workload.is_static:
                content = msgspec.json.encode(found).decode()
            else:
                name = self._places.free_config_map(f"{workload.name}-config", workload.namespace)
                meta = {"name": name}
                if workload.namespace:
                    meta["namespace"] = workload.namespace
                config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
                text = written(found, f"the arguments of {workload}", notes)
                workload.text.append_document(dump({**config_map, "data": {key: text}}))
            self._notes[id(workload.text)].add(notes)
        volume = self._places.free_volume(workload, "scheduler-config")
        source: dict[str, Any] = {"configMap": {"name": name}}
        if workload.is_static:
            # The kubelet takes no ConfigMap, and one object from a file.
            source = {"hostPath": {"path": _FOLDER, "type": "Directory"}}
            about.ask(
                f"{_FOLDER}/{key}",
                f"write this file on every node with the static pod, before the pod is replaced: "
                f"{content}",
            )
        workload.text.append_item(workload.pod_node, "volumes", {"name": volume, **source})
        workload.text.append_item(
            workload.args.container,
            "volumeMounts",
            {"name": volume, "mountPath": _FOLDER, "readOnly": True},
        )
        return f"{_FOLDER}/{key}"

    def _policy_of_args(self, workload: Workload) -> ConfigPlace:
        args = workload.args
        path, name = args.value(POLICY_FILE), args.value(POLICY_CONFIG_MAP)
        if args.policy_flag == POLICY_CONFIG_MAP:
            namespace = args.value(POLICY_NAMESPACE) or _SYSTEM
            place = self._places.in_config_map(name, "", namespace)
            wanted = f"--{POLICY_CONFIG_MAP}={name}: ConfigMap {namespace}/{name} with a Policy"
        else:
            place = self._places.behind(workload, path)
            wanted = f"--{POLICY_FILE}={path}: the Policy"
        if place is None or not place.is_policy:
            line = workload.line_of_flag(args.policy_flag)
            raise MigrationError(
                f"{workload.text.source}, line {line}: {wanted} is not among the given files; "
                "give it, too",
                workload.text.source,
            )
        return place

    def _configuration(
        self,
        place: ConfigPlace,
        data: dict[str, Any],
        user: Workload | None,
        own_policy: ConfigPlace | None = None,
    ) -> None:
        notes, beside = Notes(), self._policies.get(id(place))

        def find(source: PolicySource) -> dict[str, Any]:
            found = own_policy or beside or self._policy_of(place, source, user)
            if source.config_map is not None and found.config_map is None:
                wanted = f"{source.config_map.namespace or _SYSTEM}/{source.config_map.name}"
                notes.say(
                    "algorithmSource.policy.configMap",
                    f"ConfigMap {wanted} is not among the given files; the Policy in "
                    f"{found.text.source} is taken for it",
                )
            with _errors_in(found):
                read_policy(without_nulls(found.data), Notes())
            if found is not place:
                if found not in self._merged:
                    self._merged.append(found)
                self._found[id(place.text)].append(found.version)
            return found.data

        with _errors_in(place):
            named = PolicySource() if beside is not None else None
            found = ConfigurationTranslation(data, find, notes, named).translate()
            check_result(found)
        self._write(place, found, notes)

    def _policy_of(
        self, place: ConfigPlace, source: PolicySource, user: Workload | None
    ) -> ConfigPlace:
        found: ConfigPlace | None = None
        if source.config_map is not None:
            namespace, name = source.config_map.namespace or _SYSTEM, source.config_map.name
            found = self._places.in_config_map(name, "", namespace)
            found = found or self._places.policy_file_for(name, namespace)
            field, wanted = "configMap", f"ConfigMap {namespace}/{name} with a Policy"
        else:
            path = source.file.path if source.file is not None else ""
            if user is not None:
                found = self._places.behind(user, path)
            found = found or self._places.named(path, place)
            field, wanted = "file.path", f"the Policy {path!r}"
        if found is None or not found.is_policy:
            field = f"algorithmSource.policy.{field}"
            text = f"{wanted} is not among the given files; give the file that has it, too"
            raise_problems([FieldProblem(field, text)])
            raise AssertionError
        return found

    def _policy(self, place: ConfigPlace) -> None:
        notes = Notes()
        with _errors_in(place):
            found = policy_alone(place.data, notes)
            check_result(found)
        if place.config_map is not None:
            notes.ask(
                "",
                f"mount this ConfigMap and start the scheduler with --config=FOLDER/"
                f"{place.config_map.key}; the flags --policy-configmap and --policy-config-file "
                "do not exist any more",
            )
        else:
            notes.ask(
                "",
                "start the scheduler with --config and this file; the flags --policy-config-file "
                "and --policy-configmap do not exist any more",
            )
        self._write(place, found, notes)

    def _write(self, place: ConfigPlace, found: dict[str, Any], notes: Notes) -> None:
        text = place.text
        self._done.add(id(place))
        whole_json = self._keep_json and text.is_json and place.config_map is None
        old = text.text if place.config_map is None else str(place.config_map.value_node.value)
        if not text.is_json and re.search(r"^[^\"'{]*(^|\s)#", old, re.MULTILINE):
            notes.say("", "comments of the old configuration are not kept")
        new_text = written(found, f"{place.file_name} ({place.version})", notes)
        if place.config_map is not None:
            text.set_text(place.config_map.key_node, place.config_map.value_node, new_text)
        else:
            if whole_json:
                new_text = msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n"
            text.replace(*_extent(place), new_text)
        prefix = f"{place.config_map}: " if place.config_map is not None else ""
        self._notes[id(text)].add(notes, prefix)
        self._found[id(text)].append(place.version)

    def _remove(self, place: ConfigPlace) -> None:
        """A Policy that is part of a configuration now is not read any more."""
        notes = self._notes[id(place.text)]
        if place.config_map is None:
            notes.say("", "this Policy is part of the configuration now and is not read any more")
            if len(self._places.found) > 1 and len(place.text.documents) > 1:
                place.text.replace(*_extent(place), "")
            return
        where = place.config_map
        place.text.remove_pair(where.data_node, where.key_node, where.value_node)
        if len(where.data_node.value) == 1:
            text = "held the Policy, which is part of the configuration now; delete the ConfigMap"
            notes.ask(str(where), text)
        else:
            notes.say(str(where), "held the Policy, which is part of the configuration now")

    def _versions(self, workload: Workload, notes: Notes) -> None:
        image = str(workload.container.get("image") or "")
        minor = minor_of(image)
        if minor is not None and minor < FIRST_V1:
            notes.ask(
                "image",
                f"{image} is too old for {API_VERSION}, which v1.{FIRST_V1} and later read; take "
                "the version of your cluster",
            )
        for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
            check = as_object(as_object(workload.container.get(probe)).get("httpGet"))
            if check.get("port") == _OLD_PORT:
                notes.ask(
                    probe,
                    "port 10251 is not served any more; use port 10259 with scheme HTTPS",
                )

    def _comment(self, workload: Workload, notes: Notes) -> None:
        text, at = workload.text, workload.node.start_mark
        comment = comments(notes, "moor migrate:")
        if text.is_json or at.column or text.text[: at.index].endswith(comment):
            return  # the last one is a comment of an earlier run
        text.replace(at.index, at.index, comment)
        self._noted.add(id(text))


def _say_remade(workload: Workload, flag: str, place: ConfigPlace, notes: Notes) -> None:
    """Ask for a new ConfigMap where kubectl made one of a file that is another now."""
    path = workload.args.value(flag)
    name, key = workload.mounted(path)
    if not name or place.config_map is not None or place.is_current:
        return
    file = place.text.source
    namespace = f" -n {workload.namespace}" if workload.namespace else ""
    notes.ask(
        f"--{flag}={path}",
        f"is {key} of ConfigMap {name}, for which the file {file} is taken; make the ConfigMap of "
        f"it again: kubectl create configmap {name}{namespace} --from-file={file}",
    )


def _extent(place: ConfigPlace) -> tuple[int, int]:
    return place.node.start_mark.index, place.node.end_mark.index


def _no_policy(source: PolicySource) -> dict[str, Any]:
    raise AssertionError(source)


@contextmanager
def _errors_in(place: ConfigPlace) -> Iterator[None]:
    """Say file and line with what is wrong."""
    try:
        yield
    except InputError as error:
        if isinstance(error, MigrationError):
            raise
        text = str(error)
        first = _PROBLEM.match(text)
        args = _ARGS.match(text)
        where = place.where(first[2] if first else "", args[1] if args else "")

        def with_line(found: re.Match[str]) -> str:
            line = place.where(found[2]).rpartition("line ")[2]
            return f"; line {line}: {found[2]}: " if found[1] else found[0]

        sentence = f"{where}: {_PROBLEM.sub(with_line, text)}"
        raise MigrationError(sentence, place.text.source) from error


@contextmanager
def _errors_of_args(workload: Workload) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        line, source = workload.node.start_mark.line + 1, workload.text.source
        raise MigrationError(f"{source}, line {line}: {workload}: {error}", source) from error
