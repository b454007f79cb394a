"""Compares mooring with kube-scheduler's own answers: ``python -m tools.parity FILES``.

Reads files of test vectors, evaluates every pod of every case and compares value by value: what a
record says, as for `moor explain`, and what `moor run` does (`parity_run`). Prints agreement for
each file and each plugin, how many pods these were, and the last line ``parity: X of Y checks
agree``; the exit code is 1 if a check differs. With ``--oracle PROGRAM`` the files may also hold
cases without answers, and ``-`` reads them from a pipe.
"""

import argparse
import gzip
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from mooring.errors import MooringError
from mooring.explaining.explainer import Explainer
from mooring.model.quantity import parse_quantity
from tools.parity_run import RunDecision, run_decisions

VECTORS = Path(__file__).parents[1] / "tests" / "parity" / "vectors"
#: When the cases are decided: devices have taken too long in 2020, and in 2099 they have time.
NOW_NS = 1_800_000_000 * 10**9
#: What belongs to no plugin.
DECISION = "(decision)"
PROFILES = "(profiles)"
PREEMPTION = "DefaultPreemption"
DEVICES = "DynamicResources"
#: What a scheduler does, which takes short cuts; the rest is what a record says.
RUN = "(run)"
_EXPRESSION_ERROR = re.compile(r".*?CEL (compile|runtime) error:")
#: The extension points that vectors list for each profile.
POINTS = ("preEnqueue", "preFilter", "filter", "postFilter", "preScore", "score")


class Place(NamedTuple):
    """Where a value is: whose it is, what it is, and for which node."""

    plugin: str
    what: str
    node: str = ""


class Check(NamedTuple):
    """One comparable value, as kube-scheduler and as mooring have it."""

    case: str
    pod: str
    place: Place
    expected: object
    got: object

    @property
    def agrees(self) -> bool:
        """Whether both are the same."""
        return self.expected == self.got

    def __str__(self) -> str:
        where = " ".join(part for part in (self.case, self.pod, *self.place) if part)
        return f"{where}\n    expected {self.expected}\n    got      {self.got}"


class ParityCounts:
    """How many checks there are and how many agree, by plugin."""

    def __init__(self) -> None:
        self.agree: Counter[str] = Counter()
        self.every: Counter[str] = Counter()

    @property
    def total(self) -> tuple[int, int]:
        """Over all plugins."""
        return self.agree.total(), self.every.total()

    def add(self, check: Check) -> None:
        """Count a check."""
        self.every[check.place.plugin] += 1
        self.agree[check.place.plugin] += check.agrees


def compare(case: Mapping[str, Any]) -> Iterator[Check]:
    """Evaluate one case and compare all its values."""
    given, expect = case["case"], case["expect"]
    try:
        explainer = Explainer(
            given["objects"], given.get("config"), pending=given["pending"], now_ns=lambda: NOW_NS
        )
    except MooringError as error:
        yield Check(given["id"], "", Place(DECISION, "case"), "can be read", str(error))
        return
    profiles = {
        name: {point: [(one.name, one.weight) for one in profile.points[point]] for point in POINTS}
        for name, profile in explainer.profiles.items()
    }
    yield from _compare(given["id"], "", _profiles(expect["profiles"]), _points(profiles))
    out_of_time = timed_out(expect)
    for number, (pod, expected) in enumerate(zip(given["pending"], expect["pods"], strict=True)):
        if number in out_of_time:
            continue
        wanted = values(expected)
        try:
            got = values(explainer.record(pod).to_dict())
        except MooringError as error:
            got = dict.fromkeys(wanted, f"{type(error).__name__}: {error}")
        yield from _compare(given["id"], expected["pod"], wanted, got)
    for decision in run_decisions(explainer, given["pending"], out_of_time):
        expected = expect["pods"][decision.pod]
        yield from _compare(given["id"], expected["pod"], *_run_values(expected, decision))


def timed_out(expect: Mapping[str, Any]) -> set[int]:
    """The numbers of the pods for which kube-scheduler found no devices in ten seconds.

    They are left out: that depends on the machine, and here nobody looks at a clock.
    """
    text = "timed out trying to allocate devices"
    return {number for number, pod in enumerate(expect["pods"]) if text in (pod.get("error") or "")}


def _compare(
    case: str, pod: str, expected: Mapping[Place, object], got: Mapping[Place, object]
) -> Iterator[Check]:
    for place in sorted(expected.keys() | got.keys()):
        yield Check(case, pod, place, expected.get(place), got.get(place))


def _profiles(expected: Mapping[str, Mapping[str, Any]]) -> dict[Place, object]:
    return _points(
        {
            name: {
                point: [(one["name"], one.get("weight", 0)) for one in points.get(point) or ()]
                for point in POINTS
            }
            for name, points in expected.items()
        }
    )


def _points(profiles: Mapping[str, Mapping[str, list[tuple[str, int]]]]) -> dict[Place, object]:
    return {
        Place(PROFILES, f"{name} {point}"): plugins
        for name, points in profiles.items()
        for point, plugins in points.items()
    }


