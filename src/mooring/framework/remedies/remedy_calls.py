"""Asking plugins what would help against their rejection.

Called by the search for suggestions. A plugin that raises, is interrupted or returns something
illegal is a `PluginError` that names it: who explains a decision says so and goes on without.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Final, NamedTuple

from msgspec.structs import replace

from mooring.errors import MooringError
from mooring.framework import foreign, hook
from mooring.framework.binding_hooks import blame
from mooring.framework.policy_plugin import PolicyFilter
from mooring.framework.remedies.remedy import Remedy, RemedyCase
from mooring.framework.remedies.remedy_answers import legal_pod, legal_remedies
from mooring.framework.what_ifs import need_stack
from mooring.model.pod import Pod

#: So often one answer may ask whether the plugin accepts a pod: each question begins the time
#: limit of hooks anew.
_MOST_QUESTIONS: Final = 100
#: Asking all plugins about one node needs so many frames of the stack at most.
_FRAMES: Final = 60


class RemedyQuestion(NamedTuple):
    """A plugin that may know what would help, under its name, and what it is asked."""

    name: str
    plugin: hook.Remedies
    case: RemedyCase

    def ask(self) -> list[Remedy]:
        """What the plugin proposes.

        Raises:
            PluginError: it failed, or proposes what cannot be tried.
        """
        # Read from the stack by `running_hook` if the plugin hangs.
        function, pod = self.plugin.remedies, self.case.pod
        try:
            if not foreign.is_foreign(function):
                return list(function(self.case))
            answer = foreign.call(function, replace(self.case, accepts=_limited(self.case)))
            return foreign.call(legal_remedies, answer, self.case)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            blame(error, self.name, "remedies", pod)


def remedy_questions(name: str, plugin: hook.Hook, case: RemedyCase) -> Iterable[RemedyQuestion]:
    """Who knows what would help: a plugin, or those that were added to it if it is a policy."""
    if isinstance(plugin, PolicyFilter):
        return (RemedyQuestion(*one) for one in plugin.remedy_cases(case))
    return [RemedyQuestion(name, plugin, case)] if isinstance(plugin, hook.Remedies) else []


def _limited(case: RemedyCase) -> Callable[[Pod], bool]:
    asked: Iterator[int] = count()

    def accepts(pod: Pod) -> bool:
        if next(asked) >= _MOST_QUESTIONS:
            raise MooringError(f"it tested more than {_MOST_QUESTIONS} changes")
        need_stack(_FRAMES)
        return case.accepts(legal_pod(pod, case))

    return accepts
