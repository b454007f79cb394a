"""Every field has a rule, every reference still fits, and nothing of ours is left."""

import json
import typing
from typing import Any

import msgspec
import pytest

from mooring.model.kinds import BY_NAME, KINDS, Kind
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage import PersistentVolume, PersistentVolumeClaim
from mooring.snapshot import redaction as redacting
from mooring.snapshot.aliases import Aliases
from mooring.snapshot.redaction import redact, redacted_key


@pytest.fixture
def aliases() -> Aliases:
    return Aliases(b"secret")


def a(kind: str, name: str, **fields: Any) -> KubeObject:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return BY_NAME[kind].type.from_dict({"metadata": metadata, **fields})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_text_field_has_a_rule(kind: Kind) -> None:
    redacting._plan(kind.type)


def test_every_rule_is_for_a_field() -> None:
    for struct, rules in redacting._RULES.items():
        assert rules.keys() <= {field.name for field in msgspec.structs.fields(struct)}


def test_a_field_without_a_rule_is_an_error() -> None:
    class Odd(msgspec.Struct):
        text: str | None = None

    class Holder(msgspec.Struct):
        odd: list[Odd] | None = None

    with pytest.raises(TypeError, match=r"Odd\.text has no rule for redacting"):
        redacting._plan(Holder)


