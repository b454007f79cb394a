"""Schedulers whose manifests start them with ``sh -c``."""

import pytest
import yaml

from mooring.deploy.doctor.gathering import evidence_of
from mooring.deploy.doctor.registry import run_checks
from mooring.deploy.doctor.schedulers import processes
from mooring.deploy.migration import Migrated, migrate_all
from tests.unit.deploy.migration.migrated_configuration import configuration, notes

POLICY = '{"kind": "Policy", "apiVersion": "v1", "priorities": []}\n'
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: sched, namespace: kube-system}
spec:
  containers:
  - name: scheduler
    image: registry.example/kube-scheduler:v1.30.0  # ours
%s
    volumeMounts:
    - {name: p, mountPath: /etc/p}
  volumes:
  - name: p
    hostPath: {path: /etc/p}
"""
COMMANDS = {
    "flow": """\
    command: ["/bin/sh", "-c", "kube-scheduler --policy-config-file=/etc/p/p.json --v=2"]""",
    "plain": """\
    command:
    - /bin/sh
    - -c
    - exec kube-scheduler --policy-config-file=/etc/p/p.json --v=2""",
    "single quotes": """\
    command:
    - /bin/sh
    - -ec
    - 'kube-scheduler --policy-config-file "/etc/p/p.json" --v=2'""",
    "block": """\
    command: [/bin/sh, -c]
    args:
    - |
      set -e
      exec /usr/local/bin/kube-scheduler \\
        --policy-config-file=/etc/p/p.json \\
        --v=2""",
    "folded": """\
    command:
    - sh
    - -c
    - >-
      kube-scheduler
      --policy-config-file=/etc/p/p.json
      --v=2""",
    "log file": """\
    args: ["bash", "-c", "kube-scheduler --policy-config-file=/etc/p/p.json --v=2 >>/l 2>&1"]""",
}


def migrated(command: str) -> Migrated:
    return migrate_all([("pod.yaml", POD % command), ("p.json", POLICY)])[0]


def string(text: str) -> str:
    [pod] = yaml.safe_load_all(text)
    container = pod["spec"]["containers"][0]
    found: str = [*container.get("command", ()), *container.get("args", ())][-1]
    return found


@pytest.mark.parametrize("style", COMMANDS)
def test_flags_in_the_string_are_rewritten_and_the_rest_stays(style: str) -> None:
    old = string(POD % COMMANDS[style])
    result = migrated(COMMANDS[style])
    flag = next(one for one in ("--policy-config-file=", "--policy-config-file ") if one in old)
    value = '"/etc/p/p.json"' if "single" in style else "/etc/p/p.json"
    assert string(result.text) == old.replace(f"{flag}{value}", "--config=/etc/p/p.json")
    assert (result.state, result.found) == ("migrated", ("arguments",))
    assert "# ours" in result.text
    again = migrate_all([("pod.yaml", result.text)])[0]
    assert again.text == result.text


def test_the_policy_becomes_the_file_of_the_new_flag() -> None:
    _, policy = migrate_all([("pod.yaml", POD % COMMANDS["flow"]), ("p.json", POLICY)])
    assert configuration(policy.text)["profiles"]


def test_flags_without_a_policy_become_a_config_map() -> None:
    command = '    command: [sh, -c, "kube-scheduler --scheduler-name=mine --port 0 --v=2"]'
    [result] = migrate_all([("pod.yaml", POD % command)])
    pod, config_map = yaml.safe_load_all(result.text)
    assert pod["spec"]["containers"][0]["command"][2] == (
        "kube-scheduler --config=/etc/kubernetes/scheduler-config/config.yaml --v=2"
    )
    found = configuration(config_map["data"]["config.yaml"])
    assert found["profiles"][0]["schedulerName"] == "mine"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("kube-scheduler --policy-config-file=$POLICY", "the shell sets --policy-config-file="),
        ("if true; then kube-scheduler --policy-config-file=/x; fi", "it uses if"),
        ("(kube-scheduler --port=0)", "is not understood"),
        ("kube-scheduler --port=0 & kube-scheduler --port=0", "it starts several schedulers"),
        ("start kube-scheduler --port=0", "it starts something else"),
    ],
)
def test_a_string_that_is_too_clever_is_left_and_a_comment_says_so(command: str, why: str) -> None:
    text = POD % f"    command: [sh, -c, {command!r}]"
    [result] = migrate_all([("pod.yaml", text)])
    comment, _, rest = result.text.partition("apiVersion")
    assert f"apiVersion{rest}" == text
    said = " ".join(comment.replace("#", "").split())
    assert "the string for sh -c is left as it is, because" in said
    assert why in said
    assert "--policy-config-file" in said or "--port" in said
    assert result.state == "noted"
    assert migrate_all([("pod.yaml", result.text)])[0].text == result.text


def test_a_clever_string_without_old_flags_is_nobody_s_business() -> None:
    text = POD % "    command: [sh, -c, 'if true; then kube-scheduler --config=/x; fi']"
    [result] = migrate_all([("pod.yaml", text)])
    assert (result.text, result.notes) == (text, ())


def test_words_that_the_shell_expands_are_mentioned() -> None:
    command = '    command: [sh, -c, "kube-scheduler --policy-config-file=/etc/p/p.json $MORE"]'
    assert "the shell sets $MORE" in notes(migrated(command), action=True)


def test_the_doctor_sees_the_flags_of_a_string() -> None:
    evidence = evidence_of([("pod.yaml", POD % COMMANDS["block"]), ("p.json", POLICY)])
    [process] = processes(evidence)
    assert process.flag("policy-config-file") == "/etc/p/p.json"
    [finding] = next(one.findings for one in run_checks(evidence) if one.check.id == "removed-flag")
    assert finding.advice == "Run moor migrate --in-place pod.yaml."
    assert finding.edits == ()
    after = evidence_of([("pod.yaml", migrated(COMMANDS["block"]).text)])
    assert not [one for one in run_checks(after) if one.check.id == "removed-flag" and one.findings]
