"""Asking a plugin for the details of its rejections.

Called when a decision is explained. A plugin that raises, is interrupted or returns something
illegal is a `PluginError` that names it: the explanation goes on without its details.
"""

from collections.abc import Sequence

from mooring.errors import AnswerError
from mooring.framework import foreign, hook
from mooring.framework.binding_hooks import blame
from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.framework.hook_answers import shortened, shown


def ask_details(name: str, plugin: hook.Details, rejected: RejectedNodes) -> list[str]:
    """One text for each node; empty where the plugin has nothing to add.

    Raises:
        PluginError: the plugin failed, or its answer cannot be used.
    """
    # Read from the stack by `running_hook` if the plugin hangs.
    function, pod = plugin.details, rejected.pod
    try:
        if not foreign.is_foreign(function):
            return _texts(function(rejected), len(rejected.nodes))
        return foreign.call(_texts, foreign.call(function, rejected), len(rejected.nodes))
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything
        blame(error, name, "details", pod)


def _texts(answer: object, size: int) -> list[str]:
    if isinstance(answer, str):
        return [shortened(answer)] * size
    if not isinstance(answer, Sequence) or len(answer) != size:
        raise AnswerError(
            f"it returned {shown(answer)}; it must return a string, or one for each of {size} nodes"
        )
    for one in answer:
        if not isinstance(one, str):
            raise AnswerError(f"it returned {shown(one)} among its details; they must be strings")
    return [shortened(one) for one in answer]
