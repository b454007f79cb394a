"""The tables of a run for people and for the page; called by `__main__`."""

from collections.abc import Callable, Iterator

from rich.console import Console

from benchmarks.reporting import Part, print_ending, print_parts, times
from benchmarks.scheduler.claim_workloads import CLAIM_WORKLOADS
from benchmarks.scheduler.contenders import KUBE_SCHEDULER, MOORING, SCHEDULERS
from benchmarks.scheduler.limits import Limit
from benchmarks.scheduler.quality import Quality
from benchmarks.scheduler.results import Found, Report, Result
from benchmarks.scheduler.run import Run
from benchmarks.scheduler.ways import CREATE, DRAIN, rate_of

_Row = tuple[str, ...]
_NONE = "-"
_BOTH = "kube-scheduler / mooring"
_OTHERS = ("scheduler", "workload", "pods", "pods/s", "kube-scheduler's", "CPU ms/pod")
_QUALITIES = (
    "workload", "nodes", "way", "deviation of requested CPU, %", "fullest node, %",
    "nodes with measured pods", "zones differ by",
)  # fmt: skip


def print_report(report: Report, console: Console) -> None:
    """Print the tables and the goals; plain text when the output is no terminal."""
    print_parts(parts(report), console)
    for result in report.results:
        for run in result.runs:
            if not result.complete(run):
                _say(console, f"* {_where(result)}: {_unfinished(run)}")
    print_ending(report.other_load, report.goals, console)
    for failure in report.failures:
        _say(console, f"[red]FAILED [/] {failure}")


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True)


def _where(result: Result) -> str:
    return f"{result.workload}, {result.nodes:,} nodes, {result.way}"


def _unfinished(run: Run) -> str:
    return f"{run.scheduler} bound only {run.bound:,} pods before the run was ended."


def parts(found: Found) -> list[Part]:
    """The tables of what was measured."""
    return list(tables(found).values())


def tables(found: Found) -> dict[str, Part]:
    """The tables of what was measured, by a short name."""
    claims = [result for result in found.results if result.claims and _compared(result)]
    compared = [one for one in found.results if not one.claims and _compared(one)]
    drained = [result for result in compared if result.way == DRAIN]
    created = [result for result in compared if result.way == CREATE]
    arrived = [result for result in compared if rate_of(result.way) is not None]
    limits = [limit for limit in found.limits if limit.workload not in CLAIM_WORKLOADS]
    others = list(_others(found.results))
    qualities = list(_qualities(compared))
    made: dict[str, Part | None] = {
        "drain": _drained(found, drained) if drained else None,
        "create": _created(found, created) if created else None,
        "claims": _claims(found, claims) if claims else None,
        "rates": _arrived(arrived) if arrived else None,
        "others": ("Pods that wait, other configurations", _OTHERS, others) if others else None,
        "quality": (f"Where the pods are, {_BOTH}", _QUALITIES, qualities) if qualities else None,
        "memory": _memory(found) if found.footprints else None,
        "limits": _limits(limits) if limits else None,
    }
    return {name: part for name, part in made.items() if part is not None}


def _compared(result: Result) -> bool:
    """Whether one of the two took part, in its usual configuration."""
    return any(result.run(name) is not None for name in (KUBE_SCHEDULER, MOORING))


def _drained(found: Found, results: list[Result]) -> Part:
    columns = (
        "workload", "nodes", "pods", "kube-scheduler, pods/s", "mooring, pods/s", "times",
        "of a loop that binds", "CPU ms/pod", "with start-up", "first after, s", "events after, s",
    )  # fmt: skip
    rows: list[_Row] = []
    for result in results:
        limit = found.limit(result.workload, result.nodes)
        rows.append(
            (
                result.workload,
                f"{result.nodes:,}",
                f"{result.pods:,}",
                *_rates(result),
                _share(result, limit.binds_per_second if limit is not None else None),
                _both(result, lambda run: f"{run.cpu.per_pod:.2f}"),
                _both(result, lambda run: _decimals(run.cpu.per_pod_with_start)),
                _both(result, lambda run: _seconds(run.first_seconds)),
                _both(result, lambda run: _seconds(run.events.seconds if run.events else None)),
            )
        )
    return f"Pods that wait before the scheduler starts, {_BOTH}", columns, rows


def _created(found: Found, results: list[Result]) -> Part:
    columns = (
        "workload", "nodes", "pods", "in scheduler_perf", "kube-scheduler, pods/s",
        "mooring, pods/s", "times", "of a loop that creates and binds", "CPU ms/pod", "memory MB",
        "p50 ms", "p99 ms",
    )  # fmt: skip
    rows: list[_Row] = []
    for result in results:
        limit = found.limit(result.workload, result.nodes)
        rows.append(
            (
                result.workload,
                f"{result.nodes:,}",
                f"{result.pods:,}",
                _official(result),
                *_rates(result),
                _share(result, limit.both_per_second if limit is not None else None),
                _both(result, lambda run: f"{run.cpu.per_pod:.2f}"),
                _both(result, lambda run: f"{run.peak_memory_mb:.0f}"),
                _both(result, lambda run: f"{run.latency.p50_ms:,.0f}" if run.latency else _NONE),
                _both(result, lambda run: f"{run.latency.p99_ms:,.0f}" if run.latency else _NONE),
            )
        )
    return f"Pods created and bound, {_BOTH}", columns, rows


def _place(result: Result) -> tuple[int, int]:
    return list(CLAIM_WORKLOADS).index(result.workload), result.nodes


