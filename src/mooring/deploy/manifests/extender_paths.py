"""Where an extender serves its verbs, if not at their usual paths.

A part of `Installation`; the command line fills it in. For configurations that name other paths
already: `moor serve` has each function of a policy under a path of its own, too.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from mooring.errors import InputError
from mooring.framework.policy import Policy
from mooring.framework.rules import Rule

#: Where the extender serves probes and metrics, over plain HTTP.
HEALTH_PORT: Final = 8889
#: Where a scheduler serves them.
SCHEDULER_PORT: Final = 10259
PREDICATES: Final = "/predicates"
PRIORITIES: Final = "/priorities"
#: The fields of an extender's entry.
FIELDS: Final = {
    "filter": "filterVerb",
    "prioritize": "prioritizeVerb",
    "preempt": "preemptVerb",
    "bind": "bindVerb",
}


class ExtenderPaths(msgspec.Struct, frozen=True, kw_only=True):
    """Where the verbs are.

    Attributes:
        port: where the extender listens.
        prefix: in front of every verb, as in ``moor serve --prefix``.
        predicates: between the prefix and the name of a single filter.
        priorities: between the prefix and the name of a single score.
        verbs: paths below the prefix that kube-scheduler asks, by ``filter``, ``prioritize``,
            ``preempt`` or ``bind``; without an entry, what the policy needs at its usual path.
    """

    port: int = 8888
    prefix: str = ""
    predicates: str = PREDICATES
    priorities: str = PRIORITIES
    verbs: dict[str, str] = {}

    @property
    def are_usual(self) -> bool:
        """Whether nothing is different from what `moor serve` does by itself."""
        return self == ExtenderPaths()

    @property
    def arguments(self) -> list[str]:
        """What `moor serve` is told beside its port."""
        made = [f"--prefix={self.prefix}"] if self.prefix else []
        if self.predicates != PREDICATES:
            made.append(f"--predicates-prefix={self.predicates}")
        if self.priorities != PRIORITIES:
            made.append(f"--priorities-prefix={self.priorities}")
        return made

    def served(self, policy: Policy) -> dict[str, list[str]]:
        """The paths below the prefix at which each verb of a policy is."""
        return {
            "filter": ["filter", *_below(self.predicates, policy.filters)],
            "prioritize": ["prioritize", *_below(self.priorities, policy.scores)],
            "preempt": ["preempt", "preemption"],
            "bind": ["bind"],
        }

    def check(self, policy: Policy) -> None:
        """Make sure that a policy serves what kube-scheduler is told to ask.

        Raises:
            InputError: it does not.
        """
        if self.port in (HEALTH_PORT, SCHEDULER_PORT):
            raise InputError(
                f"--port {self.port} is where probes and metrics are; choose another one"
            )
        has = {
            "filter": policy.filters,
            "prioritize": policy.scores,
            "preempt": policy.preempts,
            "bind": True,
        }
        for verb, path in self.verbs.items():
            if not has[verb]:
                raise InputError(
                    f"--verb {verb}={path}: policy {policy.name} has no function for {verb}; "
                    f"leave it out"
                )
            known = self.served(policy)[verb]
            if path not in known:
                raise InputError(
                    f"--verb {verb}={path} is not a path that moor serve has for this policy; "
                    f"choose one of {', '.join(known)}"
                )


def read_verbs(texts: Iterable[str]) -> dict[str, str]:
    """The values of ``--verb``, such as ``filter=predicates/fits``.

    Raises:
        InputError: one is not of this form.
    """
    found = {}
    for text in texts:
        verb, equals, path = text.partition("=")
        if verb not in FIELDS or not equals:
            raise InputError(
                f"--verb {text!r} must be VERB=PATH, where VERB is one of {', '.join(FIELDS)}"
            )
        found[verb] = path.strip("/")
    return found


def read_prefix(text: str) -> str:
    """A prefix with a slash in front and none at the end; empty stays empty."""
    plain = text.strip("/")
    return f"/{plain}" if plain else ""


def _below(prefix: str, rules: Iterable[Rule]) -> list[str]:
    return [f"{prefix}/{rule.name}".lstrip("/") for rule in rules]
