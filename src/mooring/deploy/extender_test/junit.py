"""A run as JUnit XML, for CI systems that show test results.

``moor extender-test -o junit`` prints it. A test case for each finding; hints are not failures, and
what XML cannot hold is replaced. No I/O.
"""

import re
from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree as ET

from mooring.deploy.extender_test.checks import CHECKS, Severity
from mooring.deploy.extender_test.findings import ExtenderReport, Finding

_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(reports: Sequence[ExtenderReport]) -> str:
    """The reports as one XML document."""
    root = ET.Element("testsuites", name="moor extender-test")
    for report in reports:
        suite = ET.SubElement(
            root,
            "testsuite",
            name=_text(report.url),
            tests=str(len(report.findings)),
            failures=str(sum(one.severity not in ("", Severity.HINT) for one in report.failures)),
            skipped=str(sum(one.outcome == "skipped" for one in report.findings)),
        )
        for finding in report.findings:
            _add(suite, finding)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def _add(suite: ET.Element, finding: Finding) -> None:
    place = ".".join(part for part in ("extender", finding.verb, finding.mode) if part)
    case = ET.SubElement(suite, "testcase", classname=place, name=finding.check)
    if finding.outcome == "skipped":
        ET.SubElement(case, "skipped", message=_text(finding.came))
        return
    if finding.outcome != "failed":
        return
    details = _text(
        f"expected: it {CHECKS[finding.check].expects}\nsent: {finding.sent}\n"
        f"came: {finding.came}\nkube-scheduler: {finding.kube_scheduler}\nto do: {finding.advice}"
    )
    if finding.severity == Severity.HINT:
        ET.SubElement(case, "system-out").text = f"hint\n{details}"
        return
    failure = ET.SubElement(case, "failure", type=finding.severity, message=_text(finding.came))
    failure.text = details


def _text(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
