"""The public names, asserted exactly: adding or removing one is a decision."""

import types

import pytest

import mooring
import mooring.hook
import mooring.kinds
import mooring.testing
from mooring.model.kinds import KINDS

PUBLIC: dict[types.ModuleType, set[str]] = {
    mooring: {
        "Amounts", "ApiError", "Binding", "ConfigError", "Container", "DeviceInfo",
        "Devices", "InputError", "KubeError",
        "LabelSelector", "Mask", "MooringError", "Node", "NodeSelector", "Nodes", "NotAvailable",
        "PluginError", "Pod", "Policy", "PolicyError", "PolicyFileError", "Quantity",
        "QuantityError", "Record", "Requirement", "Resources", "Scores", "Taint", "Toleration",
        "Verdict", "Verdicts", "__version__", "accept", "accept_if", "explain", "hook", "load",
        "parse_quantity", "reject", "untolerated",
    },
    mooring.hook: {
        "Action", "AskFilter", "Bind", "BindAnswer", "Candidate", "Cost", "Cycle", "Details",
        "Filter", "FilterAnswer", "FilterAnswers", "FilterNodes", "Filtering", "Handle", "Hook",
        "KubeObject", "Normalize", "ObjectKey", "Permit", "Plan", "PostBind", "PostFilter",
        "PreBind", "PreBindCheckAnswer", "PreEnqueue", "PreFilter", "PreFilterAnswer",
        "PreFilterResult", "PreScore", "PreScoreAnswer", "Preempt", "PreemptAnswer", "Preemption",
        "QueueSort", "ReadyAnswer", "RejectedNodes", "Rejection", "Remedies", "Remedy",
        "RemedyCase", "RequeueHint", "Requeues", "Reserve", "ReserveAnswer", "SKIP", "Scope",
        "Score", "ScoreNodes", "Sign", "Skip", "Step", "Wait", "Waiting", "WaitingEvent",
        "WaitingPod", "WhatIf",
        "Write", "WriteAnswer",
    },
    mooring.kinds: {"KubeObject", *(kind.type.__name__ for kind in KINDS)},
    mooring.testing: {
        "Condition", "Event", "FakeKubeScheduler", "Fault", "FaultyProxy", "FilterResult",
        "Rejected", "Requests", "TestCluster", "WatchEvents", "cluster", "make_node", "make_pod",
    },
}  # fmt: skip


@pytest.mark.parametrize("module", PUBLIC, ids=lambda module: module.__name__)
def test_the_public_names_are_these(module: types.ModuleType) -> None:
    assert set(module.__all__) == PUBLIC[module]
    assert len(module.__all__) == len(PUBLIC[module])


@pytest.mark.parametrize("module", PUBLIC, ids=lambda module: module.__name__)
def test_every_public_name_is_there_and_nothing_else_looks_public(
    module: types.ModuleType,
) -> None:
    found = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert found <= PUBLIC[module]
    assert all(hasattr(module, name) for name in PUBLIC[module])
