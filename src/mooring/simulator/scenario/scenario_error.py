"""A mistake in a scenario: where it is, and what is expected there."""

from mooring.errors import InputError
from mooring.located_yaml import LocatedDocument
from mooring.typed_yaml import FieldMistake, located_text


class ScenarioError(InputError):
    """A scenario cannot be played; the message begins with file, line and column."""


def located(document: LocatedDocument, problem: FieldMistake) -> ScenarioError:
    """The mistake with its place."""
    return ScenarioError(located_text(document, problem))
