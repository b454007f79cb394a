"""Making a profile's plugins and putting them into a runtime.

Called by whoever runs decisions: the scheduler and `explain`. Each plugin is made once
for a profile, whatever the number of extension points it has there.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mooring.config.configuration import read_configuration
from mooring.config.policy_say import WeightBeside, policy_weights
from mooring.config.profiles import Profile, profiles_from
from mooring.config.registry import Registry, extension_points_of
from mooring.errors import InputError
from mooring.framework import foreign, hook
from mooring.framework.extension_points import PluginAtPoint, Points
from mooring.framework.handle import NOTHING_ONGOING, Ongoing
from mooring.framework.policy import Policy
from mooring.framework.policy_plugin import policy_plugin
from mooring.framework.runtime import Runtime
from mooring.framework.what_ifs import PluginHandle
from mooring.state.cluster import Cluster


def build_runtime(
    profile: Profile,
    registry: Registry,
    cluster: Cluster,
    now_ns: Callable[[], int],
    choose: Callable[[int], int] = lambda _: 0,
    ongoing: Ongoing = NOTHING_ONGOING,
) -> Runtime:
    """A runtime with the plugins of one profile.

    Args:
        profile: which plugins run where, with their arguments.
        registry: makes the plugins.
        cluster: the state they decide on.
        now_ns: the clock, nanoseconds since 1970.
        choose: picks one of so many equals.
        ongoing: the scheduler's pods that wait and preemptions in progress.

    Raises:
        InputError: a plugin cannot be made.
    """
    runtime = Runtime(cluster, now_ns, choose, ongoing)
    plugins = make_plugins(profile, registry, runtime)
    runtime.install(profile.scheduler_name, points_of(profile, plugins), plugins)
    return runtime


def make_plugins(
    profile: Profile, registry: Registry, runtime: Runtime, kept: Mapping[str, hook.Hook] = {}
) -> dict[str, hook.Hook]:
    """The plugins of a profile by name, not installed yet.

    Args:
        profile: which ones.
        registry: makes them.
        runtime: what they have as their handle.
        kept: plugins of the runtime that need not be made again.

    Raises:
        InputError: a plugin cannot be made.
    """
    return {
        name: kept[name] if name in kept else _made(name, profile, registry, runtime)
        for name in profile.plugins
    }


def points_of(profile: Profile, plugins: Mapping[str, hook.Hook]) -> Points:
    """The plugins at the extension points of a profile, with their weights."""
    return {
        point: [PluginAtPoint(one.name, plugins[one.name], one.weight) for one in enabled]
        for point, enabled in profile.points.items()
    }


def _made(name: str, profile: Profile, registry: Registry, runtime: Runtime) -> hook.Hook:
    guard = PluginHandle(runtime)
    own = not foreign.is_foreign(registry.entry(name).factory)
    args, path = profile.args.get(name), profile.args_paths.get(name, "")
    plugin = registry.make(name, args, runtime if own else guard, path)
    guard.plain = not foreign.is_foreign(type(plugin))
    try:
        foreign.call(plugin.attach, runtime if guard.plain else guard)
    except Exception as error:
        said = " ".join(foreign.tell(error).text.split())
        raise InputError(f"plugin {name} cannot be used: its attach raised {said}") from error
    return plugin


def build_profiles(
    config: Mapping[str, Any] | None, registry: Registry, policies: Iterable[Policy] = ()
) -> dict[str, Profile]:
    """The profiles of a configuration by scheduler name, with policies as plugins of their own.

    Args:
        config: the parsed ``KubeSchedulerConfiguration``; None is the default one.
        registry: the plugins there are; the policies are added.
        policies: each is enabled in every profile after the default plugins, with a weight that
            gives it its say (`policy_say`); the configuration may weigh, move or disable it by its
            name.

    Raises:
        InputError: the configuration is wrong, or a policy has the name of a plugin.
    """
    extra: dict[str, WeightBeside] = {}
    for policy in policies:
        if policy.rules:
            registry.add(policy_plugin(policy), policy.name)
        for plugin in policy.plugins:
            points = _own_points(plugin)
            registry.add(lambda plugin=plugin: plugin, hook.plugin_name(plugin), points=points)
        extra |= policy_weights(policy)
    return profiles_from(read_configuration(config), registry, extra)


def _own_points(plugin: hook.Hook) -> tuple[str, ...]:
    """Where a policy's plugin runs itself; its simple hooks run among the policy's functions."""
    every = extension_points_of(type(plugin))
    if isinstance(plugin, hook.PREPARING):
        return every
    return tuple(point for point in every if point not in ("filter", "score", "bind"))
