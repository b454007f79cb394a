"""What a check says: findings with a severity, a place, advice, and the edit that follows it.

Made by `checks`, shown by the command line, applied by `fixes`. Plain data, no I/O.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from mooring.deploy.doctor.evidence import Evidence


class DoctorSeverity(StrEnum):
    """How bad a finding is, or what became of a check."""

    ERROR = "error"
    WARNING = "warning"
    OK = "ok"
    NOT_CHECKED = "not checked"


class FindingPlace(NamedTuple):
    """Where something was found.

    Attributes:
        file: the file; empty for an object of the cluster.
        line: counted from 1; 0 if it is not known.
        subject: the object or the setting, such as ``Deployment kube-system/my-scheduler``.
    """

    file: str = ""
    line: int = 0
    subject: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return ", ".join(part for part in (where, self.subject) if part)


class Edit(NamedTuple):
    """One change of a text: at a position, `old` becomes `new`.

    Attributes:
        file: the file that the user gave.
        line: counted from 1.
        column: counted from 0.
        old: the text there; empty to insert.
        new: what it becomes.
    """

    file: str
    line: int
    column: int
    old: str
    new: str


NOWHERE: Final = FindingPlace()


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorFinding:
    """One thing that is wrong.

    Attributes:
        severity: `DoctorSeverity.ERROR` or `DoctorSeverity.WARNING`.
        what: what was found, a sentence.
        advice: what to do, a sentence; with `edits`, they do exactly this.
        place: where.
        edits: the changes of files that follow the advice.
        safe: whether ``--fix`` may make them: nothing else can be meant.
        migrates: the file that ``moor migrate`` has to rewrite; empty if none.
    """

    what: str
    advice: str
    place: FindingPlace = NOWHERE
    severity: DoctorSeverity = DoctorSeverity.ERROR
    edits: tuple[Edit, ...] = ()
    safe: bool = False
    migrates: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorCheck:
    """One named check.

    Attributes:
        id: its name, which is also the heading of its section in the guide.
        title: what is right if it passes, a clause such as ``every extender answers``.
        why: why it matters, a sentence or two.
        judge: finds what is wrong; reads nothing but the evidence.
        lacks: why it cannot be checked with this evidence; empty if it can.
    """

    id: str
    title: str
    why: str
    judge: Callable[["Evidence"], Iterable[DoctorFinding]]
    lacks: Callable[["Evidence"], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What became of one check.

    Attributes:
        check: which.
        findings: what is wrong; none if it passed or was not checked.
        reason: why it was not checked; empty if it was.
    """

    check: DoctorCheck
    findings: tuple[DoctorFinding, ...] = ()
    reason: str = ""

    @property
    def severity(self) -> DoctorSeverity:
        """The worst of its findings, ok, or not checked."""
        if self.reason:
            return DoctorSeverity.NOT_CHECKED
        found = {one.severity for one in self.findings}
        for severity in (DoctorSeverity.ERROR, DoctorSeverity.WARNING):
            if severity in found:
                return severity
        return DoctorSeverity.OK


def run_check(check: DoctorCheck, evidence: "Evidence") -> CheckResult:
    """Judge evidence with one check."""
    reason = check.lacks(evidence)
    if reason:
        return CheckResult(check=check, reason=reason)
    return CheckResult(check=check, findings=tuple(dict.fromkeys(check.judge(evidence))))
