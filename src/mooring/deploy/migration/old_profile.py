"""The plugins of an old profile as a profile of v1.

Called by `old_configuration`. Plugins that Kubernetes removed become what does their work now, and
weights that v1 has changed are written out, so that pods go where they went before.
"""

from typing import Any, Final

from mooring.deploy.migration import kubernetes_names as names
from mooring.deploy.migration.notes import Notes
from mooring.deploy.migration.old_types import (
    COMPONENT_CONFIG,
    OTHER_WEIGHTS,
    SCORING_PLUGINS,
    V1ALPHA1,
)
from mooring.deploy.migration.profile_writer import MULTI_POINT, ProfileWriter
from mooring.deploy.migration.scoring import ResourceScoring, add_node_labels, spread_by_list
from mooring.plugins.in_tree import DEFAULT_PLUGINS

_SCORE: Final = "score"
_NAMES: Final = frozenset((*(one.name for one in DEFAULT_PLUGINS), *names.OPTIONAL))


class ProfileTranslation:
    """Makes a profile of v1 of an old one.

    Args:
        version: the old version, such as ``kubescheduler.config.k8s.io/v1beta2``.
        given: the old profile, well formed.
        profile: gets the plugins and their arguments.
        notes: gets what there is to say.
        provider: the algorithm provider of v1alpha1.
    """

    def __init__(
        self,
        version: str,
        given: dict[str, Any],
        profile: ProfileWriter,
        notes: Notes,
        provider: str = names.DEFAULT_PROVIDER,
    ) -> None:
        self._version = version
        self._given = given
        self._profile = profile
        self._notes = notes
        self._provider = provider

    def translate(self) -> None:
        """Fill the profile."""
        self._copy()
        for point in self._profile.points():
            self._removed(point)
            self._limits(point)
        self._spread()
        self._node_labels()
        self._resources()
        self._weights()
        self._arguments()
        self._foreign()

    def _copy(self) -> None:
        for point, plugins in (self._given.get("plugins") or {}).items():
            self._copy_set(self._point(point), plugins or {})
        for config in self._given.get("pluginConfig") or ():
            self._profile.args(config["name"]).update(config.get("args") or {})

    def _copy_set(self, point: str, plugins: dict[str, Any]) -> None:
        for one in plugins.get("enabled") or ():
            self._profile.enable(point, one["name"], one.get("weight") or 0)
        for one in plugins.get("disabled") or ():
            self._profile.disable(point, one["name"])

    def _point(self, point: str) -> str:
        if point == "postFilter" and self._version in (COMPONENT_CONFIG, V1ALPHA1):
            self._notes.say("plugins.postFilter", "is now called preScore")
            return "preScore"
        if point == "unreserve":
            self._notes.say("plugins.unreserve", "is now part of reserve")
            return "reserve"
        return point

    def _removed(self, point: str) -> None:
        for plugin, advice in names.REMOVED_PLUGINS.items():
            if plugin in self._profile.enabled(point):
                self._notes.ask(plugin, advice)
            self._profile.remove(point, plugin)

    def _limits(self, point: str) -> None:
        enabled = self._profile.enabled(point)
        old = [one for one in names.REMOVED_LIMITS if one in enabled]
        if old:
            self._notes.say(
                ", ".join(old),
                f"removed; {names.NODE_VOLUME_LIMITS} counts these volumes now, through CSI",
            )
            renamed = {
                names.NODE_VOLUME_LIMITS if name in old else name: weight
                for name, weight in enabled.items()
            }
            self._profile.replace_enabled(point, renamed)
        disabled = [one for one in names.REMOVED_LIMITS if one in self._profile.disabled(point)]
        for one in disabled:
            self._profile.remove(point, one)
        if disabled and self._profile.runs(point, names.NODE_VOLUME_LIMITS):
            self._notes.ask(
                ", ".join(disabled),
                f"removed; {names.NODE_VOLUME_LIMITS} counts these volumes now, through CSI; "
                "disable it as well if no limit shall count",
            )

    def _spread(self) -> None:
        off = False
        for point in ("preScore", _SCORE, MULTI_POINT):
            for plugin in names.REMOVED_SPREADS:
                off |= plugin in self._profile.disabled(point) and point != "preScore"
                enabled = self._profile.enabled(point)
                self._profile.remove(point, plugin)
                if plugin in enabled:
                    self._spread_instead(plugin, point, enabled[plugin])
                    off = False
        if off and self._profile.runs(_SCORE, names.SPREAD):
            spread_by_list(self._profile)
            self._notes.say(
                "SelectorSpread",
                f"is disabled, so {names.SPREAD} gets no default constraints (defaultingType: "
                "List)",
            )

    def _spread_instead(self, plugin: str, point: str, weight: int) -> None:
        """Score with what does it now, and only that: the removed plugin rejected no node."""
        for one in ("preScore", _SCORE) if point == MULTI_POINT else (point,):
            if not self._profile.runs(one, names.SPREAD):
                self._profile.enable(one, names.SPREAD, weight)
            elif one == _SCORE and weight > (has := self._weight(names.SPREAD)):
                self._notes.ask(
                    plugin,
                    f"its weight was {weight}; it is one plugin with {names.SPREAD} now, whose "
                    f"weight is {has}; raise it if spreading has to count more",
                )
        self._notes.say(plugin, f"removed; {names.SPREAD} does it with its default constraints")

    def _weight(self, plugin: str) -> int:
        """The weight that a plugin of the default set scores with."""
        old = names.OLD_DEFAULT_WEIGHTS if self._version in OTHER_WEIGHTS else {}
        usual = {one.name: one.weight for one in DEFAULT_PLUGINS} | old
        multi = self._profile.enabled(MULTI_POINT).get(plugin, usual[plugin])
        return self._profile.enabled(_SCORE).get(plugin, multi) or 1

    def _node_labels(self) -> None:
        args = self._profile.drop_args(names.NODE_LABEL)
        points = [one for one in self._profile.points() if self._uses_node_label(one)]
        for point in points:
            weight = self._profile.enabled(point)[names.NODE_LABEL]
            self._profile.remove(point, names.NODE_LABEL)
            if point == _SCORE:
                add_node_labels(
                    self._profile,
                    preferred_present=args.get("presentLabelsPreference") or (),
                    preferred_absent=args.get("absentLabelsPreference") or (),
                )
                if self._profile.runs(_SCORE, names.NODE_AFFINITY):
                    weight = max(weight, self._weight(names.NODE_AFFINITY))
                enabled = self._profile.enabled(_SCORE)
                enabled[names.NODE_AFFINITY] = weight or 1
                self._profile.replace_enabled(_SCORE, enabled)
                self._notes.ask(
                    f"{names.NODE_LABEL} at score",
                    "removed; it is now a preference in the addedAffinity of NodeAffinity, which "
                    "scores nodes relative to the best one and together with the pods' own "
                    "preferences; see whether its weight is still right",
                )
            else:
                add_node_labels(
                    self._profile,
                    present=args.get("presentLabels") or (),
                    absent=args.get("absentLabels") or (),
                )
                self._notes.say(
                    names.NODE_LABEL,
                    "removed; it is now the addedAffinity of NodeAffinity, which rejects the same "
                    "nodes",
                )
                for needed in ("preFilter", "filter"):
                    if not self._profile.runs(needed, names.NODE_AFFINITY):
                        self._profile.enable(needed, names.NODE_AFFINITY)

    def _uses_node_label(self, point: str) -> bool:
        used = names.NODE_LABEL in self._profile.enabled(point)
        if not used:
            self._profile.remove(point, names.NODE_LABEL)
        return used

    def _resources(self) -> None:
        """Plugins that scored resources become a strategy of the one that does it now."""
        scoring = ResourceScoring(self._profile, self._notes)
        enabled = self._profile.enabled(_SCORE)
        disabled = self._profile.disabled(_SCORE) | self._profile.disabled(MULTI_POINT)
        chosen = [one for one in enabled if one in names.STRATEGY_PLUGINS]
        default = self._default_strategy()
        by_default = default is not None and not {"*", default} & disabled
        args = {one: self._profile.drop_args(one) for one in names.STRATEGY_PLUGINS}
        for plugin in chosen:
            self._add_strategy(scoring, plugin, enabled[plugin] or 1, args[plugin])
        if default is not None and by_default and default not in chosen:
            if chosen:
                self._notes.ask(
                    default,
                    f"left out; it was on by default beside {chosen[0]}, and a profile of v1 has "
                    "one scoringStrategy",
                )
            else:
                self._add_strategy(scoring, default, 1, args[default])
        for plugin in names.STRATEGY_PLUGINS:
            self._profile.remove(_SCORE, plugin)
            self._profile.remove(MULTI_POINT, plugin)
        found = scoring.write()
        if chosen:
            self._profile.remove(_SCORE, names.FIT)
            self._profile.enable(_SCORE, names.FIT, found[names.FIT])
            self._notes.say(
                ", ".join(chosen),
                f"removed; {names.FIT} scores with a scoringStrategy now",
            )
        elif default in disabled:
            self._profile.disable(_SCORE, names.FIT)

    def _add_strategy(
        self, scoring: ResourceScoring, plugin: str, weight: int, args: dict[str, Any]
    ) -> None:
        kind = names.STRATEGY_PLUGINS[plugin]
        resources, shape = args.get("resources") or [], args.get("shape") or []
        scoring.add(plugin, kind, weight, resources, shape)

    def _default_strategy(self) -> str | None:
        if self._version not in SCORING_PLUGINS:
            return None
        if self._provider == names.AUTOSCALER_PROVIDER:
            return "NodeResourcesMostAllocated"
        return names.LEAST_ALLOCATED_PLUGIN

    def _weights(self) -> None:
        if self._version not in OTHER_WEIGHTS:
            return
        written = []
        for plugin, weight in names.OLD_DEFAULT_WEIGHTS.items():
            if plugin in self._profile.enabled(_SCORE):
                continue
            if self._profile.runs(_SCORE, plugin):
                self._profile.enable(_SCORE, plugin, weight)
                written.append(plugin)
        if written:
            self._notes.say(
                "plugins.score",
                f"the weights of {', '.join(written)} are those that "
                f"{self._version.rpartition('/')[2]} had by default; delete them to take those of "
                "v1, which are higher",
            )

    def _arguments(self) -> None:
        for plugin in names.REMOVED_PLUGINS:
            self._profile.drop_args(plugin)
        spread = self._profile.args(names.SPREAD)
        if spread.get("defaultConstraints"):
            spread.setdefault("defaultingType", "List")

    def _foreign(self) -> None:
        enabled = [name for one in self._profile.points() for name in self._profile.enabled(one)]
        foreign = [one for one in dict.fromkeys(enabled) if one not in _NAMES]
        if foreign:
            self._notes.say(
                ", ".join(foreign),
                "not part of kube-scheduler; start a scheduler that has it: moor run if moor "
                "plugins lists it, or your own build",
            )
