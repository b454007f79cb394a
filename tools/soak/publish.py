"""``python -m tools.soak.publish RESULT.json ...``: the files of docs/benchmarks, from results.

``--json`` of `tools.soak` wrote the results. A test compares the table with the figures.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

FOLDER: Final = Path(__file__).parents[2] / "docs" / "benchmarks"
_BEGIN: Final = "<!-- runs -->\n"
_END: Final = "<!-- end -->"
_TITLES: Final = (
    "seed", "replicas", "minutes", "phases", "pods", "bound", "preempted", "faults", "starts",
    "longest without a Binding", "longest recovery", "most memory", "most idle CPU", "violations",
)  # fmt: skip


def table(runs: Sequence[dict[str, Any]]) -> str:
    """The runs as a table in Markdown."""
    rows = [_TITLES, ["---:"] * len(_TITLES), *map(_row, runs)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(run: dict[str, Any]) -> list[str]:
    return [
        str(run["seed"]),
        str(run["replicas"]),
        f"{run['minutes']:g}",
        str(run["phases"]),
        f"{run['pods']:,}",
        f"{run['bound']:,}",
        str(run["preempted"]),
        f"{sum(run['faults'].values()):,}",
        str(run["restarts"]),
        f"{run['longest_leaderless_seconds']:.1f} s",
        f"{run['longest_recovery_seconds']:.1f} s",
        f"{run['most_memory_mb']:.0f} MB",
        f"{run['most_idle_cpu']:.0%}",
        str(run["violations"]),
    ]


def published(page: str, runs: Sequence[dict[str, Any]]) -> str:
    """The page with the table of these runs."""
    pattern = re.compile(re.escape(_BEGIN) + ".*?" + re.escape(_END), re.DOTALL)
    return pattern.sub(lambda _: f"{_BEGIN}{table(runs)}{_END}", page)


def main(files: Sequence[str]) -> None:
    """Read results and write the two files."""
    runs = []
    for file in files:
        run = msgspec.json.decode(Path(file).read_bytes())
        run["phases"] = len(run.pop("by_phase"))
        runs.append(run)
    runs.sort(key=lambda run: (run["seed"], run["replicas"]))
    content = msgspec.json.format(msgspec.json.encode({"runs": runs}), indent=1)
    (FOLDER / "soak.json").write_bytes(content + b"\n")
    page = FOLDER / "soak.md"
    page.write_text(published(page.read_text(), runs))


if __name__ == "__main__":
    main(sys.argv[1:])
