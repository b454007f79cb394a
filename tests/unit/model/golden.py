"""Kubernetes' own answers, one JSON value on each line.

They come from the Go packages of v1.36.4, asked once:

    quantities       resource.ParseQuantity, Value, MilliValue; a line without answers is rejected
    pod_requests     component-helpers' resource.PodRequests, with the statuses of resizes
    other_requests   for the pods of pod_requests: resource.PodRequests without the status; what
                     framework.PodInfo.CalculateResource counts for scoring; resource.PodRequests
                     with the options of NodeResourcesFit's scorer
    defaults         the defaulting functions of pkg/apis/{core,storage,scheduling,apps,resource}/v1
                     and what admission does to priorities: list, object as written, as stored
    requirements     labels.Requirement.Matches
    label_selectors  metav1.LabelSelectorAsSelector, Matches
    node_selectors   component-helpers' MatchNodeSelectorTerms
    taints           component-helpers' FindMatchingUntoleratedTaint for NoSchedule and NoExecute
"""

import json
from pathlib import Path
from typing import Any


def rows(name: str) -> list[Any]:
    """All lines of a golden file."""
    lines = Path(__file__).with_name(f"{name}.ndjson").read_text().splitlines()
    return [json.loads(line) for line in lines]
