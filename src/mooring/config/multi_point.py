"""One profile's plugins at each extension point: the default set merged with what the user changes.

Called by `profiles_from` once for each profile. Plugins are only names here; none is made, and
which ones there are by default is known to the registry.

The plugins of an extension point are, in this order:

1. those enabled at the point itself that multiPoint has as well, in the order given at the point;
2. those of multiPoint: the default set, in place where the user gives a new weight, without those
   disabled there, then the user's own; all without those disabled at the point;
3. the others enabled at the point.

A weight given at ``score`` counts before one given at ``multiPoint``; none, or 0, means 1. For an
extra plugin it means what its function makes of the weights of the others.
"""

# parity v1.36.4: apis/config/v1/default_plugins.go mergePlugins, framework/runtime/framework.go

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from mooring.config.plugin_entry import EXTENSION_POINTS
from mooring.config.registry import Registry
from mooring.config.strict_decoding import FieldProblem
from mooring.config.types import KubeSchedulerProfile, PluginRef, PluginSet
from mooring.errors import InputError

_ALL: Final = "*"
_DEFAULT_WEIGHT: Final = 1
_GROUP_POINTS: Final = ("placementGenerate", "placementScore")


class EnabledPlugin(NamedTuple):
    """A plugin at an extension point; the weight is that of its score, and 0 at other points."""

    name: str
    weight: int = 0


class _PluginToEnable(NamedTuple):
    """A plugin to enable, and where the user wrote so."""

    name: str
    weight: int
    path: str