def values(pod: Mapping[str, Any]) -> dict[Place, object]:
    """Every comparable value of a pod's record, by its place."""
    out: dict[Place, object] = {}
    for what in ("profile", "priority", "gated"):
        out[Place(DECISION, what)] = pod.get(what)
    out[Place(DECISION, "error")] = _error(pod.get("error"))
    for what in ("feasible", "best", "selected"):
        out[Place(DECISION, what)] = sorted(pod.get(what) or ())
    for what in ("nominatedShortcut", "feasibleWithoutNominated"):
        if pod.get(what) is not None:
            out[Place(DECISION, what)] = pod[what]
    for plugin, one in pod["preEnqueue"].items():
        out[Place(plugin, "preEnqueue")] = _status(one)
    for plugin, one in pod["preFilter"].items():
        nodes = one.get("nodes")
        out[Place(plugin, "preFilter")] = (*_status(one), nodes and sorted(nodes))
    for plugin, answers in pod["filter"].items():
        if isinstance(answers, str):
            out[Place(plugin, "filter")] = answers
        else:
            for node, one in answers.items():
                out[Place(plugin, "filter", node)] = _status(one)
    for node, one in (pod.get("nodeStatus") or {}).items():
        out[Place(DECISION, "nodeStatus", node)] = (one["plugin"], one["code"])
    for plugin, one in (pod.get("score") or {}).items():
        out[Place(plugin, "weight")] = one["weight"]
        out[Place(plugin, "skipped")] = one["skipped"]
        for what in ("raw", "normalized"):
            for node, score in (one.get(what) or {}).items():
                out[Place(plugin, what, node)] = score
    for node, score in (pod.get("total") or {}).items():
        out[Place(DECISION, "total", node)] = score
    if pod.get("postFilter") is not None:
        out.update(_preemption(pod["postFilter"]))
    out.update(_devices(pod))
    return out


def _devices(pod: Mapping[str, Any]) -> Iterator[tuple[Place, object]]:
    for node, claims in (pod.get("allocations") or {}).items():
        for claim, allocation in claims.items():
            yield Place(DEVICES, f"allocation of {claim}", node), _comparable(allocation)
    for node, claim in (pod.get("extendedResourceClaims") or {}).items():
        yield Place(DEVICES, "extendedResourceClaim", node), _comparable(claim)
    yield Place(DEVICES, "bindingWait"), sorted(pod.get("bindingWait") or ())
    for node, one in (pod.get("preBind") or {}).items():
        yield Place(DEVICES, "preBind", node), _status(one)
    found = pod.get("postFilterDynamicResources")
    if found is not None:
        yield Place(DEVICES, "postFilter"), _status(found)
        for what in ("deallocates", "deletes"):
            yield Place(DEVICES, what), sorted(found.get(what) or ())


def _run_values(
    expected: Mapping[str, Any], decision: RunDecision
) -> tuple[dict[Place, object], dict[Place, object]]:
    """What kube-scheduler and `moor run` say, as far as a scheduler says it at all."""
    said = decision.said
    pairs: dict[tuple[str, str], tuple[object, object]] = {
        ("error", ""): (_error(expected.get("error")), _error(said["error"])),
        ("selected", ""): (sorted(expected.get("selected") or ()), said["selected"]),
    }
    if "nodeStatus" in said and not expected.get("error"):
        pairs["nodeStatus", ""] = (expected.get("nodeStatus") or {}, said["nodeStatus"])
    if not _is_ended(expected, said) and not (expected.get("error") or said["error"]):
        pairs["postFilter", ""] = (
            _run_preemption(expected.get("postFilter")),
            _run_preemption(said.get("postFilter")),
        )
    for node, claims in (said.get("allocations") or {}).items():
        if node not in (expected.get("preBind") or {}):
            wanted = (expected.get("allocations") or {}).get(node, {})
            pairs["allocations", node] = (_comparable(wanted), _comparable(claims))
    places = {
        Place(RUN, f"{what}, {decision.when}", node): pair for (what, node), pair in pairs.items()
    }
    return (
        {place: wanted for place, (wanted, _) in places.items()},
        {place: got for place, (_, got) in places.items()},
    )


def _is_ended(expected: Mapping[str, Any], said: Mapping[str, Any]) -> bool:
    """Whether DynamicResources ends the search for room by an error, before victims are looked for.

    Vectors say so only if there are devices. It does so with every pod that the pre-filter of a
    plugin before it rejects (`postFilter` of v1.36.4: "not found"), and vectors have the search
    nevertheless.
    """
    if (expected.get("postFilterDynamicResources") or {}).get("code") == "Error":
        return True
    codes = {one["code"] for name, one in expected["preFilter"].items() if name != DEVICES}
    return "postFilter" not in said and "UnschedulableAndUnresolvable" in codes


