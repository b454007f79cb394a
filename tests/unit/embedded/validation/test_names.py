"""The syntax of names and labels."""

import pytest

from mooring.embedded.validation import names


@pytest.mark.parametrize("text", ["a", "a-b.c", "1", "a" * 253])
def test_subdomains(text: str) -> None:
    assert names.subdomain(text) == ()


@pytest.mark.parametrize("text", ["", "A", "a_b", "-a", "a-", "a..b", "a\n", "ä", "." * 3])
def test_no_subdomains(text: str) -> None:
    assert len(names.subdomain(text)) == 1


def test_a_long_subdomain_is_told_with_its_limit() -> None:
    assert names.subdomain("a" * 254) == ("must be no more than 253 characters",)
    assert names.subdomain("A" * 254)[0] == "must be no more than 253 characters"
    assert len(names.subdomain("A" * 254)) == 2


def test_a_label_with_dots_is_told_so() -> None:
    assert names.dns_label("a.b") == ("must not contain dots",)
    assert names.dns_label("a") == ()


@pytest.mark.parametrize("text", ["a", "A_b.c", "example.com/a", f"{'a' * 253}/{'b' * 63}"])
def test_label_keys(text: str) -> None:
    assert names.label_key(text) == ()


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("/a", "prefix part must be non-empty"),
        ("a/", "name part must be non-empty"),
        ("a/b/c", "a valid label key must consist of"),
        ("A/b", "prefix part a lowercase RFC 1123 subdomain"),
        ("a" * 64, "name part must be no more than 63 bytes"),
        (f"{'a' * 254}/b", "prefix part must be no more than 253 bytes"),
        ("ü", "name part must consist of"),
    ],
)
def test_no_label_keys(text: str, beginning: str) -> None:
    assert names.label_key(text)[0].startswith(beginning)


def test_label_values() -> None:
    assert names.label_value("") == ()
    assert names.label_value("a.B-c_1") == ()
    assert names.label_value("a" * 64) == ("must be no more than 63 bytes",)
    assert len(names.label_value("-")) == 1


def test_length_counts_bytes() -> None:
    assert names.label_value("ü" * 32)[0] == "must be no more than 63 bytes"


def test_the_beginning_of_a_name_may_end_with_a_dash() -> None:
    assert names.subdomain("web-") != ()
    assert names.beginning(names.subdomain)("web-") == ()
    assert names.beginning(names.subdomain)("-") != ()
    assert names.beginning(names.path_segment)("a/") == ("may not contain '/'",)


def test_path_segments() -> None:
    assert names.path_segment("system:a") == ()
    assert names.path_segment("..") == ("may not be '..'",)
    assert names.path_segment("a/%") == ("may not contain '/'", "may not contain '%'")


def test_environment_variables() -> None:
    assert names.variable_name("a b.c-1") == ()
    assert len(names.variable_name("a=b")) == 1
    assert len(names.variable_name("ü")) == 1