class MultiPointExpansion:
    """One profile's plugins at each extension point.

    Args:
        registry: the plugins there are.
        profile: what the user changes.
        extra: plugins that come after the default set, each with a function that takes the sum of
            the weights of the plugins that are no extra ones and returns its own; disabling ``*``
            leaves them.
        path: where the profile is, for messages.
        problems: gets every mistake.
    """

    def __init__(
        self,
        registry: Registry,
        profile: KubeSchedulerProfile,
        extra: Mapping[str, Callable[[int], int]],
        path: str,
        problems: list[FieldProblem],
    ) -> None:
        self._registry = registry
        self._extra = extra
        self._path = f"{path}.plugins"
        self._problems = problems
        self._implemented: dict[str, tuple[str, ...]] = {}
        self._sets = dict(profile.plugins.sets())
        for point in _GROUP_POINTS:
            for index in range(len(self._sets.pop(point).enabled)):
                where = f"{self._path}.{point}.enabled[{index}]"
                self._problem(where, "mooring does not support pod groups: remove it")
        many = self._sets.pop("multiPoint")
        self._multi = self._known(self._merge(many))
        self._single = {
            point: self._known(self._wanted(point, plugins.enabled))
            for point, plugins in self._sets.items()
        }

    def points(self) -> dict[str, tuple[EnabledPlugin, ...]]:
        """The plugins of every point."""
        found = {point: self._at(point) for point in EXTENSION_POINTS}
        weights = self._weights(found["score"])
        self._check_order_and_binding(found)
        return {
            point: tuple(
                EnabledPlugin(name, weights.get(name, 0) if point == "score" else 0)
                for name in names
            )
            for point, names in found.items()
        }

    def score_weight(self, scores: Iterable[EnabledPlugin]) -> int:
        """The sum of the weights of those scores that can tell nodes apart."""
        silent = self._silent()
        return sum(one.weight for one in scores if one.name not in silent)

    def plugins(self) -> tuple[str, ...]:
        """All plugins, those of multiPoint first."""
        every = [*self._multi, *(one for single in self._single.values() for one in single)]
        return tuple(dict.fromkeys(one.name for one in every))

    def _merge(self, custom: PluginSet) -> list[_PluginToEnable]:
        """The default set, changed by what the user wrote for multiPoint."""
        disabled = {plugin.name for plugin in custom.disabled}
        own = self._wanted("multiPoint", custom.enabled)
        last = {plugin.name: index for index, plugin in enumerate(own)}
        default = () if _ALL in disabled else self._registry.default_plugins
        replaced: set[int] = set()
        merged: list[_PluginToEnable] = []
        for name, weight in (
            *((plugin.name, plugin.weight) for plugin in default),
            *((name, 0) for name in self._extra),
        ):
            if name in disabled:
                continue
            index = last.get(name)
            if index is None:
                merged.append(_PluginToEnable(name, weight, f"{self._path}.multiPoint"))
            else:
                replaced.add(index)
                merged.append(own[index])
        # Plugins given twice stay twice here; expanding finds them.
        return merged + [plugin for index, plugin in enumerate(own) if index not in replaced]

    def _wanted(self, point: str, enabled: Iterable[PluginRef]) -> list[_PluginToEnable]:
        return [
            _PluginToEnable(
                plugin.name, plugin.weight, f"{self._path}.{point}.enabled[{index}].name"
            )
            for index, plugin in enumerate(enabled)
        ]

    def _known(self, wanted: list[_PluginToEnable]) -> list[_PluginToEnable]:
        """Those that exist."""
        found = []
        for plugin in wanted:
            try:
                self._implemented[plugin.name] = self._registry.points(plugin.name)
            except InputError as error:
                self._problem(plugin.path, str(error))
            else:
                found.append(plugin)
        return found

    def _at(self, point: str) -> list[str]:
        single = self._at_point_itself(point)
        disabled = {plugin.name for plugin in self._sets[point].disabled}
        if _ALL in disabled:
            return single
        overridden: set[str] = set()
        multi: list[str] = []
        for plugin in self._multi:
            if point not in self._implemented[plugin.name] or plugin.name in disabled:
                continue
            if plugin.name in single:
                overridden.add(plugin.name)
            elif plugin.name in multi:
                self._problem(plugin.path, f"{plugin.name} is enabled more than once")
            else:
                multi.append(plugin.name)
        return [
            *(name for name in single if name in overridden),
            *multi,
            *(name for name in single if name not in overridden),
        ]

    def _at_point_itself(self, point: str) -> list[str]:
        found: list[str] = []
        for plugin in self._single[point]:
            if point not in self._implemented[plugin.name]:
                acts = ", ".join(self._implemented[plugin.name]) or "no extension point"
                text = f"{plugin.name} does not implement {point}: it implements {acts}"
                self._problem(plugin.path, text)
            elif plugin.name in found:
                self._problem(plugin.path, f"{plugin.name} is enabled more than once")
            else:
                found.append(plugin.name)
        return found

    def _weights(self, scoring: Sequence[str]) -> dict[str, int]:
        weights: dict[str, int] = {}
        total = 0
        for plugin in (*self._single["score"], *self._multi):
            if plugin.name in weights or "score" not in self._implemented[plugin.name]:
                continue
            if total < 0:
                # Here the sum overflows in kube-scheduler; weights below 0 work by chance only.
                text = "the sum of the preceding weights is negative: weights must be at least 1"
                self._problem(plugin.path, text)
                break
            given = plugin.weight or (0 if plugin.name in self._extra else _DEFAULT_WEIGHT)
            weights[plugin.name] = given
            total += given
        left_out = self._extra.keys() | self._silent()
        others = sum(weights.get(name, 0) for name in scoring if name not in left_out)
        return {name: weight or self._extra[name](others) for name, weight in weights.items()}

    def _silent(self) -> set[str]:
        """Plugins of the default set that have no weight there and get none from the user.

        kube-scheduler does not let them score unless a feature gate is on, which it is not.
        """
        weighed = {one.name for one in (*self._single["score"], *self._multi) if one.weight}
        return {one.name for one in self._registry.default_plugins if not one.weight} - weighed

    def _check_order_and_binding(self, found: Mapping[str, Sequence[str]]) -> None:
        sorters = found["queueSort"]
        if len(sorters) != 1:
            have = f"{len(sorters)} do ({', '.join(sorters)})" if sorters else "none does"
            usual = self._default_at("queueSort")
            wanted = f"only {usual} or another" if usual else "only one"
            text = f"exactly one plugin must sort the queue, but {have}: enable {wanted}"
            self._problem(f"{self._path}.queueSort", text)
        if not found["bind"]:
            wanted = self._default_at("bind") or "one that does"
            self._problem(f"{self._path}.bind", f"no plugin binds pods: enable {wanted}")

    def _default_at(self, point: str) -> str:
        """The first plugin of the default set that acts at an extension point, if there is one."""
        defaults = (one.name for one in self._registry.default_plugins)
        return next((name for name in defaults if point in self._registry.points(name)), "")

    def _problem(self, path: str, text: str) -> None:
        self._problems.append(FieldProblem(path, text))
