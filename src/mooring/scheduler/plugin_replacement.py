"""Other plugins for the profiles of a core that schedules already, as when a policy is reloaded.

`prepare` makes them and changes nothing, so that whoever calls it can still say no; `install`, for
the core, puts all of them in place or none. Plugins that are not replaced stay the same objects,
with all they know. What follows for the pods is the core's business.
"""

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from mooring.config.profiles import Profile
from mooring.config.registry import Registry
from mooring.config.runtimes import make_plugins, points_of
from mooring.framework.extension_points import Points
from mooring.framework.hook import Hook, RequeueHint
from mooring.framework.runtime import Runtime
from mooring.scheduler.requeue_hints import rejectors_hints


class NewPlugins(NamedTuple):
    """The plugins of one profile, ready to be installed.

    Attributes:
        points: those at each extension point.
        plugins: all of them by name.
        hints: the requeue hints of those that may reject a pod, by name.
    """

    points: Points
    plugins: Mapping[str, Hook]
    hints: Mapping[str, Sequence[RequeueHint]]


def prepare(
    runtimes: Mapping[str, Runtime],
    profiles: Mapping[str, Profile],
    registry: Registry,
    replaced: Set[str],
) -> dict[str, NewPlugins]:
    """Make the plugins of all profiles; nobody runs them yet.

    Args:
        runtimes: what runs now, by scheduler name.
        profiles: the profiles as they shall be, of the same names.
        registry: makes the plugins.
        replaced: the names of plugins that are made anew; the others are kept.

    Raises:
        InputError: a plugin cannot be made, or cannot say what would help its pods.
    """
    found = {}
    for name, profile in profiles.items():
        runtime = runtimes[name]
        kept = {one: plugin for one, plugin in runtime.plugins.items() if one not in replaced}
        plugins = make_plugins(profile, registry, runtime, kept)
        points = points_of(profile, plugins)
        found[name] = NewPlugins(points, plugins, rejectors_hints(points))
    return found


def install(runtimes: Mapping[str, Runtime], profiles: Mapping[str, NewPlugins]) -> None:
    """Put prepared plugins in place; if one cannot be used, everything is as it was.

    Raises:
        Exception: whatever a plugin raises when it is looked at.
    """
    before = {name: (runtime.points, runtime.plugins) for name, runtime in runtimes.items()}
    try:
        for name, new in profiles.items():
            runtimes[name].install(name, new.points, new.plugins)
    except BaseException:
        for name, (points, plugins) in before.items():
            runtimes[name].install(name, points, plugins)
        raise
