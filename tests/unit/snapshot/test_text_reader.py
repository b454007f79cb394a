"""Objects from JSON and YAML as kubectl prints them."""

import json

import pytest
import yaml

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage import PersistentVolumeClaim
from mooring.snapshot.snapshot import Snapshot
from mooring.snapshot.text_reader import TextReader

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "labels": {"x": "1"}}}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop"}}
JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
LIST = {"apiVersion": "v1", "kind": "List", "items": [NODE, POD]}


def read(text: str | bytes, *, strict: bool = False, keep_source: bool = False) -> Snapshot:
    snapshot = Snapshot(strict=strict)
    data = text.encode() if isinstance(text, str) else text
    TextReader(snapshot, keep_source=keep_source).read_text(data, "dump")
    return snapshot


def found(snapshot: Snapshot) -> list[str]:
    return [one.key for one in (*snapshot.all(Node), *snapshot.all(Pod))]


def problem(snapshot: Snapshot) -> str:
    [skipped] = snapshot.skipped
    return skipped.problem


class TestJson:
    @pytest.mark.parametrize("indent", [None, 4])
    def test_a_list(self, indent: int | None) -> None:
        assert found(read(json.dumps(LIST, indent=indent))) == ["a", "shop/p"]

    def test_lists_in_lists(self) -> None:
        inner = {"kind": "List", "apiVersion": "v1", "items": [POD]}
        assert found(read(json.dumps({**LIST, "items": [NODE, inner]}))) == ["a", "shop/p"]

    def test_one_object(self) -> None:
        assert found(read(json.dumps(NODE))) == ["a"]

    def test_fields_in_another_order(self) -> None:
        turned = {key: POD[key] for key in ("metadata", "kind", "apiVersion")}
        assert found(read(json.dumps({"items": [turned], "kind": "List"}))) == ["shop/p"]

    def test_an_array(self) -> None:
        assert found(read(json.dumps([NODE, POD]))) == ["a", "shop/p"]

    @pytest.mark.parametrize("indent", [None, 2])
    def test_documents_one_after_the_other(self, indent: int | None) -> None:
        text = json.dumps(NODE, indent=indent) + "\n" + json.dumps(POD, indent=indent) + "\n"
        assert found(read(text)) == ["a", "shop/p"]

    def test_a_list_of_one_kind_as_the_api_server_sends_it(self) -> None:
        items = [{"metadata": {"name": "p", "namespace": "shop"}}]
        body = {"apiVersion": "v1", "kind": "PodList", "items": items}
        assert found(read(json.dumps(body))) == ["shop/p"]

    def test_lists_by_name(self) -> None:
        body = {"nodes": [{"metadata": {"name": "a"}}], "pvcs": [{"metadata": {"name": "c"}}]}
        snapshot = read(json.dumps(body))
        assert found(snapshot) == ["a"]
        assert [one.key for one in snapshot.all(PersistentVolumeClaim)] == ["default/c"]

    def test_a_byte_order_mark(self) -> None:
        assert found(read(b"\xef\xbb\xbf" + json.dumps(NODE).encode())) == ["a"]

    def test_labels_survive(self) -> None:
        assert read(json.dumps(LIST)).all(Node)[0].labels == {"x": "1"}

    def test_the_source_is_kept_on_demand(self) -> None:
        text = json.dumps({**NODE, "extra": {"deep": 1}})
        assert read(text, keep_source=True).all(Node)[0].raw["extra"] == {"deep": 1}
        assert "extra" not in read(text).all(Node)[0].raw

    def test_text_that_is_cut_off(self) -> None:
        snapshot = read(json.dumps(LIST)[:-20])
        assert problem(snapshot).startswith("dump is not valid JSON: ")

    def test_one_bad_object_among_many(self) -> None:
        bad = {**POD, "spec": {"containers": "none"}}
        snapshot = read(json.dumps({**LIST, "items": [NODE, bad, POD]}))
        assert found(snapshot) == ["a", "shop/p"]
        assert "Pod shop/p cannot be read: field spec.containers" in problem(snapshot)

    def test_a_kind_of_the_wrong_type(self) -> None:
        assert "has no kind" in problem(read('{"kind": 3, "metadata": {"name": "x"}}'))

    def test_no_kind_at_all(self) -> None:
        assert "has no kind (metadata.name is 'x')" in problem(read('{"metadata": {"name": "x"}}'))

    def test_an_array_of_numbers(self) -> None:
        snapshot = read("[1, 2]")
        assert len(snapshot.skipped) == 2
        assert "is a number" in snapshot.skipped[0].problem

    def test_deep_nesting_is_no_crash(self) -> None:
        assert "is not valid JSON" in problem(read("[" * 100_000))


class TestYaml:
    def test_a_list(self) -> None:
        assert found(read(yaml.safe_dump(LIST))) == ["a", "shop/p"]

    def test_many_documents(self) -> None:
        assert found(read("---\n" + yaml.safe_dump_all([NODE, POD]))) == ["a", "shop/p"]

    def test_empty_documents_are_passed_over(self) -> None:
        snapshot = read("---\n# nothing\n---\n" + yaml.safe_dump(NODE) + "---\n")
        assert (found(snapshot), snapshot.skipped) == (["a"], [])

    def test_a_broken_document_does_not_hide_the_others(self) -> None:
        text = yaml.safe_dump(NODE) + "---\na: [1\n---\n" + yaml.safe_dump(POD)
        snapshot = read(text)
        assert found(snapshot) == ["a", "shop/p"]
        assert problem(snapshot).startswith("dump, document 2 is not valid YAML: ")
        line = len(yaml.safe_dump(NODE).splitlines()) + 3
        assert problem(snapshot).endswith(f"in line {line}")

    def test_dates_stay_texts(self) -> None:
        text = "kind: Node\nmetadata: {name: a, creationTimestamp: 2026-01-01T00:00:00Z}\n"
        assert read(text).all(Node)[0].metadata.creation_timestamp == "2026-01-01T00:00:00Z"

    def test_a_text_that_is_no_object(self) -> None:
        assert "is a string" in problem(read("hello"))

    def test_bytes_that_are_no_text(self) -> None:
        assert problem(read(b"\xff\xfe\x00")) == (
            "dump is neither YAML nor JSON: it is not valid UTF-8"
        )

    def test_lists_by_name(self) -> None:
        assert found(read("nodes:\n- metadata: {name: a}\n")) == ["a"]


def test_kinds_that_scheduling_does_not_read_are_counted_in_json() -> None:
    assert read(json.dumps({**LIST, "items": [JOB, NODE]})).ignored == {"Job": 1}
