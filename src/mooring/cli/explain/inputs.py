"""What ``moor explain`` decides with: the cluster, the configuration, the policy.

Reads files, a live cluster and a running scheduler's ``/configz``. Whatever is wrong with them is
an `InputError` that says where.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mooring.cli.cluster_reader import read_live
from mooring.cli.explain.configz_reader import read_configz, without_credentials
from mooring.cli.input_files import read_mapping, read_snapshot
from mooring.errors import InputError
from mooring.framework.loading import load

if TYPE_CHECKING:
    from mooring.config.types import Extender
    from mooring.explaining.explainer import Decide, Explainer
    from mooring.framework.policy import Policy
    from mooring.kube.cluster_config import ClusterConfig

#: Under this name a scheduler's ``/configz`` has its configuration.
_COMPONENT: Final = "componentconfig"


def make_explainer(
    place: "ClusterConfig | str",
    settings: Mapping[str, Any] | None,
    policy: "Policy | None",
    before: Callable[[], None],
    decide: "Decide | None" = None,
    *,
    keep_source: bool = False,
) -> "Explainer":
    """Read the cluster.

    Args:
        place: a live cluster, or where the snapshot is.
        settings: the parsed configuration; None is the default one.
        policy: a policy that takes part.
        before: called before each decision.
        decide: decides and notes everything; without extenders if None.
        keep_source: keep every field of the objects in any case.

    Raises:
        InputError: the cluster cannot be read.
    """
    from mooring.explaining.explainer import Explainer

    # A policy and an extender may read any field.
    keep = keep_source or policy is not None or decide is not None
    snapshot = (
        read_snapshot(place, keep_source=keep)
        if isinstance(place, str)
        else read_live(place, keep_source=keep)
    )
    begun = time.monotonic_ns()
    return Explainer(
        snapshot,
        settings,
        policy=policy,
        # Nobody knows how old a file is: nothing in it has timed out, but a search may do so.
        now_ns=(lambda: time.monotonic_ns() - begun) if isinstance(place, str) else time.time_ns,
        before=before,
        decide=decide,
    )


def read_policy(wanted: str | None) -> "Policy | None":
    """The policy that takes part."""
    return load(wanted) if wanted is not None else None


def read_settings(config: str | None, policy: "Policy | None") -> dict[str, Any] | None:
    """The scheduler's configuration, from a file or a running scheduler; None if none is given.

    Raises:
        InputError: it cannot be read, or something in it is wrong.
    """
    from mooring.config.runtimes import build_profiles
    from mooring.plugins.in_tree import default_registry

    if config is None:
        return None
    of_scheduler = config.startswith(("http://", "https://"))
    settings = read_configz(config) if of_scheduler else read_mapping(Path(config))
    if isinstance(settings.get(_COMPONENT), dict):
        settings = settings[_COMPONENT]
    try:
        build_profiles(settings, default_registry(), [policy] if policy is not None else [])
    except InputError as error:
        raise InputError(f"{without_credentials(config)}: {error}") from error
    return settings


def extenders_of(settings: Mapping[str, Any] | None) -> "tuple[Extender, ...]":
    """The extenders of a configuration that was read."""
    from mooring.config.configuration import read_configuration

    return read_configuration(settings).extenders if settings is not None else ()


def not_asked(extenders: "tuple[Extender, ...]", *, never: bool = False) -> str:
    """The sentence about extenders that were not asked; empty if there are none.

    Args:
        extenders: the extenders.
        never: the command has no option to ask them.
    """
    names = [without_credentials(one.url_prefix) for one in extenders]
    if not names:
        return ""
    if never:
        what = "extender" if len(names) == 1 else "extenders"
        return f"the {what} {', '.join(names)} of the configuration take no part in this answer"
    if len(names) == 1:
        return f"the extender {names[0]} was not called; use --ask-extenders to call it"
    listed = " and ".join((", ".join(names[:-1]), names[-1]))
    return f"the extenders {listed} were not called; use --ask-extenders to call them"
