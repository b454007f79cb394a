"""Reading what users write in configuration files, strictly and with all mistakes at once.

Turns parsed YAML or JSON into msgspec Structs. Every mistake becomes a `FieldProblem` with the full
path of the field; nothing is guessed and no unknown field is passed over. Called for the
scheduler's configuration and for plugins' arguments; it knows nothing about either.
"""

import difflib
import enum
import operator
import types
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec

from mooring.errors import InputError
from mooring.model.duration import Duration

T = TypeVar("T")
#: Whole numbers of the size that Kubernetes gives a field.
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Percentage = Annotated[int, msgspec.Meta(ge=0, le=100)]

_SHOWN_PROBLEMS: Final = 5
_SHOWN_FIELDS: Final = 12
_LISTS: Final = (list, tuple, set, frozenset, Sequence, Collection)
_MAPPINGS: Final = (dict, Mapping)
_WANTED: Final[dict[object, str]] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a string",
    bytes: "base64",
}
_BROKEN: Final = object()


class FieldProblem(NamedTuple):
    """One mistake: where it is, and a clause that says what is wrong and what to do."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


def raise_problems(problems: Sequence[FieldProblem]) -> None:
    """Raise if there are problems.

    Raises:
        InputError: lists the first five and says how many more there are.
    """
    if problems:
        raise problems_error(problems)


def problems_error(problems: Sequence[FieldProblem]) -> InputError:
    """The error that `raise_problems` raises."""
    distinct = list(dict.fromkeys(problems))
    listed = [str(problem) for problem in distinct[:_SHOWN_PROBLEMS]]
    more = len(distinct) - len(listed)
    return InputError(
        "; ".join(listed)
        + (f"; and {more} more problems" if more > 1 else "; and 1 more problem" if more else "")
    )


def join_path(path: str, name: str) -> str:
    """The path of a field; a name may begin with an index: ``resources[0]`` and ``[0].weight``."""
    return f"{path}.{name}" if path and name and not name.startswith("[") else path + name


def nearest(name: str, names: Iterable[str], *, likeness: float = 0.7) -> str | None:
    """The name that was probably meant, whatever its case; None if none is near."""
    lower = {one.lower(): one for one in names}
    found = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=likeness)
    return lower[found[0]] if found else None


def decode(kind: type[T], data: object, path: str, problems: list[FieldProblem]) -> T | None:
    """Read a value of some type.

    ``null`` for a field means that it is absent, as everywhere in Kubernetes.

    Args:
        kind: a msgspec Struct.
        data: parsed YAML or JSON.
        path: where the data are, for messages.
        problems: gets every mistake.

    Returns:
        The value, or None if there was a mistake.
    """
    before = len(problems)
    cleaned = _StrictDecoder(problems).value(kind, data, path)
    if len(problems) > before:
        return None
    try:
        return msgspec.convert(cleaned, kind, dec_hook=_custom)
    except (msgspec.ValidationError, InputError) as error:
        problems.append(FieldProblem(path, f"invalid value: {_one_line(error)}"))
    return None


def decode_or_raise(kind: type[T], data: object, path: str) -> T:
    """Read a value of some type or say what is wrong with it.

    Raises:
        InputError: lists the mistakes, as `raise_problems` does.
    """
    problems: list[FieldProblem] = []
    found = decode(kind, data, path, problems)
    if found is None:
        raise problems_error(problems)
    return found


class _StrictDecoder:
    """Goes through data beside their type; the result has no nulls and no broken parts."""

    def __init__(self, problems: list[FieldProblem]) -> None:
        self._problems = problems

    def value(self, kind: Any, data: object, path: str) -> object:
        bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
        origin, inner = get_origin(bare), get_args(bare)
        if origin in (Union, types.UnionType):
            if data is None and types.NoneType in inner:
                return None
            others = [one for one in inner if one is not types.NoneType]
            if len(others) == 1:
                return self.value(others[0], data, path)
        if bare in (Any, object):
            return data
        if isinstance(bare, type) and issubclass(bare, msgspec.Struct):
            return self._struct(bare, data, path)
        base = origin or bare
        if base in _LISTS:
            return self._list(inner[0] if inner else Any, data, path)
        if base in _MAPPINGS:
            return self._mapping(inner[1] if inner else Any, data, path)
        return self._leaf(kind, bare, data, path)

    def _struct(self, kind: type[msgspec.Struct], data: object, path: str) -> object:
        if not isinstance(data, Mapping):
            return self._wrong(path, data, "an object")
        fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
        found: dict[str, object] = {}
        for name, given in data.items():
            field = fields.get(name) if isinstance(name, str) else None
            if field is None:
                self._unknown(join_path(path, str(name)), str(name), list(fields))
            elif given is not None:
                cleaned = self.value(field.type, given, join_path(path, str(name)))
                if cleaned is not _BROKEN:
                    found[str(name)] = cleaned
        for name, field in fields.items():
            if field.required and data.get(name) is None:
                self._problems.append(
                    FieldProblem(join_path(path, name), "required value is missing")
                )
        return found

    def _list(self, kind: object, data: object, path: str) -> object:
        if not isinstance(data, Sequence) or isinstance(data, (str, bytes)):
            return self._wrong(path, data, "a list")
        return [self.value(kind, one, f"{path}[{place}]") for place, one in enumerate(data)]

    def _mapping(self, kind: object, data: object, path: str) -> object:
        if not isinstance(data, Mapping):
            return self._wrong(path, data, "an object")
        return {key: self.value(kind, one, join_path(path, str(key))) for key, one in data.items()}

    def _leaf(self, kind: object, bare: object, data: object, path: str) -> object:
        if bare is int and isinstance(data, float) and data.is_integer():
            data = int(data)
        try:
            msgspec.convert(data, kind, dec_hook=_custom)
        except (msgspec.ValidationError, InputError) as error:
            text = _explain(kind, bare, data, error)
            self._problems.append(FieldProblem(path, text))
            return _BROKEN
        return data

    def _unknown(self, path: str, name: str, fields: list[str]) -> None:
        meant = nearest(name, fields)
        if meant is not None:
            text = f"unknown field: did you mean {meant}?"
        elif 0 < len(fields) <= _SHOWN_FIELDS:
            text = f"unknown field: the fields here are {', '.join(fields)}"
        else:
            text = "unknown field: remove it"
        self._problems.append(FieldProblem(path, text))

    def _wrong(self, path: str, data: object, wanted: str) -> object:
        self._problems.append(FieldProblem(path, f"{shown(data)} is invalid: must be {wanted}"))
        return _BROKEN


def shown(data: object) -> str:
    """A value as a user wrote it, shortened."""
    if data is None:
        return "null"
    if isinstance(data, bool):
        return str(data).lower()
    if isinstance(data, Mapping):
        return "an object"
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return "a list"
    text = repr(data)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _custom(kind: type[Any], data: object) -> Any:
    if kind is not Duration:
        raise InputError(f"{kind.__name__} cannot be read from a file")
    if not isinstance(data, str):
        raise InputError(
            f"{shown(data)} is not a valid duration: use for example 15s, 1m30s or 100ms"
        )
    return Duration.parse(data)


def _explain(kind: object, bare: object, data: object, error: Exception) -> str:
    if bare is Duration:
        return _one_line(error)
    choices = _choices(bare)
    if choices:
        meant = nearest(str(data), choices)
        hint = f"did you mean {meant}?" if meant else f"use {_either(choices)}"
        return f"{shown(data)} is not supported: {hint}"
    if isinstance(data, (int, float)) and not isinstance(data, bool):
        limit = _limit(kind, data)
        if limit:
            return f"{shown(data)} is out of range: must be {limit}"
    if bare in _WANTED:
        return f"{shown(data)} is invalid: must be {_WANTED[bare]}"
    return f"{shown(data)} is invalid: {_one_line(error)}"


def _choices(kind: object) -> list[str]:
    if get_origin(kind) is Literal:
        return [str(choice) for choice in get_args(kind)]
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return [str(choice.value) for choice in kind]
    return []


def _limit(kind: object, data: float) -> str:
    """The limit that a number breaks, in words; empty if it is something else."""
    if get_origin(kind) is not Annotated or get_args(kind)[0] not in (int, float):
        return ""
    for meta in get_args(kind)[1:]:
        for words, limit, broken in (
            ("at least", getattr(meta, "ge", None), operator.lt),
            ("greater than", getattr(meta, "gt", None), operator.le),
            ("at most", getattr(meta, "le", None), operator.gt),
            ("less than", getattr(meta, "lt", None), operator.ge),
        ):
            if limit is not None and broken(data, limit):
                return f"{words} {limit}"
    return ""


def _either(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
