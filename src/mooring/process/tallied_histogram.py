"""Histograms for what is counted thousands of times a second.

prometheus-client locks each value and walks through the buckets; here a value costs a search and
two additions, and the text is the same. The scheduler's metrics are made of them; they are observed
on the event loop's thread alone.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString


class Tally:
    """The values of one series."""

    __slots__ = ("_bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        #: By bucket; the last one has no upper bound.
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self._bounds, value)] += 1
        self.total += value


class TalliedHistogram(Collector):
    """A histogram, with or without labels.

    Args:
        name: the metric's.
        documentation: its help text.
        labels: the names of its labels.
        buckets: their upper bounds, in ascending order.
        registry: shows it.
    """

    def __init__(
        self,
        name: str,
        documentation: str,
        labels: Sequence[str] = (),
        *,
        buckets: Sequence[float],
        registry: CollectorRegistry,
    ) -> None:
        self.name = name
        self.label_names = tuple(labels)
        self.buckets = tuple(buckets)
        self._documentation = documentation
        self._tallies: dict[tuple[str, ...], Tally] = {}
        self._texts = [*map(floatToGoString, self.buckets), "+Inf"]
        if not labels:
            self.labels()
        registry.register(self)

    def labels(self, *values: str) -> Tally:
        """The series with these values of the labels."""
        found = self._tallies.get(values)
        if found is None:
            found = self._tallies[values] = Tally(self.buckets)
        return found

    def observe(self, value: float) -> None:
        """Count a value of a histogram without labels."""
        self._tallies[()].observe(value)

    def describe(self) -> Iterable[HistogramMetricFamily]:
        """Its name and help; the registry asks."""
        yield HistogramMetricFamily(self.name, self._documentation, labels=self.label_names)

    def collect(self) -> Iterable[HistogramMetricFamily]:
        """All series; the registry asks."""
        (family,) = self.describe()
        for values, tally in self._tallies.items():
            cumulative = accumulate(tally.counts)
            pairs = zip(self._texts, cumulative, strict=True)
            buckets = [(text, float(count)) for text, count in pairs]
            family.add_metric(values, buckets=buckets, sum_value=tally.total)
        yield family