def _run_preemption(found: Mapping[str, Any] | None) -> object:
    """What a scheduler keeps of a search for victims."""
    if found is None:
        return None
    candidates = {
        node: (one["victims"], one["pdbViolations"])
        for node, one in (found.get("candidates") or {}).items()
    }
    return _status(found), found.get("eligible"), candidates, sorted(found.get("bestNodes") or ())


def _comparable(value: Any, key: str = "") -> Any:
    """An allocation with amounts as numbers, whose ids of shares are all alike."""
    if key == "consumedCapacity":
        return {name: parse_quantity(text).nano for name, text in value.items()}
    if key == "shareID":
        return "<shareID>"
    if isinstance(value, dict):
        return {name: _comparable(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_comparable(one) for one in value]
    return value


def _preemption(found: Mapping[str, Any]) -> Iterator[tuple[Place, object]]:
    yield Place(PREEMPTION, "postFilter"), _status(found)
    yield Place(PREEMPTION, "eligible"), found.get("eligible")
    yield Place(PREEMPTION, "nondeterministic"), bool(found.get("nondeterministic"))
    for what in ("potentialNodes", "bestNodes"):
        yield Place(PREEMPTION, what), sorted(found.get(what) or ())
    for node, one in (found.get("candidates") or {}).items():
        yield Place(PREEMPTION, "candidate", node), (one["victims"], one["pdbViolations"])
    for node, one in (found.get("dryRunStatus") or {}).items():
        yield Place(PREEMPTION, "dryRunStatus", node), _status(one)
    if not found.get("nondeterministic"):
        # Where several nodes are equally good, `bestNodes` has them and the pick is left to chance.
        yield Place(PREEMPTION, "nominatedNode"), found.get("nominatedNode")
        yield Place(PREEMPTION, "victims"), found.get("victims")


def _status(one: Mapping[str, Any]) -> tuple[str, list[str]]:
    return one["code"], sorted(_text(reason) for reason in one.get("reasons") or ())


def _text(reason: str) -> str:
    """A reason without the words of the program that reads expressions."""
    found = _EXPRESSION_ERROR.match(reason)
    return found[0] if found is not None else reason


def _error(text: str | None) -> str | None:
    """The error of a decision; of several nodes' errors about expressions, any may be the first."""
    return text if text is None or "CEL" not in text else "CEL"


def read_cases(file: Path, oracle: str | None = None) -> Iterator[Mapping[str, Any]]:
    """The cases of a file, with their answers; an oracle is asked for those that have none."""
    opened = gzip.open if file.suffix == ".gz" else open
    without: list[bytes] = []
    with sys.stdin.buffer if str(file) == "-" else opened(file, "rb") as lines:
        for line in lines:
            case = msgspec.json.decode(line)
            if "expect" in case:
                yield case
            else:
                without.append(line)
    if not without:
        return
    if oracle is None:
        sys.exit(f"parity: {file} has cases without answers; give --oracle PROGRAM")
    ran = subprocess.run([oracle], input=b"".join(without), stdout=subprocess.PIPE, check=True)
    for line, answer in zip(without, ran.stdout.splitlines(), strict=True):
        yield {"case": msgspec.json.decode(line), "expect": msgspec.json.decode(answer)}


def main() -> int:
    """Compare the files named on the command line."""
    options = _options()
    all_counts: list[ParityCounts] = []
    left = options.show
    n_cases = n_pods = n_left_out = 0
    for file in options.files or sorted(VECTORS.glob("*.ndjson.gz")):
        counts = ParityCounts()
        for case in read_cases(file, options.oracle):
            if options.case and options.case not in case["case"]["id"]:
                continue
            n_cases += 1
            n_pods += len(case["expect"]["pods"])
            n_left_out += len(timed_out(case["expect"]))
            for check in compare(case):
                if options.plugin and check.place.plugin not in options.plugin:
                    continue
                counts.add(check)
                if left and not check.agrees:
                    left -= 1
                    print(check)
        all_counts.append(counts)
        _report(file.name.partition(".")[0], counts)
    agree, count = (
        sum(numbers) for numbers in zip(*(one.total for one in all_counts), strict=True)
    )
    left_out = f"; {n_left_out} left out, kube-scheduler took too long" if n_left_out else ""
    print(f"{n_pods} pods in {n_cases} cases{left_out}")
    print(f"parity: {agree} of {count} checks agree")
    return int(agree != count)


def _report(profile: str, counts: ParityCounts) -> None:
    agree, count = counts.total
    print(f"{profile}: {agree} of {count} checks agree")
    for plugin in sorted(counts.every):
        good, every = counts.agree[plugin], counts.every[plugin]
        differ = "" if good == every else f"   {every - good} differ"
        print(f"  {plugin:<32}{good:>8} of {every:>7}{differ}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="parity", description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("files", nargs="*", type=Path, help="files of vectors; default: tests/parity/vectors/*")
    add("--show", type=int, default=0, metavar="N", help="print the first N differences")
    add("--plugin", action="append", metavar="NAME", help="only this plugin; may be repeated")
    add("--case", metavar="TEXT", help="only cases whose id has this text")
    add("--oracle", metavar="PROGRAM", help="asked about cases without answers")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
