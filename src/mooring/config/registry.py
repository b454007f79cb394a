"""The plugins that a configuration can name.

A registry is an ordinary object: mooring's own plugins, those of installed packages (entry points
of the group ``mooring.plugins``, imported only when they are named or listed), and what a program
adds. The runtime makes plugins through it; it never runs one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from mooring.config.plugin_entry import (
    EXTENSION_POINTS,
    Factory,
    PluginEntry,
    describe_plugin,
    extension_points_of,
)
from mooring.config.strict_decoding import FieldProblem, nearest, shown
from mooring.config.types import PluginRef
from mooring.errors import InputError
from mooring.framework import foreign, hook
from mooring.framework.handle import Handle

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "EXTENSION_POINTS",
    "GROUP",
    "Factory",
    "PluginEntry",
    "Registry",
    "extension_points_of",
    "installed_plugins",
]

#: The group of entry points in which packages offer plugins.
GROUP: Final = "mooring.plugins"
_LIST_THEM: Final = "`moor plugins` lists them"


class Registry:
    """Plugins by name.

    Args:
        installed: finds the entry points of installed packages; None looks for none.
        default_plugins: those that every profile has unless it disables them, in order; the weight
            is that of the plugin's score.

    Attributes:
        default_plugins: the same.
    """

    def __init__(
        self,
        installed: "Callable[[], Iterable[EntryPoint]] | None" = None,
        default_plugins: Iterable[PluginRef] = (),
    ) -> None:
        self.default_plugins = tuple(default_plugins)
        self._entries: dict[str, PluginEntry] = {}
        self._installed = installed
        self._entry_points: dict[str, EntryPoint] | None = None

    def add(
        self,
        plugin: hook.Hook | type[hook.Hook] | Factory,
        name: str | None = None,
        *,
        points: Iterable[str] | None = None,
    ) -> None:
        """Add a plugin.

        Args:
            plugin: its class, a function that makes it, or the plugin itself, ready made.
            name: what configurations call it; the class's own name if left out.
            points: the extension points; needed for a function whose result type does not say.

        Raises:
            InputError: the name is taken, or it is not known what the plugin implements.
        """
        self._keep(describe_plugin(plugin, name, points=points))

    def names(self) -> list[str]:
        """The names of all plugins: mooring's own, added ones, and those of installed packages.

        Raises:
            InputError: two packages offer the same name.
        """
        return list(dict.fromkeys((*self._entries, *self._offered())))

    def entries(self) -> Iterator[PluginEntry | FieldProblem]:
        """Every plugin; a `FieldProblem` stands for one that is installed but cannot be used."""
        names = list(self._entries)
        try:
            names = self.names()
        except InputError as error:
            yield FieldProblem(GROUP, str(error))
        for name in names:
            try:
                yield self.entry(name)
            except InputError as error:
                yield FieldProblem(name, str(error))

    def entry(self, name: str) -> PluginEntry:
        """The plugin of a name.

        Raises:
            InputError: there is none, or the package that offers it is broken.
        """
        found = self._entries.get(name) or self._load(name)
        if found is None:
            meant = self.meant(name)
            hint = f"did you mean {meant}? {_LIST_THEM}" if meant else _LIST_THEM
            raise InputError(f"there is no plugin {shown(name)}: {hint}")
        return found

    def meant(self, name: str) -> str | None:
        """The plugin that a wrong name is nearest to; None if none is near."""
        # Names of plugins have words in common: Coscheduling is no slip for GangScheduling.
        return nearest(name, self.names(), likeness=0.8)

    def points(self, name: str) -> tuple[str, ...]:
        """The extension points of a plugin.

        Raises:
            InputError: there is none of this name, or the package that offers it is broken.
        """
        return self.entry(name).points

    def make(
        self,
        name: str,
        raw_args: Mapping[str, Any] | None = None,
        handle: Handle | None = None,
        path: str = "",
    ) -> hook.Hook:
        """Make a plugin.

        Args:
            name: its name.
            raw_args: its arguments as they were written.
            handle: the scheduler that will run it.
            path: where the arguments are, for messages.

        Raises:
            InputError: there is no such plugin, its arguments are wrong, or its constructor fails.
        """
        return self.entry(name).make(raw_args, handle, path or f"args of {name}")

    def __contains__(self, name: object) -> bool:
        return name in self._entries or name in self._offered()

    def _keep(self, entry: PluginEntry) -> PluginEntry:
        taken = self._entries.get(entry.name)
        if taken is not None:
            raise InputError(
                f"plugin {entry.name!r} of {entry.origin} has the same name as a plugin of "
                f"{taken.origin}: choose another name"
            )
        self._entries[entry.name] = entry
        return entry

    def _offered(self) -> "dict[str, EntryPoint]":
        """The entry points by name; read once."""
        if self._entry_points is None:
            found: dict[str, EntryPoint] = {}
            for point in self._installed() if self._installed is not None else ():
                rival = found.setdefault(point.name, point)
                if rival.value != point.value:
                    raise InputError(
                        f"plugin {point.name!r} is provided by {_package(rival)} and by "
                        f"{_package(point)}: uninstall one of them"
                    )
                taken = self._entries.get(point.name)
                if taken is not None:
                    raise InputError(
                        f"plugin {point.name!r} of {_package(point)} has the same name as a plugin "
                        f"of {taken.origin}: rename it or uninstall the package"
                    )
            self._entry_points = found
        return self._entry_points

    def _load(self, name: str) -> PluginEntry | None:
        point = self._offered().get(name)
        if point is None:
            return None
        where = f"plugin {name!r} of {_package(point)} ({point.value})"
        try:
            plugin = point.load()
        except (Exception, SystemExit) as error:
            said = " ".join(foreign.tell(error).text.split())
            raise InputError(f"{where} cannot be loaded: {said}") from error
        if not callable(plugin):
            raise InputError(f"{where} is {shown(plugin)}: it must be a plugin class")
        own = getattr(plugin, "name", "") if isinstance(plugin, type) else ""
        if own and own != name:
            raise InputError(
                f"{where} names itself {own!r}: the plugin and its entry point "
                "must have the same name"
            )
        try:
            return self._keep(describe_plugin(plugin, name, origin=_package(point)))
        except InputError as error:
            raise InputError(f"{where} cannot be used: {error}") from error


def installed_plugins() -> "Iterable[EntryPoint]":
    """The plugins that installed packages offer; none of them is imported."""
    # Slow to import, and needed only where a name is not mooring's own.
    from importlib.metadata import entry_points  # noqa: PLC0415

    return entry_points(group=GROUP)


def _package(point: "EntryPoint") -> str:
    return f"package {point.dist.name}" if point.dist is not None else "an installed package"
