"""The advice of checks that look at clusters and extenders, followed to the letter.

Extenders really run, and so does the cluster that cannot be reached at first. `cases` has the
checks that look at files.
"""

import ast
import asyncio
import base64
import dataclasses
import http.server
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mooring import testing
from mooring.deploy.doctor.checks import cluster as cluster_checks
from mooring.deploy.doctor.cluster_reading import read_cluster
from mooring.deploy.doctor.evidence import (
    ClusterEvidence,
    Evidence,
    FoundObject,
    PermissionAnswer,
)
from mooring.deploy.doctor.findings import DoctorFinding
from mooring.deploy.doctor.fixes import apply_edits
from mooring.deploy.doctor.gathering import evidence_of
from mooring.deploy.doctor.permissions import scheduler_permissions
from mooring.deploy.doctor.probing import ask_extenders
from mooring.deploy.doctor.registry import CHECKS
from mooring.deploy.doctor.roles import BoundRole
from mooring.kube.config import find_config
from mooring.testing.certificates import Authority
from mooring.testing.child_process import free_port
from tests.unit.deploy.doctor.cases import CASES, CONFIG
from tests.unit.deploy.doctor.following import advice_helps
from tests.unit.deploy.doctor.roles import advised_roles
from tests.unit.deploy.doctor.test_checks_of_clusters import node, pod
from tests.unit.deploy.extender_test.wrong_extender import Answered, Fault, serving_apart

URL = "http://packer-extender.sched.svc:8888"
HERE = Path(__file__)


def configured(url: str, more: str = "") -> str:
    """A configuration with an extender at an address, and with some more fields of it."""
    return CONFIG.replace(URL, url).replace("  weight: 14\n", f"  weight: 14\n{more}")


def answers(config: str) -> Evidence:
    """What the extender of a configuration answers."""
    evidence = evidence_of([("config.yaml", config)])
    return dataclasses.replace(evidence, probes=asyncio.run(ask_extenders(evidence.extenders)))


def asked(url: str, more: str = "") -> Evidence:
    """What an extender at an address answers."""
    return answers(configured(url, more))


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def test_an_extender_is_started_where_it_is_looked_for(stack: ExitStack) -> None:
    port = free_port()

    def start(_: DoctorFinding) -> Evidence:
        return asked(stack.enter_context(serving_apart(port=port)).url)

    advice_helps(
        "extender-reachable",
        asked(f"http://127.0.0.1:{port}"),
        start,
        advice="Start the extender there, or correct urlPrefix.",
    )


def test_an_extender_is_looked_for_where_it_is(stack: ExitStack) -> None:
    extender = stack.enter_context(serving_apart())
    advice_helps(
        "extender-reachable",
        asked(f"http://127.0.0.1:{free_port()}"),
        lambda _: asked(extender.url),
        advice="Start the extender there, or correct urlPrefix.",
    )


