import msgspec

import mooring as mr
from mooring import hook


class LicenceArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Arguments of Licences."""

    #: The label that says which product a pod runs.
    product_label: str = "example.com/product"
    #: So many nodes may run one product.
    nodes_per_product: int = 2


class Licences(hook.PreFilter, hook.FilterNodes):
    """Keeps each licensed product on few nodes."""

    name = "Licences"
    Args = LicenceArgs

    def __init__(self, args: LicenceArgs) -> None:
        self.args = args

    def pre_filter(self, cycle: hook.Cycle) -> hook.PreFilterAnswer:
        product = cycle.pod.labels.get(self.args.product_label)
        if product is None:
            return hook.SKIP  # nothing to say about this pod: the filter is not asked
        running = {
            node.name
            for node in cycle.nodes
            if any(one.labels.get(self.args.product_label) == product for one in node.pods)
        }
        full = len(running) >= self.args.nodes_per_product
        cycle.data[self.name] = running if full else None
        return None

    def filter_nodes(self, pod: mr.Pod, nodes: mr.Nodes) -> list[mr.Verdict]:
        allowed = nodes.cycle.data[self.name]
        no = mr.reject("node(s) had no licence left for the product")
        return [mr.accept() if allowed is None or n in allowed else no for n in nodes.names]
