"""YAML for people is YAML."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mooring.deploy.manifests.nodes import EmbeddedYaml, Noted, setting
from mooring.deploy.manifests.plain_objects import plain
from mooring.deploy.manifests.yaml_text import yaml_text

SCALARS = st.none() | st.booleans() | st.integers() | st.text()
TREES = st.dictionaries(
    st.text(min_size=1),
    st.recursive(
        SCALARS,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1), inner, max_size=3)
        ),
        max_leaves=10,
    ),
    min_size=1,
)


@given(TREES)
def test_what_is_written_is_read(tree: dict[str, object]) -> None:
    assert yaml.safe_load(yaml_text(tree)) == tree


def test_comments_blocks_and_short_lists() -> None:
    tree = {
        "replicas": Noted(2, "one of them works"),
        "verbs": ["get", "list"],
        "empty": setting("tolerations", []),
        "config.yaml": EmbeddedYaml(
            "config.yaml", {"kind": Noted("Policy", "old"), "items": [{"a": 1, "b": 2}]}
        ),
        "text": "one\n\n  two\n",
    }
    text = yaml_text(tree)
    assert text == (
        "replicas: 2 # one of them works\n"
        "verbs: [get, list]\n"
        "config.yaml: |\n"
        "  kind: Policy # old\n"
        "  items:\n"
        "    - a: 1\n"
        "      b: 2\n"
        "text: |\n"
        "  one\n"
        "\n"
        "    two\n"
    )
    assert yaml.safe_load(text) == plain(tree)


@pytest.mark.parametrize(
    "text", ["", "no", "1.36", "a: b", " x\ny", "x\n\n\n", "x\ny", "\n", "é\u2028x"]
)
def test_texts_stay_texts(text: str) -> None:
    assert yaml.safe_load(yaml_text({"key": text, "list": [text]})) == {"key": text, "list": [text]}


@pytest.mark.parametrize("text", ["0,", "a, b", "a]", "a[b", "{a", "it's, so", "a: b,", "#,"])
def test_marks_of_lists_are_texts_in_them(text: str) -> None:
    assert yaml.safe_load(yaml_text({"list": [text, text]})) == {"list": [text, text]}


@pytest.mark.parametrize(
    "text",
    ["1e3", "12e07", "7E9", "08", "0089", "0o17", "0X1f", "1_0e3", ".5e1", "-1e3", "y", "N", "on"],
)
def test_what_go_reads_as_a_number_or_a_switch_is_quoted(text: str) -> None:
    assert yaml_text({text: text, "list": [text]}) == f"'{text}': '{text}'\nlist: ['{text}']\n"


@pytest.mark.parametrize("value", [0, -5, 10**12, 1.5, 1e20, -2.5e-7, True, None])
def test_numbers_and_switches_are_not_quoted(value: object) -> None:
    assert "'" not in yaml_text({"key": value})
    assert yaml.safe_load(yaml_text({"key": value})) == {"key": value}
