"""A profile of ``KubeSchedulerConfiguration`` v1 as it is being put together.

Filled by `policy` and `old_profile`. Knows the form of a profile, not what is in it.
"""

from typing import Any, Final

from mooring.config.types import API_VERSION, Plugins

MULTI_POINT: Final = "multiPoint"
_POINTS: Final = (
    MULTI_POINT,
    *(name for name in Plugins.__struct_encode_fields__ if name != MULTI_POINT),
)


class ProfileWriter:
    """Plugins and arguments of one profile, each plugin once in a list.

    Args:
        scheduler_name: its name; None leaves it to the default.
    """

    def __init__(self, scheduler_name: str | None = None) -> None:
        self.scheduler_name = scheduler_name
        self._enabled: dict[str, dict[str, int]] = {}
        self._disabled: dict[str, dict[str, None]] = {}
        self._args: dict[str, dict[str, Any]] = {}

    def enable(self, point: str, plugin: str, weight: int = 0) -> None:
        """Enable a plugin at a point; a weight of 0 leaves it to the default."""
        self._enabled.setdefault(point, {}).setdefault(plugin, weight)

    def disable(self, point: str, plugin: str) -> None:
        """Disable a plugin, or all with ``*``, at a point."""
        self._disabled.setdefault(point, {})[plugin] = None

    def remove(self, point: str, plugin: str) -> None:
        """Take a plugin out of both lists of a point."""
        self._enabled.get(point, {}).pop(plugin, None)
        self._disabled.get(point, {}).pop(plugin, None)

    def enabled(self, point: str) -> dict[str, int]:
        """The plugins that are enabled at a point, with their weights."""
        return dict(self._enabled.get(point, {}))

    def disabled(self, point: str) -> set[str]:
        """The plugins that are disabled at a point."""
        return set(self._disabled.get(point, {}))

    def replace_enabled(self, point: str, plugins: dict[str, int]) -> None:
        """Set the list of enabled plugins of a point."""
        self._enabled[point] = plugins

    def runs(self, point: str, plugin: str) -> bool:
        """Whether a plugin of the default set runs at a point."""
        if plugin in self._enabled.get(point, {}):
            return True
        return not {"*", plugin} & (self.disabled(point) | self.disabled(MULTI_POINT))

    def args(self, plugin: str) -> dict[str, Any]:
        """The arguments of a plugin, to read and to fill."""
        return self._args.setdefault(plugin, {})

    def drop_args(self, plugin: str) -> dict[str, Any]:
        """Take the arguments of a plugin out."""
        return self._args.pop(plugin, {})

    def points(self) -> list[str]:
        """The points at which something is enabled or disabled."""
        return [one for one in _POINTS if self._enabled.get(one) or self._disabled.get(one)]

    def as_dict(self) -> dict[str, Any]:
        """The profile as it is written into a file, without what is empty."""
        found: dict[str, Any] = {}
        if self.scheduler_name is not None:
            found["schedulerName"] = self.scheduler_name
        plugins = {point: self._set(point) for point in self.points()}
        if plugins:
            found["plugins"] = plugins
        config = [
            {"name": name, "args": _of_v1(name, args)} for name, args in self._args.items() if args
        ]
        if config:
            found["pluginConfig"] = config
        return found

    def _set(self, point: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if enabled := self._enabled.get(point):
            found["enabled"] = [
                {"name": name, **({"weight": weight} if weight else {})}
                for name, weight in enabled.items()
            ]
        if disabled := self._disabled.get(point):
            found["disabled"] = [{"name": name} for name in disabled]
        return found


def _of_v1(name: str, args: dict[str, Any]) -> dict[str, Any]:
    """Arguments whose kind, if they give one, is that of v1."""
    if "apiVersion" not in args and "kind" not in args:
        return args
    rest = {key: value for key, value in args.items() if key not in ("apiVersion", "kind")}
    given = str(args.get("apiVersion", ""))
    group = given.partition("/")[0]
    if given and group != API_VERSION.partition("/")[0]:
        return args  # of somebody else's plugin, with versions of its own
    return {"apiVersion": API_VERSION, "kind": args.get("kind", f"{name}Args"), **rest}
