"""What decides in commands that ask about a cluster: read once, with a time limit for plugins.

``moor explain``, ``moor whatif``, ``moor capacity`` and ``moor rebalance`` begin with it, and say
with it what was left out.
"""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mooring.cli.standard_streams import print_error, print_note
from mooring.errors import InputError, PluginError, PolicyError
from mooring.wording import are, counted

if TYPE_CHECKING:
    from mooring.explaining.explainer import Explainer
    from mooring.kube.cluster_config import ClusterConfig
    from mooring.snapshot.snapshot import Snapshot

_SHOWN_PROBLEMS = 5


class DecisionSettings(NamedTuple):
    """What decides.

    Attributes:
        place: a live cluster, or where the snapshot is.
        config: the configuration, a file or an address.
        policy: a policy that takes part.
        hook_timeout: how many seconds a plugin has.
        ask_extenders: whether the configuration's extenders are asked; None if the command never
            asks them.
        keep_source: keep every field of the objects, for policies that come later.
    """

    place: "ClusterConfig | str"
    config: str | None
    policy: str | None
    hook_timeout: float
    ask_extenders: bool | None = None
    keep_source: bool = False


def only_one_cluster(snapshot: str | None, kubeconfig: Path | None, context: str | None) -> None:
    """Check that a snapshot or a live cluster is given, and not both.

    Raises:
        InputError: both are.
    """
    if snapshot is not None and (kubeconfig is not None or context is not None):
        other = "--kubeconfig" if kubeconfig is not None else "--context"
        raise InputError(f"--snapshot and {other} are mutually exclusive; use one of them")


@contextmanager
def explainer_for(settings: DecisionSettings) -> Iterator["Explainer"]:
    """The explainer, with a time limit for plugins; their failures are wrong input."""
    from mooring.cli.explain import inputs
    from mooring.cli.hook_limit import hook_limit

    # Thousands of objects are made and none of them is garbage until the end.
    gc.disable()
    try:
        policy = inputs.read_policy(settings.policy)
        read = inputs.read_settings(settings.config, policy)
        extenders = inputs.extenders_of(read)
        decide = None
        if extenders and settings.ask_extenders:
            from mooring.cli.explain.extender_questions import asking

            decide = asking(extenders)
        elif extenders:
            print_error(inputs.not_asked(extenders, never=settings.ask_extenders is None))
        with hook_limit(settings.hook_timeout) as deadline:
            yield inputs.make_explainer(
                settings.place,
                read,
                policy,
                deadline.begin,
                decide,
                keep_source=settings.keep_source,
            )
    except (PluginError, PolicyError) as error:
        raise InputError(told(error)) from error
    finally:
        gc.enable()


def told(error: Exception) -> str:
    """What is wrong with a plugin, and what to do."""
    from mooring.process.deadline import was_interrupted

    advice = "; fix it, or raise --hook-timeout" if was_interrupted(error) else ""
    return f"{error}{advice}"


def report_skipped(snapshot: "Snapshot") -> None:
    """Say what a snapshot had that could not be used."""
    skipped = snapshot.skipped
    if not skipped:
        return
    number = len(skipped)
    print_error(f"{counted(number, 'object')} {are(number)} left out:")
    for one in skipped[:_SHOWN_PROBLEMS]:
        print_note(f"  {one.problem}")
    if number > _SHOWN_PROBLEMS:
        print_note(f"  and {number - _SHOWN_PROBLEMS} more (-o json lists all)")


def report_failed(failed: Sequence[PluginError]) -> None:
    """Say which plugins could not give details."""
    for sentence in dict.fromkeys(map(told, failed)):
        print_error(f"{sentence}; the explanation leaves it out")
