"""The ways in which pods come to a scheduler, by the names that results have; used everywhere."""

#: As fast as the API server takes them, while the scheduler works.
CREATE = "create"
#: All of them wait before the scheduler starts.
DRAIN = "drain"
#: So few at a time, each removed with its claim and replaced as soon as it is bound.
STEADY = "steady"
STEADY_PODS = 10
#: After so long no other pod comes; scheduler_perf measures ten seconds.
STEADY_SECONDS = 60.0
#: So many a second.
RATES = (50, 100, 200)


def at_rate(rate: int) -> str:
    """The way of pods that come at a fixed rate."""
    return f"{rate}/s"


def rate_of(way: str) -> int | None:
    """The rate of a way; None if it has none."""
    number, _, unit = way.partition("/")
    return int(number) if unit else None
