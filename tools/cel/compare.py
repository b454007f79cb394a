"""Compares mooring's answers about devices with those of kube-scheduler's compiler.

    python -m tools.cel.compare --count 20000 --seed 1     # random expressions
    python -m tools.cel.compare --record                   # write the corpus of the tests

Needs Go; builds `tools/cel` first.
"""

import argparse
import gzip
import itertools
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from mooring.cel.device_selector import (
    CelCompileError,
    CelCostError,
    CelRuntimeError,
    DeviceInput,
    compile_selector,
)
from tools.cel.devices import DEVICES, device_input
from tools.cel.generator import Generator
from tools.cel.handmade import EXPRESSIONS

HERE: Final = Path(__file__).parent
CORPUS: Final = HERE.parents[1] / "tests/parity/selectors.ndjson.gz"
Case = dict[str, Any]


def answer(expression: str, device: DeviceInput) -> tuple[str, int | None, str]:
    """What mooring says: true, false, compile, runtime or cost; the cost; the error."""
    try:
        matches, cost = compile_selector(expression).evaluate(device)
    except CelCompileError as error:
        return "compile", None, str(error)
    except CelCostError as error:
        return "cost", None, str(error)
    except CelRuntimeError as error:
        return "runtime", None, str(error)
    return str(matches).lower(), cost, ""


def kubernetes(cases: Iterable[Case], program: Path, *options: str) -> list[Case]:
    """The answers of Kubernetes."""
    lines = (
        json.dumps({"expression": case["expression"], "device": DEVICES[case["device"]]})
        for case in cases
    )
    done = subprocess.run(
        [program, *options], input="\n".join(lines), capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def build(folder: Path) -> Path:
    """Compile the Go program."""
    subprocess.run(["go", "build", "-o", folder / "selectors", "."], cwd=HERE, check=True)
    return folder / "selectors"


def main() -> int:
    """Run; 1 if answers differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", type=Path, help="the Go program, if it is built")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--costs", action="store_true", help="costs must agree, too")
    parser.add_argument("--show", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = options.program or build(Path(folder))
        cases: list[Case] = list(itertools.islice(Generator(options.seed).cases(), options.count))
        if options.record or options.count == 0:
            cases += [
                {"expression": text, "device": device}
                for text in EXPRESSIONS
                for device in ("gpu", "nic")
            ]
        answers = kubernetes(cases, program)
    if options.record:
        record(cases, answers)
    return compare(cases, answers, options.show, costs=options.costs)


def record(cases: list[Case], answers: list[Case]) -> None:
    """Write the corpus."""
    lines = [
        json.dumps({**case, "outcome": given["outcome"], "cost": given.get("cost")})
        for case, given in zip(cases, answers, strict=True)
    ]
    data = "".join(f"{line}\n" for line in dict.fromkeys(lines)).encode()
    CORPUS.write_bytes(gzip.compress(data, mtime=0))
    print(f"{len(set(lines))} cases, {CORPUS.stat().st_size} bytes")


def compare(cases: list[Case], answers: list[Case], show: int, *, costs: bool) -> int:
    """Print what differs and how much agrees."""
    devices = {name: device_input(described) for name, described in DEVICES.items()}
    outcomes: Counter[str] = Counter()
    n_wrong = n_costs = 0
    for case, wanted in zip(cases, answers, strict=True):
        outcome, cost, error = answer(case["expression"], devices[case["device"]])
        outcomes[wanted["outcome"]] += 1
        wrong = outcome != wanted["outcome"]
        wrong_cost = not wrong and cost is not None and cost != wanted.get("cost")
        n_wrong += wrong
        n_costs += wrong_cost
        if (wrong or (wrong_cost and costs)) and n_wrong + n_costs * costs <= show:
            print(f"{case['device']}: {case['expression']}")
            print(f"  Kubernetes: {wanted['outcome']} {wanted.get('cost')} {wanted.get('error')}")
            print(f"  mooring: {outcome} {cost} {error}")
    print(f"{len(cases)} cases {dict(outcomes)}: {n_wrong} differ, {n_costs} costs differ")
    return int(n_wrong > 0 or (costs and n_costs > 0))


if __name__ == "__main__":
    sys.exit(main())
