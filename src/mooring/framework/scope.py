"""How far a plugin looks when it answers for one node.

Plugins declare it (`hook.Hook.filter_scope`, `hook.Hook.score_scope`); whoever asks the same plugin
again and again goes by it.
"""

import enum


class Scope(enum.Enum):
    """What an answer about one node depends on, besides the pod.

    Objects are those of the kinds that the plugin reads. What a filter's `pre_filter` computes or
    answers is part of its answer. A score is the raw one, for a given set of possible nodes.
    """

    #: All nodes and objects, but never the pods on nodes.
    NODES = "Nodes"
    #: The node itself, the pods on it, and objects; no other node and no other pod.
    ROW = "Row"
    #: All nodes and objects, and how many pods of what sort each topology domain has on the nodes
    #: that count, be it all or those that the pod selects and tolerates: on which of them a pod is
    #: makes no difference.
    DOMAIN = "Domain"
    #: Anything.
    CLUSTER = "Cluster"