@contextmanager
def plain_extender() -> Iterator[str]:
    """The address of an extender that answers bytes which are no HTTP, as most servers do."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            args = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            names = args.get("NodeNames") or []
            scores = [{"Host": name, "Score": 0} for name in names]
            reply = {"NodeNames": names} if self.path == "/filter" else scores
            body = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with http_server(Handler) as url:
        yield url


@contextmanager
def http_server(handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server that answers as a handler does."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class TestTls:
    @pytest.fixture
    def authority(self, tmp_path: Path) -> Authority:
        return Authority(tmp_path)

    @pytest.fixture
    def url(self, authority: Authority, stack: ExitStack) -> str:
        """An extender whose certificate is for 127.0.0.1 and localhost."""
        pair = authority.server("extender")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.certificate, pair.key)
        return stack.enter_context(serving_apart(tls=context)).url

    @staticmethod
    def trusting(authority: Authority, *more: str) -> str:
        data = base64.b64encode(authority.file.read_bytes()).decode()
        lines = ["enableHTTPS: true", "tlsConfig:", f"  caData: {data}", *more]
        return "".join(f"  {line}\n" for line in lines)

    def test_the_authority_is_written_down(
        self, url: str, authority: Authority, tmp_path: Path
    ) -> None:
        (tmp_path / "other").mkdir()
        advice_helps(
            "extender-tls",
            asked(url, self.trusting(Authority(tmp_path / "other"))),
            lambda _: asked(url, self.trusting(authority)),
            advice="Write the certificate authority that signed the extender's certificate in "
            "tlsConfig.caFile or tlsConfig.caData.",
        )

    def test_a_name_of_the_certificate_is_written_down(
        self, url: str, authority: Authority
    ) -> None:
        other = self.trusting(authority, "  serverName: packer-extender.sched.svc")
        right = self.trusting(authority, "  serverName: localhost")
        advice_helps(
            "extender-tls",
            asked(url, other),
            lambda _: asked(url, right),
            advice="Write a name that the certificate has in urlPrefix or tlsConfig.serverName, "
            "or renew the certificate with this name.",
        )

    def test_an_extender_without_tls_is_asked_without(self, stack: ExitStack) -> None:
        url = stack.enter_context(plain_extender())
        advice_helps(
            "extender-tls",
            asked(url.replace("http:", "https:"), "  enableHTTPS: true\n"),
            lambda _: asked(url),
            advice="Write http:// in urlPrefix and take out enableHTTPS, or serve TLS there.",
        )


def test_an_extender_whose_answers_are_corrected(stack: ExitStack) -> None:
    wrong = Fault(
        verb="prioritize",
        checks=set(),
        raw=lambda extender, _: (
            Answered(b"<html>") if extender.asked[-1][0].endswith("prioritize") else None
        ),
    )
    broken = stack.enter_context(serving_apart(wrong))
    corrected = stack.enter_context(serving_apart())
    advice_helps(
        "extender-answer",
        asked(broken.url),
        lambda _: asked(corrected.url),
        advice="Correct the extender; moor extender-test shows each request and its reply.",
    )


def test_a_verb_that_is_not_served_is_taken_out_or_corrected(stack: ExitStack) -> None:
    extender = stack.enter_context(serving_apart())
    config = configured(extender.url, "  preemptVerb: preemption\n")
    for follow in (
        lambda finding: answers(apply_edits(config, finding.edits)),
        lambda _: answers(config.replace("preemption", "preempt")),
    ):
        advice_helps(
            "extender-verb",
            answers(config),
            follow,
            advice="Write in preemptVerb and urlPrefix the path that the extender serves, or take "
            "preemptVerb out.",
        )


def test_a_slow_extender_gets_more_time(stack: ExitStack) -> None:
    """No extender answers within a microsecond, and the doctor measures how long it takes."""
    extender = stack.enter_context(serving_apart())
    verbs = "  filterVerb: filter\n  prioritizeVerb: prioritize\n"
    config = configured(extender.url, "  httpTimeout: 1us\n").replace(verbs, verbs[:21])
    before = answers(config)
    [measured] = before.probes or ()
    seconds = max(4 * measured.verbs[0].seconds, 1)

    def follow(finding: DoctorFinding) -> Evidence:
        # The extender is as fast as before.
        after = evidence_of([("config.yaml", apply_edits(config, finding.edits))])
        probe = measured._replace(extender=after.extenders[0])
        return dataclasses.replace(after, probes=(probe,))

    advice_helps(
        "extender-timeout",
        before,
        follow,
        advice=f"Write httpTimeout: {seconds:.0f}s, or make the extender faster.",
    )


def cluster_of(kubeconfig: Path) -> Evidence:
    """What a cluster says of itself."""
    config = find_config(kubeconfig, default_file=False)
    assert config is not None
    found, _ = asyncio.run(read_cluster(config, Evidence()))
    return Evidence(cluster=found)


def test_the_kubeconfig_is_corrected(stack: ExitStack, tmp_path: Path) -> None:
    cluster = stack.enter_context(testing.cluster([testing.make_node("a").raw], scheduler=False))
    file = tmp_path / "kubeconfig"

    def read(address: str) -> Evidence:
        file.write_text(cluster.kubeconfig.read_text().replace(cluster.url, address))
        return cluster_of(file)

    advice_helps(
        "cluster-reachable",
        read(f"http://127.0.0.1:{free_port()}"),
        lambda _: read(cluster.url),
        advice="Correct the kubeconfig, or leave the cluster out with --no-cluster.",
    )


def seen(**fields: Any) -> Evidence:
    return Evidence(cluster=ClusterEvidence(**fields))


def test_an_old_cluster_is_upgraded() -> None:
    advice_helps(
        "versions",
        seen(version="v1.24.17"),
        lambda _: seen(version="v1.25.0"),
        advice="Upgrade the cluster to v1.25 or newer.",
    )


def test_mooring_is_upgraded(monkeypatch: pytest.MonkeyPatch) -> None:
    # There is no newer mooring that could be installed: this is all that it would say of itself.
    newer = seen(version="v1.37.0")

    def upgrade(_: DoctorFinding) -> Evidence:
        monkeypatch.setattr(cluster_checks, "KUBERNETES_VERSION", "v1.37.1")
        return newer

    advice_helps(
        "versions",
        newer,
        upgrade,
        advice="Upgrade mooring, or compare its decisions with moor explain first.",
    )


def test_python_is_upgraded() -> None:
    evidence = seen(version="v1.36.4")
    advice_helps(
        "versions",
        dataclasses.replace(evidence, python=(3, 10)),
        lambda _: dataclasses.replace(evidence, python=(3, 11)),
        advice="Install Python 3.11 or newer.",
    )


class Clock(http.server.BaseHTTPRequestHandler):
    """An API server without objects, whose clock is wrong by some seconds."""

    ahead = 0.0

    def do_GET(self) -> None:
        body = json.dumps({"gitVersion": "v1.36.4", "metadata": {}, "items": []}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(404)  # it does not check permissions
        self.send_header("Content-Length", "0")
        self.end_headers()

    def date_time_string(self, timestamp: float | None = None) -> str:
        return super().date_time_string((timestamp or time.time()) + self.ahead)

    def log_message(self, *_: Any) -> None:
        pass


def test_clocks_are_synchronized(
    stack: ExitStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = stack.enter_context(http_server(Clock))
    file = tmp_path / "kubeconfig"
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    clusters = [{"name": "c", "cluster": {"server": url}}]
    config = {"current-context": "c", "contexts": [context], "clusters": clusters}
    file.write_text(json.dumps({**config, "users": [{"name": "u", "user": {}}]}))
    monkeypatch.setattr(Clock, "ahead", -3600.0)

    def synchronize(_: DoctorFinding) -> Evidence:
        monkeypatch.setattr(Clock, "ahead", 0.0)
        return cluster_of(file)

    advice_helps(
        "clock-skew",
        cluster_of(file),
        synchronize,
        advice="Synchronize both clocks (NTP, chrony), here and on the control plane.",
    )


def test_a_role_is_bound() -> None:
    """With the rules that are shown; `tests/e2e/test_doctor.py` does it on a real API server."""
    needed = scheduler_permissions(lease=("kube-system", "packer"))
    before = [PermissionAnswer("joe", one, one.resource != "leases") for one in needed]

    def bind(finding: DoctorFinding) -> Evidence:
        nobody = FoundObject(data={})
        roles = [
            BoundRole(namespace, kind, "advised", list(rules), None, nobody, {})
            for kind, namespace, rules in advised_roles(finding.advice)
        ]
        after = [
            one._replace(allowed=one.allowed or any(role.allows(one.permission) for role in roles))
            for one in before
        ]
        return seen(permissions=tuple(after))

    lease = "{apiGroups: [coordination.k8s.io], resources: [leases]"
    advice_helps(
        "permissions",
        seen(permissions=tuple(before)),
        bind,
        advice=f"Bind to it a Role in kube-system with the rules {lease}, verbs: [create]}}; "
        f"{lease}, resourceNames: [packer], verbs: [get, update]}}.",
    )


def test_a_taint_is_removed(stack: ExitStack) -> None:
    main = testing.make_node("main").raw
    taint = {"key": "own", "effect": "NoSchedule"}
    tainted = {**main, "spec": {**main.get("spec", {}), "taints": [taint]}}
    nodes = [tainted, testing.make_node("worker").raw]
    cluster = stack.enter_context(testing.cluster(nodes, scheduler=False))

    def remove(_: DoctorFinding) -> Evidence:
        patch = {"spec": {"taints": None}}
        merge = "application/merge-patch+json"
        cluster.request("PATCH", "/api/v1/nodes/main", patch, content_type=merge)
        return cluster_of(cluster.kubeconfig)

    advice_helps(
        "one-feasible-node",
        cluster_of(cluster.kubeconfig),
        remove,
        advice="Add a node, or let another one take pods: kubectl taint node main TAINT-.",
    )


def test_schedulers_get_nodes_of_their_own() -> None:
    own = pod("a", node="n1", phase="Running")
    failed = pod("c", "packer", node="n1", phase="Failed", reason="OutOfcpu")
    advice_helps(
        "second-scheduler",
        seen(pods=(own, pod("b", "packer", node="n1", phase="Running"), failed)),
        lambda _: seen(pods=(own, pod("b", "packer", node="n2", phase="Running"))),
        advice="Give each scheduler nodes of its own: taint them, and let its pods tolerate the "
        "taint. Then delete the failed pods: "
        "kubectl delete pods -A --field-selector status.phase=Failed.",
    )


def test_names_are_sent_instead_of_nodes() -> None:
    config = CONFIG.replace("nodeCacheCapable: true", "nodeCacheCapable: false")
    many = ClusterEvidence(nodes=tuple(node(f"n{place}") for place in range(201)))

    def read(text: str) -> Evidence:
        return dataclasses.replace(evidence_of([("config.yaml", text)]), cluster=many)

    advice_helps(
        "node-cache-size",
        read(config),
        lambda finding: read(apply_edits(config, finding.edits)),
        advice="Write nodeCacheCapable: true, and let the extender watch nodes itself, as "
        "moor serve --node-cache does.",
    )


def test_every_check_is_triggered_and_its_advice_is_followed() -> None:
    """Each check has a case of files, or a call of `advice_helps` here, which do both."""
    calls = [
        one.args[0]
        for one in ast.walk(ast.parse(HERE.read_text()))
        if isinstance(one, ast.Call) and getattr(one.func, "id", "") == advice_helps.__name__
    ]
    followed = {str(one.value) for one in calls if isinstance(one, ast.Constant)}
    assert followed | {one.check for one in CASES} == {one.id for one in CHECKS}
