"""The results in the format of scheduler_perf, for tools that read that; called by `__main__`."""

from pathlib import Path

import msgspec

from benchmarks.scheduler.results import Found, Result
from benchmarks.scheduler.run import Run


class DataItem(msgspec.Struct):
    """One figure or several of one metric."""

    data: dict[str, float]
    unit: str
    labels: dict[str, str]


class DataItems(msgspec.Struct, rename="camel"):
    """A file of scheduler_perf."""

    version: str
    data_items: list[DataItem]


def data_items(found: Found) -> DataItems:
    """Throughput and latencies of all runs."""
    items = [item for result in found.results for run in result.runs for item in _of(result, run)]
    return DataItems("v1", items)


def _of(result: Result, run: Run) -> list[DataItem]:
    name = f"{result.workload}/{result.nodes}Nodes_{result.pods}Pods/{result.way}"
    labels = {"Name": name, "scheduler": run.scheduler}
    items = []
    if run.throughput is not None:
        rates = {
            "Average": run.throughput.average,
            "Perc50": run.throughput.perc50,
            "Perc90": run.throughput.perc90,
            "Perc95": run.throughput.perc95,
            "Perc99": run.throughput.perc99,
        }
        items.append(DataItem(rates, "pods/s", {**labels, "Metric": "SchedulingThroughput"}))
    if run.latency is not None:
        delays = {"Perc50": run.latency.p50_ms, "Perc99": run.latency.p99_ms}
        metric = {**labels, "Metric": "create_to_bound_duration"}
        items.append(DataItem({**delays, "Max": run.latency.max_ms}, "ms", metric))
    return items


def write(found: Found, file: Path) -> None:
    """Write the file."""
    file.write_bytes(msgspec.json.format(msgspec.json.encode(data_items(found)), indent=2) + b"\n")
