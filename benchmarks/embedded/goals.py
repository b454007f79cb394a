"""The goals of the embedded server, checked against a run; called by `__main__`."""

from benchmarks.embedded.measuring import Effort, EmbeddedResults
from benchmarks.embedded.servers import EMBEDDED
from benchmarks.reporting import Goal, times

LEAST_PODS_PER_SECOND = 1500
MOST_MEMORY_MB = 1000
#: With a slow watcher, at least this part of the changes a second without one.
LEAST_RATIO = 0.8


def goals(found: list[EmbeddedResults], effort: Effort) -> list[Goal]:
    """The goals about what was measured."""
    one = next(each for each in found if each.server == EMBEDDED)
    ratio = one.with_slow_watcher / one.changes_per_second
    return [
        Goal(
            goal=f"at least {LEAST_PODS_PER_SECOND:,} pods created a second",
            measured=f"{one.pods_per_second:,.0f}",
            met=one.pods_per_second >= LEAST_PODS_PER_SECOND,
        ),
        Goal(
            goal=f"{effort.nodes:,} nodes and {effort.pods:,} pods in less than "
            f"{MOST_MEMORY_MB:,} MB",
            measured=f"{one.memory_mb:,.0f} MB",
            met=one.memory_mb < MOST_MEMORY_MB,
        ),
        Goal(
            goal=f"a slow watcher leaves at least {LEAST_RATIO:.0%} of the changes a second",
            measured=times(ratio),
            met=ratio >= LEAST_RATIO,
        ),
        Goal(
            goal="a slow watcher is told to begin anew (410)",
            measured="yes" if one.slow_watcher_told else "no",
            met=bool(one.slow_watcher_told),
        ),
    ]
