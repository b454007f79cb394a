"""The goals of `moor run`, checked against a run; called by `__main__`.

A goal is about what was measured: a part that was left out has none. What is not met says so.
"""

from collections.abc import Iterator

from benchmarks.reporting import Goal, times
from benchmarks.scheduler.contenders import KUBE_SCHEDULER, MOORING, POLICY
from benchmarks.scheduler.results import Found, Result
from benchmarks.scheduler.run import Run
from benchmarks.scheduler.ways import CREATE, DRAIN, RATES, at_rate
from benchmarks.scheduler.workloads import LARGE, TWO

PLAIN = "SchedulingBasic"
#: Drained pods a second, at least so many times those of kube-scheduler.
LEAST_RATIO = {
    PLAIN: 3.0,
    "SchedulingPreferredPodAffinity": 4.0,
    "PreferredTopologySpreading": 4.0,
    "TopologySpreading": 5.0,
    "SchedulingPodAffinity": 6.0,
    "SchedulingPodAntiAffinity": 6.0,
}
#: The CPU of a drained pod, at most so much of kube-scheduler's.
MAX_CPU_RATIO = 0.10
CPU_WORKLOADS = ("SchedulingPodAffinity", "SchedulingPodAntiAffinity", "TopologySpreading")
MAX_PLAIN_CPU_MS = 0.35
#: Drained pods a second, at least this share of what a loop that only binds can do.
LEAST_PLAIN_SHARE, LEAST_SHARE = 0.75, 0.65
#: Created and bound pods a second, at least this share of a loop that does both.
LEAST_CREATE_SHARE = 0.85
#: Updates may cost so much more of the pods a second than they cost the loop that only binds.
MAX_UPDATES_LOSS = 0.10
#: Pods with claims a second: so many times those of kube-scheduler, or such a share of what a loop
#: can do that makes the same writes.
LEAST_CLAIMS_RATIO, LEAST_CLAIMS_SHARE = 5.0, 0.7
UPDATED, START_UP = "SchedulingWithUpdates", "StartUp"
MAX_FIRST_RATIO = 1.5
MAX_MEMORY_RATIO = 0.75


def goals(found: Found) -> list[Goal]:
    """The goals about what was measured."""
    return [
        *_cpu(found),
        *_drained(found),
        *_events(found),
        *_created(found),
        *_rates(found),
        *_claims(found),
        *_policy(found),
        *_updates(found),
        *_first(found),
        *_memory(found),
    ]


def _whole(result: Result | None, scheduler: str) -> Run | None:
    """A run in which all pods were bound."""
    run = result.run(scheduler) if result is not None else None
    return run if run is not None and result is not None and result.complete(run) else None


def _pair(found: Found, workload: str, way: str = DRAIN) -> tuple[Run, Run] | None:
    """Whole runs of kube-scheduler and of mooring."""
    result = found.result(workload, LARGE, way)
    kube, mooring = _whole(result, KUBE_SCHEDULER), _whole(result, MOORING)
    return None if kube is None or mooring is None else (kube, mooring)


def _cpu(found: Found) -> Iterator[Goal]:
    run = _whole(found.result(PLAIN, LARGE, DRAIN), MOORING)
    if run is not None:
        yield Goal(
            goal=f"{PLAIN}, drained: at most {MAX_PLAIN_CPU_MS} ms of CPU a pod after the start",
            measured=f"{run.cpu.per_pod:.2f} ms",
            met=run.cpu.per_pod <= MAX_PLAIN_CPU_MS,
        )
    for workload in CPU_WORKLOADS:
        pair = _pair(found, workload)
        if pair is not None:
            kube, mooring = pair
            ratio = mooring.cpu.per_pod / kube.cpu.per_pod
            yield Goal(
                goal=f"{workload}, drained: at most {MAX_CPU_RATIO} of kube-scheduler's CPU a pod",
                measured=f"{ratio:.2f}",
                met=ratio <= MAX_CPU_RATIO,
            )


def _drained(found: Found) -> Iterator[Goal]:
    for workload, least in LEAST_RATIO.items():
        result, pair = found.result(workload, LARGE, DRAIN), _pair(found, workload)
        if result is not None and len(result.runs) > 1 and pair is None:
            yield Goal(f"{workload}, drained: all pods bound", "not all pods were bound", False)
        if pair is not None:
            ratio = pair[1].pods_per_second / pair[0].pods_per_second
            yield Goal(
                goal=f"{workload}, drained: at least {least:g} times kube-scheduler's pods/s",
                measured=f"{times(ratio)} times",
                met=ratio >= least,
            )
        mooring, limit = _whole(result, MOORING), found.limit(workload, LARGE)
        if mooring is not None and limit is not None:
            needed = LEAST_PLAIN_SHARE if workload == PLAIN else LEAST_SHARE
            share = mooring.pods_per_second / limit.binds_per_second
            yield Goal(
                goal=f"{workload}, drained: at least {needed} of a loop that only binds",
                measured=f"{share:.2f}",
                met=share >= needed,
            )


def _events(found: Found) -> Iterator[Goal]:
    for workload in LEAST_RATIO:
        pair = _pair(found, workload)
        if pair is not None:
            kube, mooring = pair
            seconds = mooring.events.seconds if mooring.events is not None else None
            yield Goal(
                goal=f"{workload}, drained: all events written before kube-scheduler has bound all",
                measured=f"{kube.seconds:.1f} s, "
                + (f"{seconds:.1f} s" if seconds is not None else "events are missing"),
                met=seconds is not None and seconds <= kube.seconds,
            )


