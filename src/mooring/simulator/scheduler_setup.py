"""Which scheduler is simulated: its profiles and plugins, made of a configuration and policies."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mooring.config.configuration import read_configuration
from mooring.config.profiles import Profile
from mooring.config.registry import Registry
from mooring.config.runtimes import build_profiles
from mooring.errors import InputError
from mooring.framework.policy import Policy
from mooring.plugins.in_tree import IN_TREE, default_registry
from mooring.scheduler.queue import QueueSettings


class SchedulerSetup(NamedTuple):
    """A scheduler that can be put on a cluster.

    Attributes:
        name: for people.
        profiles: by scheduler name.
        registry: makes the profiles' plugins.
        queue: how long pods wait.
        keep_source: whether plugins may read fields that scheduling does not.
    """

    name: str
    profiles: Mapping[str, Profile]
    registry: Registry
    queue: QueueSettings
    keep_source: bool = False


def set_up_scheduler(
    config: Mapping[str, Any] | None = None, policies: Sequence[Policy] = (), name: str = ""
) -> SchedulerSetup:
    """Read a configuration.

    Args:
        config: the parsed ``KubeSchedulerConfiguration``; None is the default one.
        policies: what else decides.
        name: for people; empty makes one.

    Raises:
        InputError: the configuration is wrong, does not fit the policies, or has extenders.
    """
    registry = default_registry()
    configuration = read_configuration(config)
    if configuration.extenders:
        raise InputError(
            "the configuration has extenders, which a simulation cannot call: "
            "remove them, or give it their policy instead"
        )
    profiles = build_profiles(config, registry, policies)
    own = {plugin.name for plugin in IN_TREE}
    foreign = any(one not in own for profile in profiles.values() for one in profile.plugins)
    queue = QueueSettings(
        initial_backoff=configuration.pod_initial_backoff_seconds,
        max_backoff=configuration.pod_max_backoff_seconds,
    )
    made = name or ", ".join(one.name for one in policies) or "default"
    return SchedulerSetup(made, profiles, registry, queue, foreign)
