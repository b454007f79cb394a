"""What a run found out: one finding for each check, verb and mode.

The modules with the checks report here; `conformance` returns it, and the command line prints it.
No I/O. The first failure of a check, verb and mode is kept, whatever passes later.
"""

from collections.abc import Collection
from typing import Final, Literal

import msgspec

from mooring.deploy.extender_test.checks import CHECKS, Severity
from mooring.wording import escaped

Verb = Literal["filter", "prioritize", "preempt", "bind"]
#: What kube-scheduler sends: names of nodes (``nodeCacheCapable: true``), or whole nodes.
Mode = Literal["names", "whole"]
#: The same, or empty where it does not matter.
AnyVerb = Literal["filter", "prioritize", "preempt", "bind", ""]
AnyMode = Literal["names", "whole", ""]
Outcome = Literal["passed", "failed", "skipped"]

#: Modes in words.
MODE_WORDS: Final[dict[str, str]] = {"names": "nodes by name", "whole": "whole nodes", "": ""}
VERBS: Final[tuple[Verb, ...]] = ("filter", "prioritize", "preempt", "bind")


class Finding(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of one check.

    Attributes:
        check: its id.
        verb: what was asked; empty where it does not matter.
        mode: whether names or whole nodes were sent; empty where it does not matter.
        outcome: whether it passed.
        severity: how bad it is that it failed; empty otherwise.
        sent: what was sent, in words.
        came: what came back; why it was skipped, if it was.
        kube_scheduler: what kube-scheduler does with it.
        advice: what to do.
    """

    check: str
    verb: AnyVerb = ""
    mode: AnyMode = ""
    outcome: Outcome = "passed"
    severity: Severity | Literal[""] = ""
    sent: str = ""
    came: str = ""
    kube_scheduler: str = ""
    advice: str = ""


class LatencyRow(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How long one verb took for one number of nodes, in milliseconds.

    Attributes:
        verb, mode: what was asked.
        nodes: how many nodes.
        requests: how many answers were measured.
        failed: how many requests got no usable answer.
        request_bytes: how much was sent each time.
        p50, p90, p99, max: the percentiles.
    """

    verb: Verb
    mode: Mode
    nodes: int
    requests: int
    failed: int
    request_bytes: int
    p50: float
    p90: float
    p99: float
    max: float


class Findings:
    """Collects findings of one extender.

    Args:
        ignorable: whether kube-scheduler goes on without this extender.
        skip: the ids of checks that nobody wants to hear of.
    """

    def __init__(self, *, ignorable: bool = False, skip: Collection[str] = ()) -> None:
        self._ignorable = ignorable
        self._skip = frozenset(skip)
        self._found: dict[tuple[str, str, str], Finding] = {}
        self.latency: list[LatencyRow] = []
        self.notes: list[str] = []

    @property
    def all(self) -> list[Finding]:
        """All findings, in the order of the list of checks."""
        places = {name: place for place, name in enumerate(CHECKS)}
        return sorted(self._found.values(), key=lambda one: places[one.check])

    def served(self, verb: Verb) -> bool:
        """Whether somebody answers a verb."""
        return any(
            one.outcome == "passed" and one.verb == verb and one.check == "served"
            for one in self._found.values()
        )

    def passed(self, check: str, verb: AnyVerb = "", mode: AnyMode = "") -> None:
        """A check passed; unless it failed before."""
        self._put(Finding(check=check, verb=verb, mode=mode))

    def skipped(self, check: str, why: str, verb: AnyVerb = "", mode: AnyMode = "") -> None:
        """A check could not be made."""
        self._put(Finding(check=check, verb=verb, mode=mode, outcome="skipped", came=why))

    def failed(
        self,
        check: str,
        verb: AnyVerb = "",
        mode: AnyMode = "",
        *,
        sent: str,
        came: str,
        severity: Severity | None = None,
    ) -> None:
        """A check failed.

        Args:
            check: its id.
            verb, mode: what was asked.
            sent: what was sent, in words.
            came: what came back, in words.
            severity: if it is not that of the check.
        """
        about = CHECKS[check]
        finding = Finding(
            check=check,
            verb=verb,
            mode=mode,
            outcome="failed",
            severity=self._severity(severity or about.severity, verb),
            sent=sent,
            came=escaped(came),
            kube_scheduler=self._consequence(about.consequence, verb),
            advice=about.advice,
        )
        self._put(finding, replace=True)

    def _severity(self, severity: Severity, verb: str) -> Severity:
        # Without scores, or without an extender that is ignorable, kube-scheduler goes on.
        spared = verb == "prioritize" or self._ignorable
        return Severity.COSTS if spared and severity is Severity.BREAKS else severity

    def _consequence(self, consequence: str, verb: str) -> str:
        if "treats the call as failed" in consequence or "gets no usable answer" in consequence:
            if verb == "prioritize":
                return f"{consequence}: it schedules without this extender's scores"
            if self._ignorable:
                return f"{consequence}: it schedules without this extender (ignorable)"
            if verb in ("filter", "bind"):
                return f"{consequence}: the pod stays pending"
            if verb == "preempt":
                return f"{consequence}: it preempts nothing"
        return consequence

    def _put(self, finding: Finding, *, replace: bool = False) -> None:
        if finding.check in self._skip:
            return
        key = (finding.check, finding.verb, finding.mode)
        known = self._found.get(key)
        if known is None or (known.outcome != "failed" and (replace or known.outcome == "skipped")):
            self._found[key] = finding


class ExtenderReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All about one extender.

    Attributes:
        url: its address, without credentials.
        reachable: whether it answered at all.
        findings: one for each check, verb and mode.
        notes: what was not asked, and why; one sentence each.
        latency: one row for each verb, mode and number of nodes.
    """

    url: str
    reachable: bool
    findings: list[Finding]
    notes: list[str]
    latency: list[LatencyRow]

    @property
    def failures(self) -> list[Finding]:
        """The checks that failed, the worst first."""
        order = list(Severity)
        failed = [one for one in self.findings if one.outcome == "failed"]
        return sorted(failed, key=lambda one: order.index(Severity(one.severity)))

    @property
    def conforms(self) -> bool:
        """Whether nothing failed but what is only a hint."""
        return all(one.severity == Severity.HINT for one in self.failures)
