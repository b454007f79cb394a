"""The HTML file: a page, its style, its script and the data, all in one, and nothing from outside.

Names in a result may be anything. The data stand in the page as JSON without ``<``, ``>`` and
``&``, so that nothing in it ends the script; the script shows names as texts only.
"""

from importlib.resources import files
from typing import Final

import msgspec

from mooring.simulator.report.report_data import report_data
from mooring.simulator.result import SimulationResult

#: Characters that mean something to HTML, or end a line of a script, as JSON has them otherwise.
_ESCAPES: Final = {ord(one): f"\\u{ord(one):04x}" for one in "<>&\u2028\u2029"}
#: The browser loads nothing, whatever the page says.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>moor simulate</title>
<style>
{style}</style>
</head>
<body>
<main id="page"><noscript>This report needs JavaScript to draw its plots.</noscript></main>
<script type="application/json" id="data">{data}</script>
<script>
{script}</script>
</body>
</html>
"""


def report_page(result: SimulationResult) -> bytes:
    """The whole file."""
    folder = files("mooring.simulator.report")
    data = msgspec.json.encode(report_data(result), order="deterministic").decode()
    page = _PAGE.format(
        policy=_POLICY,
        style=folder.joinpath("report.css").read_text("utf-8"),
        data=data.translate(_ESCAPES),
        script=folder.joinpath("report.js").read_text("utf-8"),
    )
    return page.encode()
