"""When the pods and objects of a workload come, and how long pods run."""

import itertools
import math
from collections.abc import Callable, Iterator

from mooring.simulator.random_source import RandomSource
from mooring.simulator.scenario import values
from mooring.simulator.scenario.schema import DrawnDuration, WorkloadForm


def arrival_times(workload: WorkloadForm, numbers: RandomSource) -> Iterator[float]:
    """The times at which a workload's pods come, in ascending order; not for CSV files."""
    arrival = workload.arrival
    start = values.seconds(arrival.at, ())
    end = values.seconds(arrival.until, ()) if arrival.until else math.inf
    count = workload.count
    if not arrival.every and not arrival.poisson:
        return itertools.repeat(start, 1 if count is None else count)
    times: Iterator[float]
    if arrival.every:
        seconds = values.seconds(arrival.every, ())
        times = (start + number * seconds for number in itertools.count())
    else:
        times = _poisson(start, values.rate(arrival.poisson, ()), numbers)
    return itertools.islice(itertools.takewhile(lambda time: time <= end, times), count)


def _poisson(start: float, per_second: float, numbers: RandomSource) -> Iterator[float]:
    time = start
    while True:
        time += numbers.expovariate(per_second)
        yield time


def draw_duration(workload: WorkloadForm, numbers: RandomSource) -> Callable[[], float] | None:
    """Draws how long each pod runs; None if pods run for ever."""
    duration = workload.duration
    if not isinstance(duration, DrawnDuration):
        if not duration:
            return None
        fixed = values.seconds(duration, ())
        return lambda: fixed
    if duration.exponential:
        mean = values.seconds(duration.exponential, ())
        return lambda: numbers.expovariate(1 / mean) if mean else 0.0
    if duration.uniform is not None:
        low, high = (values.seconds(one, ()) for one in duration.uniform)
        return lambda: numbers.uniform(low, high)
    assert duration.lognormal is not None  # noqa: S101 - one of them is given
    median = math.log(values.seconds(duration.lognormal.median, ()))
    sigma = duration.lognormal.sigma
    return lambda: numbers.lognormvariate(median, sigma)
