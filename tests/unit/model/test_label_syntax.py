import pytest

from mooring.model.label_syntax import is_label_key, is_label_value


@pytest.mark.parametrize(
    "text",
    ["a", "A-b_c.9", "example.com/rack", "a/b", "x" * 63, f"{'a' * 253}/x", "0.io/0"],
)
def test_names_with_an_optional_dns_prefix_are_keys(text: str) -> None:
    assert is_label_key(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "-a", "a-", "a b", "a/b/c", "/a", "a/", "UPPER.com/a", "a..b/c", "x" * 64,
        f"{'a' * 254}/x", "a\n", "ä",
    ],
)  # fmt: skip
def test_other_texts_are_no_keys(text: str) -> None:
    assert not is_label_key(text)


def test_values_may_be_empty_but_not_long() -> None:
    assert is_label_value("")
    assert is_label_value("Zone_a.1")
    assert not is_label_value("a/b")
    assert not is_label_value("x" * 64)
    assert not is_label_value("-")
