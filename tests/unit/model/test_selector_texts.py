import pytest

from mooring.model.selector_texts import requirement_text
from mooring.model.selectors import Requirement


@pytest.mark.parametrize(
    ("operator", "values", "text"),
    [
        ("In", ["a"], "zone=a"),
        ("In", ["a", "b"], "zone in (a, b)"),
        ("NotIn", ["a"], "zone not in (a)"),
        ("Exists", None, "zone exists"),
        ("DoesNotExist", None, "zone does not exist"),
        ("Gt", ["4"], "zone > 4"),
        ("Lt", ["4"], "zone < 4"),
        ("Near", ["a", "b"], "zone Near (a, b)"),
    ],
)
def test_a_condition_in_words(operator: str, values: list[str] | None, text: str) -> None:
    assert requirement_text(Requirement("zone", operator, values)) == text
