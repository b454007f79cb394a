"""What `make bench-all` runs, step by step; called by `__main__`.

Steps are small, so that one that fails can be run again alone. A step of schedulers adds to what
earlier ones found.
"""

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.command import BenchError
from benchmarks.scheduler.claim_workloads import ALL_WORKLOADS
from benchmarks.scheduler.plan import MEMORY

CORE, SCHEDULER, EXTENDER, PAGES = "core", "scheduler", "extender", "pages"


class Step(NamedTuple):
    """A run of one benchmark.

    Attributes:
        name: what it is called; the part before a slash names all such steps.
        benchmark: which one.
        arguments: its own, without those that all have.
    """

    name: str
    benchmark: str
    arguments: tuple[str, ...] = ()


def _live() -> list[Step]:
    steps = []
    for workload in ALL_WORKLOADS.values():
        parts = ("drain", "create") if workload.claims is None else ("claims",)
        for nodes in workload.nodes:
            arguments = ("--part", *parts, "--workload", workload.name)
            name = f"{SCHEDULER}-{nodes}/{workload.name}"
            steps.append(Step(name, SCHEDULER, (*arguments, "--nodes", str(nodes))))
    steps += [
        Step(f"{SCHEDULER}-{part}", SCHEDULER, ("--part", part))
        for part in ("rates", "sampling", "policy", "limited", MEMORY)
    ]
    return sorted(steps, key=lambda step: not step.name.endswith("/SchedulingBasic"))


#: All steps, in order.
STEPS = (Step(CORE, CORE), *_live(), Step(EXTENDER, EXTENDER), Step(PAGES, PAGES))
#: What all of them are called without what stands after a slash.
NAMES = tuple(dict.fromkeys(step.name.partition("/")[0] for step in STEPS))


def chosen(names: Sequence[str]) -> list[Step]:
    """The steps with these names, all if there are none.

    Raises:
        BenchError: there is no such step.
    """
    found = []
    for name in names:
        of = [step for step in STEPS if name in (step.name, step.name.partition("/")[0])]
        if not of:
            raise BenchError(f"{name} is none of the steps {', '.join(NAMES)}.")
        found += of
    return [step for step in STEPS if step in found] if names else list(STEPS)
