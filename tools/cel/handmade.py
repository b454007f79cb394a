"""Expressions made by hand, for what chance does not find."""

import json
from pathlib import Path
from typing import Final

_FILE: Final = Path(__file__).with_name("handmade.txt")
_NESTED: Final = [
    *(f"{'(' * n}true{')' * n}" for n in (100, 200, 249, 250, 251)),
    *(f"{sign.join(['1'] * n)} > 0" for n in (200, 250, 251, 260) for sign in "+*"),
    *(f"{'1 + (' * n}1{')' * n} > 0" for n in (50, 120, 126, 260)),
    *(f"{'[' * n}{']' * n} == []" for n in (60, 260)),
    *(f"device{'.a' * n}" for n in (100, 260)),
    *(f"{'dyn(' * n}true{')' * n}" for n in (100, 260)),
    " && ".join(["true"] * 400),
    " || ".join(["false"] * 400),
    f"{'!' * 301}true",
    f'"{"a" * 5000}" == device.driver',
]
#: All of them.
EXPRESSIONS: Final[list[str]] = [
    *(json.loads(line) for line in _FILE.read_text(encoding="utf-8").splitlines()),
    *_NESTED,
]
