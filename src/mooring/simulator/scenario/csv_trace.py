"""Pods from a CSV file: arrival, duration and requests, a pod in a line.

Read as a whole before the simulation begins, so that a mistake in the last line costs no time.
"""

import csv
import io
from collections.abc import Mapping
from typing import Final, NamedTuple

from mooring.model.quantity import parse_quantity
from mooring.simulator.scenario import values
from mooring.simulator.scenario.scenario_error import ScenarioError
from mooring.simulator.scenario.schema import MOST_PODS, CsvArrival
from mooring.typed_yaml import FieldMistake

ARRIVAL: Final = "arrival"
DURATION: Final = "duration"
_LONGEST_CELL: Final = 1000
_MOST_BYTES: Final = 512 * 1024 * 1024


class TracePod(NamedTuple):
    """One line: when a pod comes, how long it runs, and what it requests; None for no word."""

    arrival: float
    duration: float | None
    requests: tuple[tuple[str, str], ...]


def read_trace(data: bytes, form: CsvArrival, file: str) -> list[TracePod]:
    """All pods of a file in the order of their arrival; those of the same time as in the file.

    Raises:
        ScenarioError: something in it is wrong; the message begins with file, line and column.
    """
    if len(data) > _MOST_BYTES:
        raise ScenarioError(f"{file}: it has more than {_MOST_BYTES // 2**20} MiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{file}: it is not UTF-8: {error}") from error
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    pods: list[TracePod] = []
    try:
        header = [one.strip() for one in next(rows, [])]
        columns = _columns(header, form.columns, file)
        for row in rows:
            if not row:
                continue
            if len(row) != len(header):
                problem = f"it has {len(row)} cells, and the header has {len(header)}"
                raise ScenarioError(f"{file}:{rows.line_num}:1: {problem}")
            pods.append(_pod(row, columns, f"{file}:{rows.line_num}"))
            if len(pods) > MOST_PODS:
                raise ScenarioError(f"{file}: it has more than {MOST_PODS} pods")
    except csv.Error as error:
        raise ScenarioError(f"{file}:{rows.line_num}:1: {error}") from error
    return sorted(pods, key=lambda one: one.arrival)


def _columns(header: list[str], named: Mapping[str, str], file: str) -> dict[str, int]:
    """The number of each column by what it means."""
    wanted = {one: one for one in (ARRIVAL, DURATION, "cpu", "memory")} | dict(named)
    found = {}
    for meaning, column in wanted.items():
        if header.count(column) > 1:
            raise ScenarioError(f"{file}:1:1: the column {column} is there twice")
        if column in header:
            found[meaning] = header.index(column)
        elif meaning in named or meaning == ARRIVAL:
            names = ", ".join(header) or "none"
            raise ScenarioError(f"{file}:1:1: there is no column {column}; there are: {names}")
    return found


def _pod(row: list[str], columns: Mapping[str, int], where: str) -> TracePod:
    times: dict[str, float | None] = {ARRIVAL: None, DURATION: None}
    requests = []
    for meaning, number in columns.items():
        cell = row[number].strip()
        column = sum(len(one) + 1 for one in row[:number]) + 1
        try:
            if len(cell) > _LONGEST_CELL:
                raise FieldMistake((), "the cell is too long")
            if meaning in times:
                times[meaning] = _time(cell) if cell else None
            elif cell:
                requests.append((meaning, _amount(meaning, cell)))
        except FieldMistake as problem:
            raise ScenarioError(f"{where}:{column}: {meaning}: {problem.message}") from None
    arrival = times[ARRIVAL]
    if arrival is None:
        raise ScenarioError(f"{where}:1: the arrival is missing")
    return TracePod(arrival, times[DURATION], tuple(requests))


def _amount(resource: str, cell: str) -> str:
    """An amount that a pod may request."""
    text = values.amount(cell, ())
    quantity = parse_quantity(text)
    if quantity.nano < 0:
        raise FieldMistake((), f"{cell} is negative; expected 0 or more")
    if "/" in resource and quantity.nano % 10**9:
        raise FieldMistake((), f"{cell} is no whole number, which {resource} has to be")
    return text


def _time(cell: str) -> float:
    """Seconds, or a duration with a unit."""
    try:
        number = float(cell)
    except ValueError:
        return values.seconds(cell, ())
    if not 0 <= number <= 366 * 86_400:
        raise FieldMistake((), f"{cell} is out of range; expected 0 to {366 * 86_400} seconds")
    return number
