"""The profiles of a configuration: which plugins run where, for pods of which scheduler name.

Called once at the start; the runtime takes a `Profile` and makes its plugins with the registry.
Which plugins a profile has is in `multi_point`; here their arguments are checked and what all
profiles share.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from mooring.config.multi_point import EnabledPlugin, MultiPointExpansion
from mooring.config.registry import Registry
from mooring.config.strict_decoding import FieldProblem, raise_problems
from mooring.config.types import KubeSchedulerConfiguration, KubeSchedulerProfile
from mooring.errors import InputError

__all__ = ["EnabledPlugin", "Profile", "profiles_from"]


class Profile(msgspec.Struct, frozen=True):
    """How pods of one scheduler name are scheduled.

    Attributes:
        scheduler_name: the pods' ``spec.schedulerName``.
        points: for each extension point, such as ``preFilter``, its plugins in order.
        plugins: the names of all plugins that have to be made.
        args: the arguments of plugins, as they were written, by name.
        args_paths: where they were written, for messages.
        percentage_of_nodes_to_score: how many nodes are enough; 0 lets the scheduler choose.
        score_weight: the sum of the weights of all scores that can tell nodes apart.
    """

    scheduler_name: str
    points: Mapping[str, tuple[EnabledPlugin, ...]]
    plugins: tuple[str, ...]
    args: Mapping[str, Mapping[str, Any]] = {}
    args_paths: Mapping[str, str] = {}
    percentage_of_nodes_to_score: int = 0
    score_weight: int = 0


def profiles_from(
    configuration: KubeSchedulerConfiguration,
    registry: Registry,
    extra: Mapping[str, Callable[[int], int]] | None = None,
) -> dict[str, Profile]:
    """The profiles of a configuration by scheduler name.

    Args:
        configuration: as `read_configuration` returns it.
        registry: the plugins there are.
        extra: plugins, such as a policy, that every profile has after the default set, each with
            the weight it has beside the weights of the others, as `MultiPointExpansion` takes it; a
            configuration may move, weigh or disable them by name as it may default plugins, but
            disabling ``*`` leaves them.

    Raises:
        InputError: a plugin does not exist or does not fit, or its arguments are wrong; lists the
            mistakes with their paths, five at most.
    """
    problems: list[FieldProblem] = []
    ignored = [
        resource.name
        for extender in configuration.extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    ]
    found: dict[str, Profile] = {}
    for place, wanted in enumerate(configuration.profiles):
        path = f"profiles[{place}]"
        expansion = MultiPointExpansion(registry, wanted, extra or {}, path, problems)
        args = {config.name: config.args for config in wanted.plugin_config}
        _check_args(registry, wanted, path, problems)
        plugins = expansion.plugins()
        for name in plugins if ignored else ():
            # parity v1.36.4: pkg/scheduler/scheduler.go buildExtenders; it replaces, not adds
            argument = registry.entry(name).ignored_resources_arg
            if argument:
                args[name] = {**args.get(name, {}), argument: ignored}
        points = expansion.points()
        percentage = wanted.percentage_of_nodes_to_score
        if percentage is None:
            percentage = configuration.percentage_of_nodes_to_score
        found[wanted.scheduler_name] = Profile(
            scheduler_name=wanted.scheduler_name,
            points=points,
            plugins=plugins,
            args=args,
            args_paths={
                config.name: f"{path}.pluginConfig[{index}].args"
                for index, config in enumerate(wanted.plugin_config)
            },
            percentage_of_nodes_to_score=percentage,
            score_weight=expansion.score_weight(points["score"]),
        )
    if not problems:
        problems += _queue_orders(list(found.values()))
    raise_problems(problems)
    return found


def _check_args(
    registry: Registry, profile: KubeSchedulerProfile, path: str, problems: list[FieldProblem]
) -> None:
    for index, config in enumerate(profile.plugin_config):
        where = f"{path}.pluginConfig[{index}]"
        try:
            entry = registry.entry(config.name)
        except InputError as error:
            # kube-scheduler passes over arguments of plugins it does not have; so do we, unless
            # the name looks like a slip, which would lose what the user wants.
            if config.name in registry or registry.meant(config.name) is not None:
                problems.append(FieldProblem(f"{where}.name", str(error)))
        else:
            entry.read_args(config.args, f"{where}.args", problems)


def _queue_orders(profiles: Sequence[Profile]) -> list[FieldProblem]:
    # parity v1.36.4: pkg/scheduler/profile/profile.go
    problems = []
    first = profiles[0].points["queueSort"][0].name
    for place, profile in enumerate(profiles[1:], 1):
        own = profile.points["queueSort"][0].name
        if own != first:
            text = f"{own} sorts the queue and {first} in profiles[0]: all profiles share one queue"
            problems.append(FieldProblem(f"profiles[{place}].plugins.queueSort", text))
        elif profile.args.get(own, {}) != profiles[0].args.get(own, {}):
            text = f"the args of {own} differ from profiles[0]: all profiles share one queue"
            problems.append(FieldProblem(f"profiles[{place}].pluginConfig", text))
    return problems
