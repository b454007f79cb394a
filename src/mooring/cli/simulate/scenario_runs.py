"""Running a scenario many times: each scheduler with each seed, in this process or in several.

Every run reads its files and loads its policy anew, so that no run depends on another one, and the
results are the same in however many processes. Ctrl-C ends runs between two of their steps; what
was complete before stays.
"""

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mooring.cli.hook_limit import hook_deadline
from mooring.cli.simulate.inputs import load_scenario, set_up, sources_of
from mooring.cli.simulate.policy_output import policies_beside_result
from mooring.cli.simulate.scheduler_choices import SchedulerChoice
from mooring.cli.standard_streams import NoteHandler
from mooring.errors import InputError, MooringError
from mooring.seeds import seed_policies, seeded_streams

if TYPE_CHECKING:
    from mooring.simulator.result import SimulationResult
    from mooring.simulator.scenario.scenario_run import ScenarioRun

#: So often somebody looks whether Ctrl-C was pressed.
_SECONDS = 0.2


class RunRequest(NamedTuple):
    """One run of a scenario.

    Attributes:
        scenario: the scenario's file.
        scheduler: who decides.
        seed: of everything that is drawn.
        until: when it ends; None for when the scenario says.
        hook_timeout: so many seconds a plugin call may take.
    """

    scenario: Path
    scheduler: SchedulerChoice
    seed: int
    until: float | None
    hook_timeout: float


class _Failure(NamedTuple):
    """Why a run in another process failed: errors of ours do not all travel between processes."""

    message: str
    is_input: bool


def prepare(request: RunRequest) -> "ScenarioRun":
    """A scenario that is ready to run.

    Raises:
        InputError: something in its files is wrong.
    """
    from mooring.simulator.scenario.scenario_run import ScenarioRun

    read = load_scenario(request.scenario)
    choice = request.scheduler
    seed_policies(request.seed)
    setup = set_up(choice.config, choice.policy, choice.name)
    return ScenarioRun(read, setup, seeded_streams(request.seed), sources_of(request.scenario))


def play(
    request: RunRequest, go_on: Callable[[float], bool] = lambda _: True
) -> "SimulationResult | None":
    """Run it; None if it was broken off.

    Raises:
        MooringError: a policy failed.
    """
    run = prepare(request)
    with hook_deadline(request.hook_timeout) as deadline, policies_beside_result():
        run.simulation.shell.call_before_decisions(deadline.begin)
        finished = run.run(request.until, go_on)
    return run.result(request.scenario.stem, request.seed) if finished else None


def play_all(
    requests: Iterable[RunRequest], jobs: int, interrupted: Callable[[], bool]
) -> Iterator["SimulationResult"]:
    """The results in the order of the requests, until Ctrl-C is noticed.

    Raises:
        MooringError: a policy failed.
    """
    if jobs > 1:
        yield from _in_processes(list(requests), jobs, interrupted)
        return
    for request in requests:
        result = play(request, lambda _: not interrupted())
        if result is None or interrupted():
            return
        yield result


def _in_processes(
    requests: list[RunRequest], jobs: int, interrupted: Callable[[], bool]
) -> Iterator["SimulationResult"]:
    context = get_context("spawn")
    stop = context.Event()
    workers = min(jobs, len(requests))
    pool = ProcessPoolExecutor(workers, context, _begin, (stop,))
    try:
        futures: list[Future[bytes | _Failure | None]] = []
        for place in range(len(requests)):
            # Results that are not fetched yet are few, however many runs there are.
            while len(futures) < min(len(requests), place + 2 * workers):
                with _ignoring_interruption():  # a new process inherits that
                    futures.append(pool.submit(_play_there, requests[len(futures)]))
            result = _fetched(futures[place], interrupted)
            if result is None:
                return
            futures[place] = Future()
            yield result
    except BrokenProcessPool:
        raise MooringError(
            "a process of the simulation ended unexpectedly, perhaps for lack of memory; "
            "use fewer --jobs"
        ) from None
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


@contextmanager
def _ignoring_interruption() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _fetched(
    future: "Future[bytes | _Failure | None]", interrupted: Callable[[], bool]
) -> "SimulationResult | None":
    from mooring.simulator.result import from_json

    while not future.done():
        if interrupted():
            return None
        wait([future], _SECONDS, FIRST_COMPLETED)
    answer = future.result()
    if isinstance(answer, _Failure):
        raise (InputError if answer.is_input else MooringError)(answer.message)
    return None if answer is None else from_json(answer)


# -- in another process

_stop: Event | None = None


def _begin(stop: Event) -> None:
    """Begin a process: Ctrl-C is the first one's business, which says when to stop."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    global _stop  # noqa: PLW0603 - a process of a pool has no other place
    _stop = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.lastResort = NoteHandler(logging.WARNING)


def _end_with_parent() -> None:
    """End when the first process is gone, however it ended: nobody waits for a result then."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _play_there(request: RunRequest) -> bytes | _Failure | None:
    from mooring.simulator.result import to_json

    try:
        result = play(request, lambda _: _stop is None or not _stop.is_set())
    except MooringError as error:
        return _Failure(str(error), isinstance(error, InputError))
    return None if result is None else to_json(result)