def _created(found: Found) -> Iterator[Goal]:
    for workload in LEAST_RATIO:
        run = _whole(found.result(workload, LARGE, CREATE), MOORING)
        limit = found.limit(workload, LARGE)
        if run is not None and limit is not None:
            share = run.pods_per_second / limit.both_per_second
            yield Goal(
                goal=f"{workload}, created: at least {LEAST_CREATE_SHARE} of a loop that creates "
                "and binds",
                measured=f"{share:.2f}",
                met=share >= LEAST_CREATE_SHARE,
            )


def _rates(found: Found) -> Iterator[Goal]:
    for workload in TWO:
        for rate in RATES:
            result = found.result(workload, LARGE, at_rate(rate))
            kube = result.run(KUBE_SCHEDULER) if result is not None else None
            mooring = result.run(MOORING) if result is not None else None
            if kube is None or mooring is None or not kube.latency or not mooring.latency:
                continue
            ours, theirs = mooring.latency, kube.latency
            yield Goal(
                goal=f"{workload}, {rate} pods a second: p50, p99 and max below kube-scheduler's",
                measured=f"{ours.p50_ms:.1f}, {ours.p99_ms:.1f}, {ours.max_ms:.0f} ms to "
                f"{theirs.p50_ms:.1f}, {theirs.p99_ms:.1f}, {theirs.max_ms:.0f} ms",
                met=ours.p50_ms < theirs.p50_ms
                and ours.p99_ms < theirs.p99_ms
                and ours.max_ms < theirs.max_ms,
            )


def _claims(found: Found) -> Iterator[Goal]:
    for result in found.results:
        if not result.claims or len(result.runs) < len((KUBE_SCHEDULER, MOORING)):
            continue
        where = f"{result.workload}, {result.nodes:,} nodes"
        kube, mooring = _whole(result, KUBE_SCHEDULER), _whole(result, MOORING)
        if kube is None or mooring is None:
            yield Goal(f"{where}: all pods bound", "not all pods were bound", False)
            continue
        ratio = mooring.pods_per_second / kube.pods_per_second
        most = found.most(result)
        share = mooring.pods_per_second / most if most is not None else 0.0
        yield Goal(
            goal=f"{where}: at least {LEAST_CLAIMS_RATIO:g} times kube-scheduler's pods/s, or "
            f"{LEAST_CLAIMS_SHARE} of a loop with the same writes",
            measured=f"{times(ratio)} times, {share:.2f}",
            met=ratio >= LEAST_CLAIMS_RATIO or share >= LEAST_CLAIMS_SHARE,
        )


def _policy(found: Found) -> Iterator[Goal]:
    for workload in TWO:
        result = found.result(workload, LARGE, DRAIN)
        kube, policy = _whole(result, KUBE_SCHEDULER), _whole(result, POLICY)
        if kube is not None and policy is not None:
            ratio = policy.pods_per_second / kube.pods_per_second
            yield Goal(
                goal=f"{workload}, drained: with the README's policy faster than kube-scheduler",
                measured=f"{times(ratio)} times",
                met=ratio > 1,
            )


def _updates(found: Found) -> Iterator[Goal]:
    calm, busy = (_pair(found, workload) for workload in (PLAIN, UPDATED))
    without, meanwhile = (found.limit(workload, LARGE) for workload in (PLAIN, UPDATED))
    if calm is None or busy is None or without is None or meanwhile is None:
        return
    loss = 1 - busy[1].pods_per_second / calm[1].pods_per_second
    bare = 1 - meanwhile.binds_per_second / without.binds_per_second
    yield Goal(
        goal=f"{UPDATED}, drained: at most {MAX_UPDATES_LOSS:.0%} more loss than a loop that binds",
        measured=f"{loss:.0%} to {bare:.0%}",
        met=loss <= bare + MAX_UPDATES_LOSS,
    )


def _first(found: Found) -> Iterator[Goal]:
    pair = _pair(found, START_UP)
    if pair is None or pair[0].first_seconds is None or pair[1].first_seconds is None:
        return
    ratio = pair[1].first_seconds / pair[0].first_seconds
    yield Goal(
        goal=f"first binding after the start on {LARGE:,} nodes with 20,000 pods: at most "
        f"{MAX_FIRST_RATIO} times kube-scheduler's time",
        measured=f"{times(ratio)} times",
        met=ratio <= MAX_FIRST_RATIO,
    )


def _memory(found: Found) -> Iterator[Goal]:
    by_name = {one.scheduler: one for one in found.footprints if one.nodes == LARGE}
    kube, mooring = by_name.get(KUBE_SCHEDULER), by_name.get(MOORING)
    if kube is None or mooring is None:
        return
    for what, ours, theirs in (
        ("leader", mooring.leader_peak_mb, kube.leader_peak_mb),
        ("follower", mooring.follower_peak_mb, kube.follower_peak_mb),
    ):
        yield Goal(
            goal=f"memory of the {what} with {mooring.pods:,} pods: at most {MAX_MEMORY_RATIO} "
            "times kube-scheduler's",
            measured=f"{times(ours / theirs)} times",
            met=ours / theirs <= MAX_MEMORY_RATIO,
        )
