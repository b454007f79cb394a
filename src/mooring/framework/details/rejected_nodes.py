"""Nodes that a plugin rejects, as it is asked about them when a decision is explained.

Made by the explanation, read by plugins (`hook.Details`). Values only: nothing is decided here.
"""

import msgspec

from mooring.framework.nodes import Nodes
from mooring.framework.verdict import Verdict
from mooring.model.pod import Pod


class RejectedNodes(msgspec.Struct, frozen=True):
    """Nodes that a plugin rejects for a pod.

    Attributes:
        pod: the pod.
        nodes: the nodes; ``nodes.cycle`` is the decision, with what the plugin kept in
            `pre_filter`. All nodes if the plugin rejects the pod on every node; in that case
            nothing is kept.
        verdict: the plugin's verdict on them; on the first of them if they are `usable`.
        usable: these are all the nodes that only this plugin rejects, so the pod could use them
            otherwise. The text is the first thing that users read.
    """

    pod: Pod
    nodes: Nodes
    verdict: Verdict
    usable: bool = False
