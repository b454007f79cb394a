"""The answer of ``moor whatif`` as plain data, for programs."""

from typing import Any

import msgspec

from mooring.simulator.whatif.report import WhatIfReport


def as_dict(report: WhatIfReport) -> dict[str, Any]:
    """A report as plain data; amounts of money are rounded to a millionth."""
    found: dict[str, Any] = msgspec.to_builtins(report)
    found["pending"] = [one._asdict() for one in report.pending]
    if report.cost is not None:
        found["cost"] = {
            key: round(value, 6) if isinstance(value, float) else value
            for key, value in found["cost"].items()
        }
    else:
        del found["cost"]
    return found
