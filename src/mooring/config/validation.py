"""What kube-scheduler rejects in a configuration whose fields are well formed.

Called by `read_configuration` alone. Names of plugins and their arguments are not looked at: only
the registry knows which there are.
"""

# parity v1.36.4: apis/config/validation/validation.go, component-base/config/validation

from collections.abc import Iterator
from typing import Final

from mooring.config.strict_decoding import FieldProblem, shown
from mooring.config.types import (
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    PluginSet,
)
from mooring.model.label_syntax import is_label_key
from mooring.model.resource_names import is_extended

#: Plugins that Kubernetes removed, and what does their work now.
REMOVED: Final = {
    "AzureDiskLimits": "NodeVolumeLimits",
    "CinderLimits": "NodeVolumeLimits",
    "EBSLimits": "NodeVolumeLimits",
    "GCEPDLimits": "NodeVolumeLimits",
}
#: A lease is renewed with up to this much delay.
_JITTER: Final = 1.2


def validate(configuration: KubeSchedulerConfiguration) -> Iterator[FieldProblem]:
    """Every mistake, in the order of the fields."""
    if configuration.parallelism <= 0:
        yield _too_small("parallelism", configuration.parallelism, 1)
    yield from _leader_election(configuration.leader_election)
    if configuration.client_connection.burst < 0:
        yield _too_small("clientConnection.burst", configuration.client_connection.burst, 0)
    first, last = configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds
    if first <= 0:
        yield _too_small("podInitialBackoffSeconds", first, 1)
    if last < first:
        yield FieldProblem(
            "podMaxBackoffSeconds",
            f"{last} is less than podInitialBackoffSeconds: must be at least {first}",
        )
    yield from _profiles(configuration.profiles)
    yield from _extenders(configuration.extenders)


def _leader_election(election: LeaderElectionConfiguration) -> Iterator[FieldProblem]:
    if not election.leader_elect:
        return
    for name, duration in (
        ("leaseDuration", election.lease_duration),
        ("renewDeadline", election.renew_deadline),
        ("retryPeriod", election.retry_period),
    ):
        if duration.nanoseconds <= 0:
            yield FieldProblem(
                f"leaderElection.{name}", f"{duration} is invalid: must be greater than 0s"
            )
    if election.lease_duration <= election.renew_deadline:
        yield FieldProblem(
            "leaderElection.leaseDuration",
            f"{election.lease_duration} must be greater than renewDeadline, which is "
            f"{election.renew_deadline}",
        )
    # parity v1.36.4: client-go/tools/leaderelection/leaderelection.go rejects it at the start
    elif election.renew_deadline.seconds <= _JITTER * election.retry_period.seconds:
        yield FieldProblem(
            "leaderElection.renewDeadline",
            f"{election.renew_deadline} must be greater than {_JITTER} times retryPeriod, which is "
            f"{election.retry_period}",
        )
    if election.resource_lock != "leases":
        yield FieldProblem(
            "leaderElection.resourceLock",
            f"{shown(election.resource_lock)} is not supported: must be leases",
        )


def _profiles(profiles: tuple[KubeSchedulerProfile, ...]) -> Iterator[FieldProblem]:
    places: dict[str, int] = {}
    for place, profile in enumerate(profiles):
        path = f"profiles[{place}]"
        name = profile.scheduler_name
        if not name:
            yield FieldProblem(
                f"{path}.schedulerName", "required value is missing: every profile needs a name"
            )
        elif name in places:
            yield FieldProblem(
                f"{path}.schedulerName",
                f"{name!r} is already the name of profiles[{places[name]}]: use another",
            )
        places.setdefault(name, place)
        yield from _removed_plugins(path, profile)
        yield from _plugin_config(path, profile)
    yield from _one_queue_order(profiles)


def _removed_plugins(path: str, profile: KubeSchedulerProfile) -> Iterator[FieldProblem]:
    for point, plugins in profile.plugins.sets():
        for place, plugin in enumerate(plugins.enabled):
            if plugin.name in REMOVED:
                yield _removed(f"{path}.plugins.{point}.enabled[{place}].name", plugin.name)


def _plugin_config(path: str, profile: KubeSchedulerProfile) -> Iterator[FieldProblem]:
    seen: set[str] = set()
    for place, config in enumerate(profile.plugin_config):
        name_path = f"{path}.pluginConfig[{place}].name"
        if config.name in seen:
            yield FieldProblem(
                name_path, f"{config.name!r} occurs more than once: specify its args once"
            )
        seen.add(config.name)
        if config.name in REMOVED:
            yield _removed(name_path, config.name)


def _one_queue_order(profiles: tuple[KubeSchedulerProfile, ...]) -> Iterator[FieldProblem]:
    first = profiles[0].plugins.queue_sort
    if len(first.enabled) > 1:
        yield FieldProblem(
            "profiles[0].plugins.queueSort.enabled", "only one plugin sorts the queue"
        )
    sorter = first.enabled[0].name if first.enabled else None
    args = _args_of(profiles[0], sorter)
    for place, profile in enumerate(profiles[1:], 1):
        if _comparable(profile.plugins.queue_sort) != _comparable(first):
            yield FieldProblem(
                f"profiles[{place}].plugins.queueSort",
                "differs from profiles[0]: must be the same in all profiles",
            )
        for index, config in enumerate(profile.plugin_config):
            if config.name == sorter and config.args != args:
                yield FieldProblem(
                    f"profiles[{place}].pluginConfig[{index}].args",
                    f"{sorter} sorts the queue: its args must be the same in all profiles",
                )


def _args_of(profile: KubeSchedulerProfile, name: str | None) -> dict[str, object]:
    return next((config.args for config in profile.plugin_config if config.name == name), {})


def _comparable(plugins: PluginSet) -> tuple[object, ...]:
    return plugins.enabled, [plugin.name for plugin in plugins.disabled]


def _extenders(extenders: tuple[Extender, ...]) -> Iterator[FieldProblem]:
    binders: list[int] = []
    managed: set[str] = set()
    for place, extender in enumerate(extenders):
        path = f"extenders[{place}]"
        if extender.prioritize_verb and extender.weight <= 0:
            yield FieldProblem(
                f"{path}.weight",
                f"{extender.weight} is not a valid weight for prioritizeVerb: must be at least 1",
            )
        if extender.bind_verb:
            binders.append(place)
        for index, resource in enumerate(extender.managed_resources):
            name_path = f"{path}.managedResources[{index}].name"
            if not (is_label_key(resource.name) and is_extended(resource.name)):
                yield FieldProblem(
                    name_path,
                    f"{shown(resource.name)} is not an extended resource: use for example "
                    f"example.com/gpu",
                )
            if resource.name in managed:
                yield FieldProblem(name_path, f"{shown(resource.name)} occurs more than once")
            managed.add(resource.name)
    if len(binders) > 1:
        yield FieldProblem(
            f"extenders[{binders[1]}].bindVerb",
            f"extenders[{binders[0]}] already binds pods: only one extender can",
        )


def _removed(path: str, name: str) -> FieldProblem:
    return FieldProblem(path, f"Kubernetes removed {name}: use {REMOVED[name]} instead")


def _too_small(path: str, value: int, least: int) -> FieldProblem:
    return FieldProblem(path, f"{value} is too small: must be at least {least}")
