import pytest

from mooring.errors import InputError
from mooring.snapshot.manifests import objects_in, read_objects


def names(text: str | bytes) -> list[str]:
    return [f"{one['kind']}/{one['metadata']['name']}" for one in read_objects(text)]


def test_documents_lists_and_typed_lists_are_taken_apart() -> None:
    assert names(
        """
apiVersion: v1
kind: Pod
metadata: {name: a}
---
# nothing here
---
apiVersion: v1
kind: List
items:
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: b}}
---
apiVersion: v1
kind: PodList
items:
- metadata: {name: c}
"""
    ) == ["Pod/a", "Deployment/b", "Pod/c"]


def test_a_typed_list_gives_its_items_version_and_kind() -> None:
    (node,) = objects_in({"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {}}]})
    assert (node["apiVersion"], node["kind"]) == ("v1", "Node")


def test_lists_by_name_as_explain_takes_them() -> None:
    text = '{"nodes": [{"metadata": {"name": "n"}}], "pdbs": [{"metadata": {"name": "p"}}]}'
    found = read_objects(text)
    assert [(one["apiVersion"], one["kind"]) for one in found] == [
        ("v1", "Node"), ("policy/v1", "PodDisruptionBudget"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}',
        b'\xef\xbb\xbf{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}',
        '[{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}]',
        "{apiVersion: v1, kind: Pod, metadata: {name: a}}",
    ],
)
def test_json_of_any_form(text: str | bytes) -> None:
    assert names(text) == ["Pod/a"]


def test_several_json_documents() -> None:
    one = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "%s"}}'
    assert names(f"{one % 'a'}\n{one % 'b'}\n") == ["Pod/a", "Pod/b"]


def test_dates_stay_texts() -> None:
    (pod,) = read_objects(
        "{apiVersion: v1, kind: Pod, metadata: {name: a, creationTimestamp: 2024-05-01T10:00:00Z}}"
    )
    assert pod["metadata"]["creationTimestamp"] == "2024-05-01T10:00:00Z"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{a: [", "f.yaml is not valid JSON"),
        ("a: [", "f.yaml is not valid YAML: "),
        ("kind: Pod\nmetadata: {name: a}", "has no apiVersion (metadata.name is 'a')"),
        ("apiVersion: v1\nmetadata: {name: a}", "an object in f.yaml has no kind"),
        ("just words", "something in f.yaml is not an object"),
        (b"\xff\xfe", "f.yaml is neither YAML nor JSON: it is not valid UTF-8"),
        ("apiVersion: v1\nkind: Pod\n---\na: [", "f.yaml, document 2 is not valid YAML"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(text: str | bytes, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        read_objects(text, "f.yaml")
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)
