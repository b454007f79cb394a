"""Each replica compares its state with a fresh list, as SIGUSR2 asks it to; what it says."""

import re
import time
from collections.abc import Sequence
from typing import Final

from tools.soak.replicas import Replica

_SAID: Final = re.compile(r"the state (matches|differs from|could not be compared)[^\n]*")
_PATIENCE_SECONDS: Final = 60.0


def compare_states(replicas: Sequence[Replica]) -> list[str]:
    """Differences that replicas find between their state and the cluster."""
    found = []
    for replica in replicas:
        said = _ask(replica)
        if not said.startswith("the state matches"):
            found.append(f"replica {replica.name}: {said}")
    return found


def _ask(replica: Replica) -> str:
    before = len(_SAID.findall(replica.log()))
    replica.compare()
    until = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < until:
        log = replica.log()
        matches = list(_SAID.finditer(log))
        if len(matches) > before:
            line_end = log.find("\n", matches[-1].end())
            time.sleep(0.1)  # the points follow in lines of their own
            details = replica.log()[line_end : line_end + 600].splitlines()
            return " | ".join([matches[-1].group(0), *(one.strip() for one in details if one)])
        time.sleep(0.1)
    return f"it did not compare its state within {_PATIENCE_SECONDS:g} s"