def _filled(kind: Any, word: str) -> Any:
    """A value of a declared type with the word in every text."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is str:
        return word
    if kind in (int, bool, float):
        return kind(1)
    if origin is list:
        return [_filled(arguments[0], word)]
    if origin is dict:
        domains = (f"{word}.example", f"{word}.kubernetes.io", f"topology.{word}.io", word)
        names = [*(f"{domain}/{word}" for domain in domains), word]
        return {name: _filled(arguments[1], word) for name in names}
    if kind is Any:
        return {word: [word]}
    if arguments:
        return _filled(next(one for one in arguments if one is not type(None)), word)
    hints = typing.get_type_hints(kind)
    return kind(
        **{
            field.name: _filled(hints[field.name], word)
            for field in msgspec.structs.fields(kind)
            if not field.encode_name.startswith(".")
        }
    )


def _leaks(data: Any, word: str, path: str = "") -> set[str]:
    if isinstance(data, dict):
        found = {f"{path} (key)" for key in data if word in key.lower()}
        return found.union(*(_leaks(value, word, key) for key, value in data.items()))
    if isinstance(data, list):
        return set().union(*(_leaks(one, word, path) for one in data))
    return {path} if isinstance(data, str) and word in data.lower() else set()


#: A text around the word, for every way in which somebody may take it for something harmless.
DISGUISES = (
    "{}", "{}-1", "a.{}.io/b", "kubernetes.io/{}", "{}.kubernetes.io/x", "{}.k8s.io/x",
    "topology.{}.io/zone", "node-role.kubernetes.io/{}", "nvidia.com/{}", "hugepages-{}",
    "attachable-volumes-csi-{}", "requests.{}.io/x", "system-{}-critical", "{}__7", "7{}", "{}Mi",
    "2026-01-01T00:00:00Z{}", "NoSchedule {}", "{}:latest", "aws://zone/vol-{}", "käse {}",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_nothing_is_left_of_a_word_that_stands_everywhere(kind: Kind, aliases: Aliases) -> None:
    for disguise in DISGUISES:
        thing = _filled(kind.type, disguise.format("hunter"))
        assert "hunter" in thing.raw["metadata"]["name"]
        new = redact(thing, aliases)
        assert _leaks(new.raw, "hunter") == set(), disguise
        assert "hunter" not in redacted_key(thing, aliases)


ANNOTATIONS = (
    "volume.kubernetes.io/selected-node", "volume.beta.kubernetes.io/storage-class",
    "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller",
    "storage.alpha.kubernetes.io/migrated-plugins",
    "kubectl.kubernetes.io/last-applied-configuration",
)  # fmt: skip


@pytest.mark.parametrize("key", ANNOTATIONS)
def test_nor_in_an_annotation_of_kubernetes_itself(aliases: Aliases, key: str) -> None:
    for text in ("hunter", "yes,hunter", "kubernetes.io/aws-ebs,hunter", '{"a": "hunter"}'):
        new = redact(
            Pod.from_dict({"metadata": {"name": "p", "annotations": {key: text}}}), aliases
        )
        assert list(new.annotations) == [key]
        assert "hunter" not in new.annotations[key]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_it_survives_being_written_and_read(kind: Kind, aliases: Aliases) -> None:
    new = redact(_filled(kind.type, "word"), aliases)
    assert type(new).from_json(msgspec.json.encode(new.raw)) == new
    assert new.name == new.metadata.name
    assert redact(new, aliases).key != new.key


def test_what_is_not_modelled_is_gone(aliases: Aliases) -> None:
    secret = "hunter2"
    pod = a(
        "Pod",
        "web",
        spec={
            "containers": [
                {
                    "name": "c",
                    "image": "web",
                    "command": [secret],
                    "args": [secret],
                    "env": [{"name": "A", "value": secret}],
                    "envFrom": [{"secretRef": {"name": secret}}],
                    "volumeMounts": [{"mountPath": secret}],
                }
            ],
            "imagePullSecrets": [{"name": secret}],
            "serviceAccountName": secret,
            "hostname": secret,
            "volumes": [{"name": "v", "secret": {"secretName": secret}}],
        },
        status={"message": secret, "podIP": secret, "conditions": [{"message": secret}]},
    )
    assert secret not in json.dumps(redact(pod, aliases).raw)


class TestReferences:
    def test_a_selector_still_matches(self, aliases: Aliases) -> None:
        pod = redact(
            Pod.from_dict(
                {
                    "metadata": {"name": "web", "labels": {"app": "web", "tier": "7"}},
                    "spec": {
                        "topologySpreadConstraints": [
                            {
                                "topologyKey": "acme.com/rack",
                                "labelSelector": {
                                    "matchLabels": {"app": "web"},
                                    "matchExpressions": [
                                        {"key": "tier", "operator": "In", "values": ["7", "8"]},
                                        {"key": "old", "operator": "DoesNotExist"},
                                    ],
                                },
                            }
                        ]
                    },
                }
            ),
            aliases,
        )
        constraint = (pod.spec.topology_spread_constraints or [])[0]
        assert constraint.label_selector is not None
        assert constraint.label_selector.matches(pod.labels)
        assert "7" not in pod.labels.values()
        node = redact(
            Node.from_dict({"metadata": {"name": "n", "labels": {"acme.com/rack": "r"}}}), aliases
        )
        assert constraint.topology_key in node.labels

    def test_nodes_by_label_number_and_name(self, aliases: Aliases) -> None:
        node = redact(
            Node.from_dict({"metadata": {"name": "n-1", "labels": {"acme.com/cores": "16"}}}),
            aliases,
        )
        pod = redact(
            Pod.from_dict(
                {
                    "spec": {
                        "nodeSelector": {"acme.com/cores": "16"},
                        "affinity": {
                            "nodeAffinity": {
                                "requiredDuringSchedulingIgnoredDuringExecution": {
                                    "nodeSelectorTerms": [
                                        {
                                            "matchExpressions": [
                                                {
                                                    "key": "acme.com/cores",
                                                    "operator": "Gt",
                                                    "values": ["8"],
                                                }
                                            ],
                                            "matchFields": [
                                                {
                                                    "key": "metadata.name",
                                                    "operator": "In",
                                                    "values": ["n-1"],
                                                }
                                            ],
                                        }
                                    ]
                                }
                            }
                        },
                    }
                }
            ),
            aliases,
        )
        assert pod.node_selector.items() <= node.labels.items()
        affinity = pod.spec.affinity
        assert affinity is not None
        assert affinity.node_affinity is not None
        required = affinity.node_affinity.required_during_scheduling_ignored_during_execution
        assert required is not None
        assert required.matches(node.labels, node.name)

    def test_claims_and_volumes(self, aliases: Aliases) -> None:
        owner = {"kind": "Pod", "apiVersion": "v1", "name": "web-0", "uid": "u-1"}
        pod = redact(
            Pod.from_dict(
                {
                    "metadata": {"name": "web-0", "namespace": "shop", "uid": "u-1"},
                    "spec": {
                        "volumes": [
                            {"name": "data", "ephemeral": {}},
                            {"name": "b", "persistentVolumeClaim": {"claimName": "big-one"}},
                        ]
                    },
                }
            ),
            aliases,
        )
        scratch = redact(
            PersistentVolumeClaim.from_dict(
                {
                    "metadata": {
                        "name": "web-0-data",
                        "namespace": "shop",
                        "ownerReferences": [{**owner, "controller": True}],
                        "annotations": {
                            "volume.kubernetes.io/selected-node": "node-1",
                            "volume.beta.kubernetes.io/storage-class": "fast",
                            "pv.kubernetes.io/bind-completed": "yes",
                            "acme.com/why": "because",
                        },
                    },
                    "spec": {"volumeName": "pv-7"},
                }
            ),
            aliases,
        )
        volume = redact(
            PersistentVolume.from_dict(
                {
                    "metadata": {"name": "pv-7", "labels": {"topology.kubernetes.io/zone": "1__2"}},
                    "spec": {"claimRef": {"name": "web-0-data", "namespace": "shop"}},
                }
            ),
            aliases,
        )
        names = [one.claim_for(pod.name) for one in pod.spec.volumes or ()]
        assert names == [scratch.name, aliases.name("big-one")]
        assert scratch.is_for(pod.namespace, pod.uid)
        assert scratch.bound
        assert scratch.class_name == aliases.name("fast")
        assert scratch.annotations["volume.kubernetes.io/selected-node"] == aliases.name("node-1")
        assert "because" not in str(scratch.annotations)
        assert scratch.spec.volume_name == volume.name
        assert volume.is_meant_for(scratch)
        assert volume.labels == {"topology.kubernetes.io/zone": "1__2"}

    def test_images(self, aliases: Aliases) -> None:
        pod = redact(
            Pod.from_dict({"spec": {"containers": [{"image": "r/web"}, {"image": "r/web:1"}]}}),
            aliases,
        )
        names = ["r/web:latest", "r/web:1", "r/web"]
        node = redact(
            Node.from_dict({"status": {"images": [{"names": names, "sizeBytes": 5}]}}), aliases
        )
        latest, first, bare = node.images
        assert pod.images == (latest, first)
        assert bare not in pod.images

    def test_a_namespace_of_many_words(self, aliases: Aliases) -> None:
        name = "a-b-c-d-e-f-g-h"
        namespace = redact(a("Namespace", name), aliases)
        pod = redact(Pod.from_dict({"metadata": {"name": "p", "namespace": name}}), aliases)
        assert pod.namespace == namespace.name == aliases.label_value(name)

    def test_tolerations_and_taints(self, aliases: Aliases) -> None:
        taint = {"key": "acme.com/dedicated", "value": "team-a", "effect": "NoSchedule"}
        node = redact(Node.from_dict({"spec": {"taints": [taint]}}), aliases)
        pod = redact(
            Pod.from_dict({"spec": {"tolerations": [{**taint, "operator": "Equal"}]}}), aliases
        )
        assert pod.tolerations[0].tolerates(node.taints[0])
        assert "acme" not in str(node.raw)

    def test_keys(self, aliases: Aliases) -> None:
        for kind in ("Pod", "Node", "CSIDriver", "Namespace"):
            thing = a(kind, "some-thing", metadata={"uid": "u"})
            assert redacted_key(thing, aliases) == redact(thing, aliases).key
        assert redacted_key(a("CSIDriver", "ebs.csi.aws.com"), aliases) == "ebs.csi.aws.com"


def test_amounts_and_words_of_kubernetes_stay(aliases: Aliases) -> None:
    spec = {
        "containers": [{"resources": {"requests": {"cpu": "1500m", "nvidia.com/gpu": 2}}}],
        "schedulerName": "default-scheduler",
        "priority": 7,
        "preemptionPolicy": "Never",
        "hostNetwork": True,
    }
    pod = redact(Pod.from_dict({"metadata": {"name": "p"}, "spec": spec}), aliases)
    assert dict(pod.requests) == {"cpu": 1500, "nvidia.com/gpu": 2}
    assert pod.scheduler_name == "default-scheduler"
    assert (pod.priority, pod.spec.preemption_policy, pod.spec.host_network) == (7, "Never", True)


def test_conditions(aliases: Aliases) -> None:
    conditions = [
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"},
        {"type": "acme.com/ready", "status": "False", "reason": "AcmeSaysNo", "message": "acme"},
    ]
    pod = redact(Pod.from_dict({"status": {"conditions": conditions}}), aliases)
    known, own = pod.status.conditions or []
    assert (known.type, known.reason) == ("DisruptionTarget", "PreemptionByScheduler")
    assert "acme" not in str(own).lower()


def test_resources_have_one_new_name_everywhere(aliases: Aliases) -> None:
    asked = {"requests": {"acme.com/fpga": "2", "cpu": "1"}, "limits": {"acme.com/fpga": "2"}}
    pod = redact(
        Pod.from_dict(
            {
                "metadata": {"name": "p"},
                "spec": {
                    "containers": [{"resources": asked}],
                    "overhead": {"acme.com/fpga": "1"},
                    "resources": {"requests": {"hugepages-2Mi": "4Mi"}},
                },
            }
        ),
        aliases,
    )
    node = redact(
        Node.from_dict(
            {
                "status": {
                    "allocatable": {"acme.com/fpga": "8", "cpu": "4"},
                    "capacity": {"acme.com/fpga": "8"},
                }
            }
        ),
        aliases,
    )
    new = aliases.resource("acme.com/fpga")
    assert dict(node.allocatable) == {new: 8, "cpu": 4000}
    assert dict(node.capacity) == {new: 8}
    assert pod.requests[new] == 3
    assert pod.requests["hugepages-2Mi"] == 4 << 20
    assert "acme" not in str(pod.raw) + str(node.raw)
