"""A policy's file changed: the new policy decides from the next decision on; ``--reload``.

    policy_reloading ──policy──> PolicyReload ──between two decisions──> core.replace_plugins
                                     └── it cannot be used: the old one stays, and the log says why

The configuration is not read again. Owned by `assembly`; `lifecycle` runs it beside the loop.
"""

import logging
from collections.abc import Callable, Collection

from mooring.errors import InputError
from mooring.framework.hook import plugin_name
from mooring.framework.policy import Policy
from mooring.framework.policy_checks.device_reads import reads_devices
from mooring.framework.policy_text import summary
from mooring.live.announcement import profile_lines
from mooring.live.informers import kinds_read
from mooring.live.options import SchedulerSettings, with_policy
from mooring.live.sync_hooks import SyncHooks
from mooring.process.deadline import Deadline
from mooring.process.policy_reloading import reload
from mooring.scheduler.core import Core
from mooring.scheduler.plugin_replacement import NewPlugins, prepare

log = logging.getLogger("mooring.live")

#: Calls a function between two decisions; a later one replaces one that was not called yet.
BetweenDecisions = Callable[[Callable[[], None]], None]


class PolicyReload:
    """Puts another policy in the place of the one that decides.

    Args:
        settings: what is configured.
        core: decides.
        watched: the resources that informers watch.
        deadline: for plugins that are asked about themselves.
        clock: seconds that only grow, the loop's clock.

    Attributes:
        settings: what is in force, with the policy that decides now.
    """

    def __init__(
        self,
        settings: SchedulerSettings,
        core: Core,
        watched: Collection[str],
        deadline: Deadline,
        clock: Callable[[], float],
    ) -> None:
        self.settings = settings
        self._core = core
        self._watched = watched
        self._hooks = SyncHooks(deadline, "the reload")
        self._clock = clock

    async def run(self, between_decisions: BetweenDecisions) -> None:
        """Watch the policy's files, until cancelled."""
        source = self.settings.policy_source
        await reload(source, lambda policy: between_decisions(lambda: self.replace(policy)))

    def replace(self, policy: Policy) -> None:
        """Let another policy decide; if it cannot be used, the old one stays and the log says why.

        Called between two decisions.
        """
        before = self._weights()
        try:
            with self._hooks:
                settings = with_policy(self.settings, policy)
                replaced = {*_names(self.settings.policies), *_names((policy,))}
                new = prepare(self._core.runtimes, settings.profiles, settings.registry, replaced)
                self._check_watched(new, policy)
            with self._hooks:
                self._core.replace_plugins(new, self._clock())
        except InputError as error:
            log.error("kept the old policy: %s", error)  # noqa: TRY400 - the sentence says it all
            return
        except Exception:
            log.exception("kept the old policy: policy %s cannot be used", policy.name)
            return
        self.settings = settings
        log.info("reloaded policy %s: %s", policy.name, summary(policy))
        for line in self._weights():
            if line not in before:
                log.info("%s", line)

    def _weights(self) -> list[str]:
        """Lines about the weights of scores, and about how much the policy can decide."""
        return [*profile_lines(self._core.runtimes), *self.settings.says()]

    def _check_watched(self, new: dict[str, NewPlugins], policy: Policy) -> None:
        plugins = [one for profile in new.values() for one in profile.plugins.values()]
        kinds = kinds_read([*plugins, *policy.plugins], devices=reads_devices(policy))
        missing = [kind.resource for kind in kinds if kind.resource not in self._watched]
        if missing:
            raise InputError(
                f"policy {policy.name} reads {', '.join(missing)}, which this process does not "
                f"watch; restart it"
            )


def _names(policies: Collection[Policy]) -> set[str]:
    """What plugins of these policies are called."""
    plugins = {plugin_name(plugin) for policy in policies for plugin in policy.plugins}
    return plugins | {policy.name for policy in policies}
