"""The limits in docs/explain/security.md are those of the code."""

import io
import logging
import re
from pathlib import Path

from mooring.cli import policy_loading
from mooring.cli.deploy import given_files
from mooring.cli.log_floods import FloodHandler
from mooring.deploy.migration.texts import MOST_BYTES
from mooring.embedded import store, yaml_body
from mooring.embedded.http import app as embedded_app
from mooring.extender import address, bodies, decision_turns, health_listener
from mooring.extender import http_extender as caller
from mooring.extender.server import ServeOptions
from mooring.framework import hook_answers, left_behind
from mooring.http import handshake, origin, protocol
from mooring.kube import exec_plugin
from mooring.kube.sessions.api_request import DEFAULT_LIMITS
from mooring.live import loop, server
from mooring.live.options import HookLimits
from mooring.log_kinds import once
from mooring.process import file_descriptors as descriptors
from mooring.process import metric_labels
from mooring.yaml_depth import MOST_LEVELS
from mooring.yaml_text import MOST_ALIASED_VALUES

PAGE = Path(__file__).parents[2] / "docs" / "explain" / "security.md"
SERVE = ServeOptions(policy="")
HOOKS = HookLimits()


def size(count: int) -> str:
    for unit, shift in (("MiB", 20), ("KiB", 10)):
        if count >= 1 << shift and count % (1 << shift) == 0:
            return f"{count >> shift} {unit}"
    return f"{count} bytes"


def seconds(count: float) -> str:
    return f"{count:g} s"


def number(count: int) -> str:
    return f"{count:,}"


def kinds_logged() -> int:
    """How many of very many kinds are in the log; what follows is one kind together."""
    stream = io.StringIO()
    logger = logging.Logger("limits")
    logger.addHandler(FloodHandler(lambda: 0.0, stream))
    for kind in range(10_000):
        logger.error("kind %d", kind, extra=once(str(kind)))
    return len(stream.getvalue().splitlines()) - 1


LIMITS = {
    "headers of a request, its target included": (
        f"{size(protocol._HEADER_BYTES)}, {seconds(protocol._HEADER_SECONDS)}"
    ),
    "body of a request to `moor serve`": size(SERVE.max_body),
    "nodes, and parts, of a request to `moor serve`": (
        f"{number(bodies._MOST_NODES)}, {number(bodies._MOST_PARTS)}"
    ),
    "pod of a request to `moor serve`": size(bodies._LARGEST_POD_BYTES),
    "bodies and replies of `moor serve` in memory, together": size(SERVE.max_held),
    "requests that wait in `moor serve`": number(SERVE.max_waiting),
    "connections to `moor serve`, those that have not shaken hands included": (
        number(SERVE.max_connections)
    ),
    "TLS handshake": seconds(handshake.HANDSHAKE_SECONDS),
    "connections to `moor run`": number(server.MAX_CONNECTIONS),
    "connections to the health port of `moor serve`": number(health_listener.MAX_CONNECTIONS),
    "time to send a body and to get an answer in `moor serve`": seconds(SERVE.timeout),
    "part of it for a policy's functions": f"{decision_turns.FUNCTION_PART:.0%}".replace("%", " %"),
    "time a client may take to read a reply": seconds(protocol.WholeBodyProtocol.reply_seconds),
    "body of a request to `moor cluster`": size(embedded_app.MAX_BODY),
    "YAML: levels, parts": f"{number(MOST_LEVELS)}, {number(yaml_body._MOST_PARTS)}",
    "values of YAML in a file once its aliases are written out": number(MOST_ALIASED_VALUES),
    "files of `moor migrate` and `moor doctor`: size, number, size of all": (
        f"{size(MOST_BYTES)}, {number(given_files.MOST_FILES)}, "
        f"{size(given_files.MOST_BYTES_TOGETHER)}"
    ),
    "import of a policy in `moor check`, `moor manifests` and `moor doctor`": (
        seconds(policy_loading.LOAD_SECONDS)
    ),
    "changes of a resource that `moor cluster` remembers": number(store.HISTORY),
    "time of a plugin's hooks in `moor run`": seconds(HOOKS.decision_seconds),
    "time of a hook that awaits around a binding": seconds(HOOKS.binding_seconds),
    "hooks of a plugin, or functions of `moor serve`, that outlive their cancellation": (
        number(left_behind.MOST_LEFT_BEHIND)
    ),
    "writes of `moor run` under way or waiting": number(loop._MOST_WRITES),
    "reply of an extender that `moor run` asks": (
        f"{size(caller.MAX_REPLY_BYTES)}, {seconds(address._DEFAULT_SECONDS)}"
    ),
    "request to the API server": seconds(DEFAULT_LIMITS.request_seconds),
    "connection to the API server": seconds(DEFAULT_LIMITS.connect_seconds),
    "program that a kubeconfig's `exec` names": seconds(exec_plugin.TIME_LIMIT_SECONDS),
    "reason that a plugin gives": f"{number(hook_answers._MOST_REASON)} characters",
    "values of a metric's label": number(metric_labels.MOST_VALUES),
    "lines about rejected web pages": f"{60 / origin._LOG_SECONDS:g} a minute",
    "kinds of errors that are logged apart from each other": (f"{number(kinds_logged())} a minute"),
    "file descriptors a server needs to start": number(descriptors.LEAST),
}


def rows() -> dict[str, tuple[str, str]]:
    """Limit and option, by what is limited."""
    text = PAGE.read_text().partition("\n## Limits\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\| (.+?) \| (.+?) \| ?(.*?) ?\|$", text, re.MULTILINE)
    return {what: (limit, option) for what, limit, option in found if what not in ("what", "---")}


def test_every_limit_is_what_the_code_says() -> None:
    assert {what: limit for what, (limit, _) in rows().items()} == LIMITS


def test_every_option_exists() -> None:
    reference = (PAGE.parents[1] / "reference" / "cli.md").read_text()
    options = [option for _, option in rows().values() if option.startswith("`--")]
    assert len(options) > 5
    assert [option for option in options if f"| {option} |" not in reference] == []
