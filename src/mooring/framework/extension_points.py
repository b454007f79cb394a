"""A profile's plugins at its extension points, ready made."""

from typing import NamedTuple

from mooring.framework.hook import Hook


class PluginAtPoint(NamedTuple):
    """A plugin at one extension point, under its name."""

    name: str
    plugin: Hook
    weight: int = 1


#: A profile's plugins by extension point, such as ``filter``, in the order they run.
Points = dict[str, list[PluginAtPoint]]