def _claims(found: Found, results: list[Result]) -> Part:
    columns = (
        "workload", "nodes", "pods", "way", "in scheduler_perf", "kube-scheduler, pods/s",
        "mooring, pods/s", "times", "of a loop with the same writes", "CPU ms/pod", "memory MB",
    )  # fmt: skip
    rows: list[_Row] = [
        (
            result.workload,
            f"{result.nodes:,}",
            f"{result.pods:,}",
            result.way,
            _official(result),
            *_rates(result),
            _share(result, found.most(result)),
            _both(result, lambda run: f"{run.cpu.per_pod:.2f}"),
            _both(result, lambda run: f"{run.peak_memory_mb:.0f}"),
        )
        for result in sorted(results, key=_place)
    ]
    return f"Pods with claims for devices, {_BOTH}", columns, rows


def _arrived(results: list[Result]) -> Part:
    columns = ("workload", "nodes", "arriving", "p50 ms", "p99 ms", "max ms", "CPU ms/pod")
    rows: list[_Row] = [
        (
            result.workload,
            f"{result.nodes:,}",
            result.way,
            _both(result, lambda run: f"{run.latency.p50_ms:.1f}" if run.latency else _NONE),
            _both(result, lambda run: f"{run.latency.p99_ms:.1f}" if run.latency else _NONE),
            _both(result, lambda run: f"{run.latency.max_ms:.0f}" if run.latency else _NONE),
            _both(result, lambda run: f"{run.cpu.per_pod:.2f}"),
        )
        for result in results
    ]
    return f"From creation to binding at fixed rates, {_BOTH}", columns, rows


def _others(results: list[Result]) -> Iterator[_Row]:
    for name in SCHEDULERS:
        for result in results:
            run = result.run(name)
            if name in (KUBE_SCHEDULER, MOORING) or run is None:
                continue
            kube = result.run(KUBE_SCHEDULER)
            ratio = run.pods_per_second / kube.pods_per_second if kube is not None else None
            yield (
                name,
                f"{result.workload}, {result.nodes:,} nodes",
                f"{run.bound:,}",
                f"{run.pods_per_second:,.0f}",
                f"{times(ratio)} times" if ratio is not None else _NONE,
                f"{run.cpu.per_pod:.2f}",
            )


def _qualities(results: list[Result]) -> Iterator[_Row]:
    for result in results:
        if any(run.quality is not None for run in result.runs):
            yield (
                result.workload,
                f"{result.nodes:,}",
                result.way,
                _both(result, _quality(lambda one: f"{100 * one.cpu_deviation:.2f}")),
                _both(result, _quality(lambda one: f"{100 * one.cpu_most:.0f}")),
                _both(result, _quality(lambda one: f"{one.nodes_used:,}")),
                _both(result, _quality(_zones)),
            )


def _quality(show: Callable[[Quality], str]) -> Callable[[Run], str]:
    return lambda run: show(run.quality) if run.quality is not None else _NONE


def _zones(quality: Quality) -> str:
    return _NONE if quality.zone_difference is None else f"{quality.zone_difference:,}"


def _memory(found: Found) -> Part:
    columns = ("scheduler", "nodes", "pods", "leader", "its peak", "follower", "its peak")
    rows: list[_Row] = [
        (
            one.scheduler,
            f"{one.nodes:,}",
            f"{one.pods:,}",
            f"{one.leader_mb:.0f}",
            f"{one.leader_peak_mb:.0f}",
            f"{one.follower_mb:.0f}",
            f"{one.follower_peak_mb:.0f}",
        )
        for one in found.footprints
    ]
    return "Memory of two replicas, MB", columns, rows


def _limits(limits: list[Limit]) -> Part:
    columns = (
        "workload", "nodes", "pods", "creates/s", "binds/s", "binds with an event each/s",
        "creates and binds/s",
    )  # fmt: skip
    rows: list[_Row] = [
        (
            limit.workload,
            f"{limit.nodes:,}",
            f"{limit.pods:,}",
            f"{limit.creates_per_second:,.0f}",
            f"{limit.binds_per_second:,.0f}",
            _NONE if limit.events_per_second is None else f"{limit.events_per_second:,.0f}",
            f"{limit.both_per_second:,.0f}",
        )
        for limit in limits
    ]
    return "The API server without a scheduler", columns, rows


def _official(result: Result) -> str:
    if result.official_pods is None:
        return "the same"
    return f"{result.official_pods:,}" if result.official_pods else _NONE


def _rates(result: Result) -> tuple[str, str, str]:
    ratio = "" if result.ratio is None else times(result.ratio)
    return _rate(result, KUBE_SCHEDULER), _rate(result, MOORING), ratio


def _rate(result: Result, scheduler: str) -> str:
    run = result.run(scheduler)
    if run is None:
        return _NONE
    return f"{run.pods_per_second:,.0f}" + ("" if result.complete(run) else "*")


def _share(result: Result, most: float | None) -> str:
    if most is None:
        return _NONE
    return _both(result, lambda run: f"{run.pods_per_second / most:.2f}")


def _both(result: Result, show: Callable[[Run], str]) -> str:
    runs = (result.run(KUBE_SCHEDULER), result.run(MOORING))
    return " / ".join(_NONE if run is None else show(run) for run in runs)


def _seconds(seconds: float | None) -> str:
    return _NONE if seconds is None else f"{seconds:.1f}"


def _decimals(value: float | None) -> str:
    return _NONE if value is None else f"{value:.2f}"
