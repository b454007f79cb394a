import pytest

from mooring import yaml_text
from mooring.deploy.doctor.fixes import apply_edits
from mooring.deploy.doctor.located_yaml import EditableDocument

TEXT = """\
metadata:
  name: "a"   # the name
data:
  config.yaml: |

    kind: K
    list:
    - one: 1
      two: {x: 1, y: 2}
  flow: {"a": "b", "c": 1}
"""


def document(text: str = TEXT) -> EditableDocument:
    return EditableDocument("f.yaml", text.splitlines(), text)


def test_lines_of_fields() -> None:
    found = document()
    assert found.line(("metadata", "name")) == 2
    assert found.line(("metadata", "missing")) == 1
    assert found.line(("data", "flow", "c")) == 10
    assert found.position(("data", "flow", "nothing")) is None
    assert found.position(("metadata", 0)) is None


def test_a_value_in_block_style_is_a_document_with_lines_of_its_own() -> None:
    inner = document().nested(("data", "config.yaml"))
    assert inner is not None
    assert inner.data["list"][0]["two"] == {"x": 1, "y": 2}
    assert inner.line(("list", 0, "two", "y")) == 9
    assert document().nested(("metadata", "name")) is None


@pytest.mark.parametrize(
    ("path", "new", "line"),
    [
        (("metadata", "name"), "b", '  name: "b"   # the name'),
        (("data", "flow", "a"), "z", '  flow: {"a": "z", "c": 1}'),
    ],
)
def test_a_value_is_replaced_in_its_own_quotes(path: tuple[str, ...], new: str, line: str) -> None:
    assert line in apply_edits(TEXT, document().replaced(path, new)).splitlines()


def test_fields_are_inserted_in_the_style_of_their_neighbour() -> None:
    found = document()
    inner = found.nested(("data", "config.yaml"))
    assert inner is not None
    block = apply_edits(TEXT, inner.inserted(("list", 0, "one"), "zero: 0"))
    assert "    - zero: 0\n      one: 1\n" in block
    flow = apply_edits(TEXT, inner.inserted(("list", 0, "two", "y"), "z: 3"))
    assert "{x: 1, z: 3, y: 2}" in flow
    quoted = apply_edits(TEXT, found.inserted(("data", "flow", "c"), "z: 3"))
    assert '{"a": "b", "z": 3, "c": 1}' in quoted
    nested = apply_edits(TEXT, found.inserted(("data", "flow", "c"), "more: {deep: /a/b}"))
    assert '{"a": "b", "more": {"deep": "/a/b"}, "c": 1}' in nested
    lines = apply_edits(TEXT, found.inserted(("data", "flow", "c"), "more:\n  deep: /a/b"))
    assert lines == nested
    plain = apply_edits(TEXT, inner.inserted(("list", 0, "two", "y"), "more:\n  deep: /a/b"))
    assert "{x: 1, more: {deep: /a/b}, y: 2}" in plain
    deeper = apply_edits(TEXT, inner.inserted(("kind",), "more:\n  deep: 1"))
    assert "    more:\n      deep: 1\n    kind: K\n" in deeper


def test_several_fields_at_one_place_keep_their_order() -> None:
    found = document()
    edits = (*found.inserted(("data",), "a: 1"), *found.inserted(("data",), "b: 2"))
    assert "a: 1\nb: 2\ndata:" in apply_edits(TEXT, edits)


def test_fields_are_renamed_and_lines_taken_out() -> None:
    found = document()
    assert '{"b2": "b"' in apply_edits(TEXT, found.renamed(("data", "flow", "a"), "b2"))
    assert "# the name" not in apply_edits(TEXT, found.without_line(("metadata", "name")))
    assert found.without_line(("data", "flow", "a")) == ()


def test_an_edit_whose_place_has_changed_is_left_out() -> None:
    [edit] = document().replaced(("metadata", "name"), "b")
    assert apply_edits("metadata:\n  name: other\n", [edit]) == "metadata:\n  name: other\n"
    assert apply_edits("", [edit]) == ""


def test_what_is_no_yaml_is_an_error() -> None:
    with pytest.raises(yaml_text.YamlProblem, match="line 2"):
        document("a: [")


def test_json_may_be_indented_with_tabs() -> None:
    found = document('{\n\t"kind": "Policy",\n\t"extenders": [{\n\t\t"weight": 1\n\t}]\n}\n')
    assert found.line(("extenders", 0, "weight")) == 4
