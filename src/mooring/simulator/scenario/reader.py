"""Reading a scenario file: from text to typed values, with the place of every mistake.

It opens no files; `scenario_run` reads what a scenario refers to through whoever calls it.
"""

import typing
from typing import Final

from mooring import yaml_text
from mooring.located_yaml import LocatedDocument
from mooring.simulator.scenario.checks import check
from mooring.simulator.scenario.scenario_error import ScenarioError, located
from mooring.simulator.scenario.schema import Scenario
from mooring.typed_yaml import FieldMistake, check_repeated, convert

#: A scenario file has at most so many bytes; what is long belongs into a CSV file.
MOST_BYTES: Final = 4 * 1024 * 1024


class ReadScenario(typing.NamedTuple):
    """A scenario, and where its fields are in its file."""

    scenario: Scenario
    document: LocatedDocument


def read_scenario(text: str, file: str) -> ReadScenario:
    """Read a scenario.

    Args:
        text: the content of the file.
        file: its name, for errors.

    Raises:
        ScenarioError: something in it is wrong.
    """
    if len(text) > MOST_BYTES:
        raise ScenarioError(f"{file}: it has more than {MOST_BYTES} characters; use a CSV file")
    try:
        document = LocatedDocument(file, text.splitlines(), text)
    except yaml_text.YamlProblem as error:
        place = f"{file}:{error.line}:{error.column}"
        raise ScenarioError(f"{place}: it is not valid YAML: {error}") from error
    try:
        if not isinstance(document.data, dict):
            raise FieldMistake((), "expected a mapping with at least the field cluster")
        check_repeated(document)
        scenario = convert(document.data, Scenario)
        check(scenario)
    except FieldMistake as problem:
        raise located(document, problem) from None
    return ReadScenario(scenario, document)
