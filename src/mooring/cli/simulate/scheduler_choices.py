"""Which schedulers ``moor compare`` compares, by its options or by the scenario."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from mooring.cli.simulate.inputs import place_of
from mooring.errors import InputError

if TYPE_CHECKING:
    from mooring.simulator.scenario.schema import Scenario

#: More schedulers than these are not compared.
_MOST: Final = 20


class SchedulerChoice(NamedTuple):
    """A scheduler to compare.

    Attributes:
        name: unlike those of the others.
        config: a KubeSchedulerConfiguration file; None for the default one.
        policy: a policy; None for none.
    """

    name: str
    config: Path | None = None
    policy: str | None = None


def choose_schedulers(
    scenario: "Scenario", file: Path, configs: Sequence[Path], policies: Sequence[str]
) -> list[SchedulerChoice]:
    """The schedulers to compare, the baseline first.

    Every configuration with every policy. One alone is compared with what is there without it.

    Raises:
        InputError: there is nothing to compare, or too much.
    """
    chosen = _of_options(configs, policies) if configs or policies else _of_scenario(scenario, file)
    if len(chosen) > _MOST:
        raise InputError(f"{len(chosen)} schedulers are too many to compare; at most {_MOST}")
    names = [one.name for one in chosen]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"there are two schedulers {name}; compare different ones")
    return chosen


def _of_options(configs: Sequence[Path], policies: Sequence[str]) -> list[SchedulerChoice]:
    short = {one.name for one in configs}
    paths = len(short) < len(configs)
    short_policies = {Path(one).name for one in policies}
    places = len(short_policies) < len(policies)
    chosen = []
    each: Sequence[Path | None] = configs or [None]
    other: Sequence[str | None] = policies or [None]
    for config in each:
        for policy in other:
            names = [str(config) if paths else config.name] if config is not None else []
            if policy is not None:
                names.append(policy if places else Path(policy).name)
            chosen.append(SchedulerChoice(" + ".join(names), config, policy))
    if len(chosen) > 1:
        return chosen
    only = chosen[0]
    if only.config is None or only.policy is None:
        return [SchedulerChoice("default"), only]
    return [SchedulerChoice(only.config.name, only.config), only]


def _of_scenario(scenario: "Scenario", file: Path) -> list[SchedulerChoice]:
    chosen = []
    for number, one in enumerate(scenario.schedulers, 1):
        config = file.parent / one.config if one.config else None
        policy = place_of(one.policy, file.parent) if one.policy else None
        chosen.append(SchedulerChoice(one.name or f"scheduler {number}", config, policy))
    if len(chosen) < 2:
        raise InputError(
            f"{file} has fewer than two schedulers, so there is nothing to compare; "
            "specify --config or --policy"
        )
    return chosen
