"""Values of labels that others make up are bounded, short and readable."""

from mooring.process.metric_labels import MOST_VALUES, OTHER, LabelValues


def test_the_first_values_count_for_themselves_and_all_others_together() -> None:
    values = LabelValues(3)
    assert [values.of(text) for text in "abcdeab"] == ["a", "b", "c", OTHER, OTHER, "a", "b"]


def test_there_are_never_more_values_than_said() -> None:
    values = LabelValues()
    found = {values.of(f"name-{number}") for number in range(10_000)}
    assert len(found) == MOST_VALUES + 1


def test_long_and_broken_texts_are_made_short_and_readable() -> None:
    values = LabelValues()
    assert values.of("x" * 10_000) == values.of("x" * 5000) == "x" * 200
    assert values.of("\udcff") == "?"
