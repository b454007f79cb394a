"""One reader of containers: `migration` and `doctor` see the same programs and flags."""

import json
from typing import Any

import pytest
import typer
import yaml

from mooring.cli.main import app
from mooring.deploy.container_programs import (
    KUBE_SCHEDULER,
    MOOR_RUN,
    MOOR_SERVE,
    SWITCHES,
    container_programs,
)
from mooring.deploy.doctor.program_flags import programs_of
from mooring.deploy.migration import migrate_all
from mooring.deploy.migration.scheduler_args import scheduler_args

IMAGE = "registry.example/kube-scheduler:v1.30.0"
DIGEST = f"registry.example:5000/kube-scheduler@sha256:{'0' * 64}"
PORT = {"port": "1"}


@pytest.mark.parametrize(
    ("image", "words", "name", "flags"),
    [
        (IMAGE, [], KUBE_SCHEDULER, {}),
        (IMAGE, ["--port=1"], KUBE_SCHEDULER, PORT),
        (DIGEST, ["--port=1"], KUBE_SCHEDULER, PORT),
        ("x", ["--port=1"], "", {}),
        (IMAGE, ["cat", "x", "--port=1"], "", {}),
        ("x", ["/sbin/tini", "--", "kube-scheduler", "--port", "1"], KUBE_SCHEDULER, PORT),
        ("x", ["/entrypoint.sh", "kube-scheduler", "--port=1"], KUBE_SCHEDULER, PORT),
        ("x", ["/go-runner", "--log-file=/l", "kube-scheduler", "--port=1"], KUBE_SCHEDULER, PORT),
        ("x", ["gosu", "nobody", "nice", "-n", "5", "kube-scheduler"], KUBE_SCHEDULER, {}),
        ("x", ["cp", "/usr/local/bin/kube-scheduler", "/out"], "", {}),
        ("x", ["/hyperkube", "scheduler", "--port=1"], KUBE_SCHEDULER, PORT),
        ("x/hyperkube:v1.15.0", ["kube-scheduler", "--port=1"], KUBE_SCHEDULER, PORT),
        ("x/hyperkube:v1.15.0", ["scheduler", "--port=1"], KUBE_SCHEDULER, PORT),
        ("x", ["/hyperkube", "kubelet"], "", {}),
        ("x", ["/ours", "--policy-configmap=p"], KUBE_SCHEDULER, {"policy-configmap": "p"}),
        ("x", ["/ours.sh", "--policy-configmap=p"], KUBE_SCHEDULER, {"policy-configmap": "p"}),
        ("x", ["kube-scheduler", "--leader_elect", "--a_b", "c"], KUBE_SCHEDULER,
         {"leader-elect": "true", "a-b": "c"}),
        ("x", ["kube-scheduler", "--profiling", "x", "--config"], KUBE_SCHEDULER,
         {"profiling": "true", "config": ""}),
        ("x", ["kube-scheduler", "--log-dir", "/l"], KUBE_SCHEDULER, {"log-dir": "/l"}),
        ("x", ["kube-scheduler", "--config", "c", "--", "--port=1"], KUBE_SCHEDULER,
         {"config": "c"}),
        ("x", ["myapp", "--name", "moor", "run"], "", {}),
        ("x", ["/usr/local/bin/moor", "run", "--reload", "p.py", "--no-leader-elect"], MOOR_RUN,
         {"reload": "true", "no-leader-elect": "true"}),
        ("x", ["moor", "serve", "p.py", "--port", "1"], MOOR_SERVE, PORT),
        ("x", ["moor", "check", "p.py"], "", {}),
        ("x", ["sh", "-c", "exec moor run p.py --port=1"], MOOR_RUN, PORT),
        ("x", ["bash", "-euo", "pipefail", "-c", "kube-scheduler --port 1"], KUBE_SCHEDULER, PORT),
        ("x", ["sh", "-c", "tini -- kube-scheduler --port=1"], KUBE_SCHEDULER, PORT),
    ],
)  # fmt: skip
def test_both_sides_read_the_same(
    image: str, words: list[str], name: str, flags: dict[str, str]
) -> None:
    found = container_programs(image, words).programs
    assert [(one.name, {flag.name: flag.value for flag in one.flags}) for one in found] == (
        [(name, flags)] if name else []
    )
    for split in range(len(words) + 1):
        container: dict[str, Any] = {"image": image}
        container |= {"command": words[:split]} if split else {}
        container |= {"args": words[split:]} if split < len(words) else {}
        seen = [
            (program, {flag: value for flag, (value, _) in of_program.items()})
            for program, of_program, _ in programs_of(container, ())
        ]
        assert seen == ([(name, flags)] if name else [])
        args = scheduler_args(yaml.compose(json.dumps(container)))
        assert (args is not None) == (name == KUBE_SCHEDULER)
        if args is not None:
            assert {one: args.value(one) for one in flags} == flags


def test_a_flag_and_its_value_may_stand_in_two_lists() -> None:
    pod = """\
apiVersion: v1
kind: Pod
metadata: {name: s}
spec:
  containers:
  - name: s
    command: [kube-scheduler, --v=2, --log-dir]
    args: [/l, --config=/c]
"""
    [result] = migrate_all([("pod.yaml", pod)])
    container = yaml.safe_load(result.text)["spec"]["containers"][0]
    assert container["command"] == ["kube-scheduler", "--v=2"]
    assert container["args"] == ["--config=/c"]


@pytest.mark.parametrize("program", [MOOR_RUN, MOOR_SERVE])
def test_the_switches_of_moor_are_those_of_its_commands(program: str) -> None:
    group: Any = typer.main.get_command(app)
    command = group.get_command(None, program.split()[1])
    names = {
        name.lstrip("-")
        for one in command.params
        if getattr(one, "is_flag", False) or getattr(one, "count", False)
        for name in (*one.opts, *one.secondary_opts)
    }
    assert names | {"help", "h"} == SWITCHES[program]
