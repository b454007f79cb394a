"""A tallied histogram says what one of prometheus-client says."""

import random
from collections.abc import Sequence

import pytest
from prometheus_client import CollectorRegistry, Histogram, disable_created_metrics, generate_latest

from mooring.process.tallied_histogram import TalliedHistogram

BUCKETS = (0.001, 0.5, 1.0, 2.5, 64)


@pytest.fixture(autouse=True)
def _only_values() -> None:
    disable_created_metrics()  # type: ignore[no-untyped-call]


def both(labels: Sequence[str]) -> tuple[Histogram, TalliedHistogram, list[CollectorRegistry]]:
    registries = [CollectorRegistry(), CollectorRegistry()]
    theirs = Histogram("a_seconds", "Time.", labels, buckets=BUCKETS, registry=registries[0])
    ours = TalliedHistogram("a_seconds", "Time.", labels, buckets=BUCKETS, registry=registries[1])
    return theirs, ours, registries


def texts(registries: list[CollectorRegistry]) -> list[bytes]:
    return [generate_latest(one) for one in registries]


def test_without_labels_it_is_there_before_the_first_value() -> None:
    theirs, ours, registries = both(())
    expected, found = texts(registries)
    assert expected == found
    chance = random.Random(1)
    values = [*BUCKETS, 0.0, -1.0, 65.0, *(chance.expovariate(1.0) for _ in range(500))]
    for value in values:
        theirs.observe(value)
        ours.observe(value)
    expected, found = texts(registries)
    assert expected == found
    assert b'le="+Inf"} 508.0' in found


def test_with_labels_every_combination_is_a_series() -> None:
    theirs, ours, registries = both(("result", "profile"))
    expected, found = texts(registries)
    assert expected == found
    assert b"bucket" not in found
    for result, value in (("a", 0.5), ("b", 3), ("a", 0.75)):
        theirs.labels(result, 'x"y').observe(value)
        ours.labels(result, 'x"y').observe(value)
    expected, found = texts(registries)
    assert expected == found
    assert found.count(b"a_seconds_count") == 2
