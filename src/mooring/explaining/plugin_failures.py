"""Plugins and policies that failed over a question that decided nothing.

An explanation asks every plugin about every node, those included that others reject. A plugin that
fails there ends no decision, and is broken all the same. Asked by ``moor explain``.
"""

from mooring.framework.decisions.record import Record
from mooring.framework.verdict import Verdicts
from mooring.plugins.in_tree import IN_TREE


def plugin_failures(record: Record) -> list[str]:
    """What went wrong in plugins that are not mooring's own, one sentence each."""
    own = {plugin.name for plugin in IN_TREE}
    answers = [
        verdict
        for name, verdicts in record.filter.items()
        if name not in own and isinstance(verdicts, Verdicts)
        for verdict in verdicts.table
    ]
    answers += [
        one.verdict
        for name, one in record.pre_filter.items()
        if name not in own and one.verdict is not None
    ]
    return list(dict.fromkeys(verdict.reason for verdict in answers if verdict.error))
