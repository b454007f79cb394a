"""How far a plugin looks when it answers for one node.

Plugins declare it (`hook.Hook.filter_scope`, `hook.Hook.score_scope`); whoever asks the same plugin
again and again goes by it.
"""

import enum


class Scope(enum.Enum):
    """What a result for one node depends on, in addition to the pod.

    Objects are those of the kinds that the plugin reads; what it finds in them for a pod is in its
    signature, if it signs pods. The result of a filter includes what its `pre_filter` computes or
    returns. A score is the raw score; with `NODES` and `ROW` it is the same whichever other nodes
    are feasible.
    """

    #: All nodes and objects, but never the pods on nodes.
    NODES = "Nodes"
    #: The node itself, the pods on it, and objects; no other nodes and no other pods.
    ROW = "Row"
    #: All nodes and objects, and the number of pods of each sort per topology domain, on all nodes
    #: or on those that the pod selects and tolerates: on which node of a domain a pod runs makes no
    #: difference.
    DOMAIN = "Domain"
    #: Anything.
    CLUSTER = "Cluster"
