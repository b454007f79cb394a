"""Checks of a scheduler's configuration: its version, its fields, its plugins."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mooring.config.configuration import read_configuration
from mooring.config.strict_decoding import nearest
from mooring.config.types import API_VERSION, KIND
from mooring.config.validation import REMOVED
from mooring.deploy.container_programs import KUBE_SCHEDULER
from mooring.deploy.doctor.checks import needs
from mooring.deploy.doctor.evidence import Evidence, FoundConfiguration, mapping, sequence
from mooring.deploy.doctor.findings import DoctorCheck, DoctorFinding, DoctorSeverity, Edit
from mooring.deploy.doctor.image_versions import ImageVersions, is_own_build
from mooring.deploy.doctor.located_yaml import Path
from mooring.deploy.doctor.schedulers import configuration_of, schedulers
from mooring.deploy.doctor.usable_configuration import (
    LAST_READ_BY,
    POLICY_LAST_READ_BY,
    has_policy,
    is_old,
)
from mooring.deploy.migration.old_types import FIELDS, V1ALPHA1
from mooring.errors import InputError
from mooring.plugins.in_tree import default_registry

#: Fields that have another name in v1.
_RENAMED: Final = {
    "enableHttps": "enableHTTPS",
    "lockObjectName": "resourceName",
    "lockObjectNamespace": "resourceNamespace",
}
#: Fields of older versions, with what there is in v1 instead; empty: nothing, and it is not missed.
_MOVED: Final = {
    "bindTimeoutSeconds": "pluginConfig of VolumeBinding: args.bindTimeoutSeconds",
    "disablePreemption": "plugins.postFilter.disabled: DefaultPreemption in each profile",
    "failureDomains": "",
    "hardPodAffinitySymmetricWeight": "pluginConfig of InterPodAffinity: "
    "args.hardPodAffinityWeight",
    "healthzBindAddress": "",
    "metricsBindAddress": "",
    "schedulerName": "profiles[].schedulerName",
}
#: Fields that only older formats have, each with its version, from which moor migrate translates.
_OLDER: Final = {"algorithmSource": V1ALPHA1}
_NONE: Final = "for DefaultProvider, these are none"


def _version(evidence: Evidence) -> Iterator[DoctorFinding]:
    # A Policy becomes part of the configuration that refers to it.
    old = dict.fromkeys(one.file for one in evidence.configurations if is_old(one))
    together = " ".join(file for file in old if file)
    images = ImageVersions(evidence)
    for one in evidence.configurations:
        if not is_old(one):
            continue
        kind, version = one.data.get("kind"), str(one.data.get("apiVersion", ""))
        last = LAST_READ_BY.get(version, POLICY_LAST_READ_BY)
        what = f"{version} {kind}" if kind == KIND else f"a {kind} of {version}"
        lacks_policy = not has_policy(evidence) and "policy" in mapping(
            one.data.get("algorithmSource")
        )
        if one.file and lacks_policy:
            advice = (
                f"Run moor migrate --in-place {together} POLICY, with the file of the Policy that "
                f"algorithmSource names, which writes {API_VERSION}."
            )
        elif one.file:
            advice = f"Run moor migrate --in-place {together}, which writes {API_VERSION}."
        else:
            advice = f"Save it to a file and run moor migrate FILE, which writes {API_VERSION}."
        yield DoctorFinding(
            severity=DoctorSeverity.WARNING if images.read(one) else DoctorSeverity.ERROR,
            what=f"The configuration is {what}, and {last} was the last kube-scheduler to read it.",
            advice=images.newer_first(advice),
            place=one.place(("apiVersion",)),
            safe=bool(one.file) and images.read_v1 and not lacks_policy,
            migrates="" if lacks_policy else one.file,
        )


def _renamed(evidence: Evidence) -> Iterator[DoctorFinding]:
    for one in evidence.configurations:
        if is_old(one):
            continue
        for path, name, siblings in _fields(one.data):
            if name in _RENAMED:
                new = _RENAMED[name]
                both = new in siblings
                advice = f"Take {name} out; {new} is there as well." if both else f"Write {new}."
                edits = one.document.renamed(path, new) if one.document and not both else ()
                yield DoctorFinding(
                    what=f"The field {name} is called {new} in {API_VERSION}.",
                    advice=advice,
                    place=one.place(path),
                    edits=edits,
                    safe=not both,
                )
            elif name in _MOVED and len(path) == 1:
                instead = _MOVED[name]
                yield DoctorFinding(
                    what=f"{API_VERSION} has no field {name} here; older versions have.",
                    advice=f"Take it out, and write {instead}." if instead else "Take it out.",
                    place=one.place(path),
                    edits=one.document.without_line(path) if one.document is not None else (),
                    safe=not instead,
                )
            elif name in _OLDER and len(path) == 1:
                yield _older(one, name)


def _older(configuration: FoundConfiguration, name: str) -> DoctorFinding:
    """A field of an older format: all of the file may be of that format, or this field alone."""
    version, document = _OLDER[name], configuration.document
    edits: tuple[Edit, ...] = ()
    if set(configuration.data) <= FIELDS[version]:
        file = configuration.file or "FILE"
        advice = f"Write apiVersion: {version}, and run moor migrate --in-place {file}."
        if document is not None:
            edits = document.replaced(("apiVersion",), version)
    else:
        advice = f"Take it out, and write the plugins that it means in profiles[].plugins; {_NONE}."
        if document is not None:
            edits = document.without_line((name,))
    return DoctorFinding(
        what=f"{API_VERSION} has no field {name}; {version} has.",
        advice=advice,
        place=configuration.place((name,)),
        edits=edits,
    )


def _invalid(evidence: Evidence) -> Iterator[DoctorFinding]:
    for one in evidence.configurations:
        for path in one.document.repeated() if one.document is not None and not is_old(one) else ():
            yield DoctorFinding(
                what=f"kube-scheduler rejects the configuration: {path[-1]} is there twice.",
                advice=f"Keep the {path[-1]} that is right and take the other one out.",
                place=one.place(tuple(path)),
            )
        if is_old(one) or any(True for _ in _renamed(_only(one))):
            continue
        try:
            read_configuration(one.data)
        except InputError as error:
            path, _, problem = str(error).partition(": ")
            known = problem and " " not in path
            clause, _, advice = str(error).rpartition(", ")
            yield DoctorFinding(
                what=f"kube-scheduler rejects the configuration: {clause or error}.",
                advice=f"{advice[:1].upper()}{advice[1:]}." if clause else "Correct the field.",
                place=one.place(_steps(path) if known else ()),
            )


def _unknown_plugins(evidence: Evidence) -> Iterator[DoctorFinding]:
    known = set(default_registry().names())
    if evidence.policy is not None:
        known |= {name for one in evidence.policy.profiles.values() for name in one.plugins}
    own_builds = {
        id(configuration_of(evidence, one))
        for one in schedulers(evidence)
        if one.program != KUBE_SCHEDULER or is_own_build(str(one.container.get("image", "")))
    }
    for one in evidence.configurations:
        if is_old(one):
            continue
        for path, name in _plugin_names(one.data):
            if name in known or name in REMOVED or name == "*":
                continue
            meant = nearest(name, known)
            own = id(one) in own_builds
            yield DoctorFinding(
                severity=DoctorSeverity.WARNING if own else DoctorSeverity.ERROR,
                what=f"Neither kube-scheduler nor the policy has a plugin {name}.",
                advice=f"Write {meant}."
                if meant
                else f"Give the policy that has it with --policy, or take {name} out; a "
                "kube-scheduler that you build yourself has to register it.",
                place=one.place(path),
                edits=one.document.replaced(path, meant) if meant and one.document else (),
            )


_Field = tuple[tuple[str | int, ...], str, Mapping[str, Any]]


def _fields(data: object, path: Path = ()) -> Iterator[_Field]:
    """All fields: the path, the name, and the mapping that it is in."""
    if isinstance(data, Mapping):
        for name, value in data.items():
            here = (*path, str(name))
            yield here, str(name), data
            if name != "args":  # a plugin's own
                yield from _fields(value, here)
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _fields(value, (*path, index))


def _plugin_names(data: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for place, profile in enumerate(sequence(data.get("profiles"))):
        at = ("profiles", place)
        for index, one in enumerate(sequence(mapping(profile).get("pluginConfig"))):
            name = mapping(one).get("name")
            if isinstance(name, str):
                yield (*at, "pluginConfig", index, "name"), name
        for point, plugins in mapping(mapping(profile).get("plugins")).items():
            for index, one in enumerate(sequence(mapping(plugins).get("enabled"))):
                name = mapping(one).get("name")
                if isinstance(name, str):
                    yield (*at, "plugins", str(point), "enabled", index, "name"), name


def _steps(path: str) -> Sequence[str | int]:
    """``profiles[0].schedulerName`` as steps."""
    parts = path.replace("[", ".").replace("]", "").split(".")
    return [int(part) if part.isdigit() else part for part in parts]


def _only(configuration: FoundConfiguration) -> Evidence:
    return Evidence(configurations=(configuration,))


CHECKS: Final = (
    DoctorCheck(
        id="config-version",
        title="configurations are of a version that kube-scheduler reads",
        why="kube-scheduler ends at once when it is started with a format that it does not know, "
        "and a Policy is not read at all since v1.23.",
        judge=_version,
        lacks=needs.configurations,
    ),
    DoctorCheck(
        id="renamed-field",
        title="configurations use the names of fields that v1 has",
        why="kube-scheduler reads its configuration strictly and ends when a field is unknown.",
        judge=_renamed,
        lacks=needs.configurations,
    ),
    DoctorCheck(
        id="config-invalid",
        title="kube-scheduler accepts the configurations",
        why="kube-scheduler ends at once when something in its configuration is wrong.",
        judge=_invalid,
        lacks=needs.configurations,
    ),
    DoctorCheck(
        id="plugin-unknown",
        title="configurations name plugins that exist",
        why="A scheduler ends when its configuration names a plugin that it was not built with, or "
        "arguments for one.",
        judge=_unknown_plugins,
        lacks=needs.configurations,
    ),
)
