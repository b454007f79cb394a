import mooring as mr
from mooring import hook


class Datasets(hook.Reserve):
    """Has a node fetch a pod's dataset before the pod is bound there."""

    name = "Datasets"

    def reserve(self, cycle: hook.Cycle, node: mr.Node) -> hook.ReserveAnswer:
        dataset = cycle.pod.labels.get("example.com/dataset")
        name, label = node.name, f"datasets.example.com/{dataset}"
        if dataset is None or label in node.labels:
            return None  # nothing has to be done
        ask = {"metadata": {"annotations": {"example.com/fetch": dataset}}}
        return hook.Plan(
            doing=f"fetching dataset {dataset}",
            writes=(hook.Write(verb="patch", kind=mr.Node, key=name, body=ask),),
            # Asked after the write, and again whenever the node changes.
            ready=lambda cluster: name in cluster.nodes and label in cluster.nodes[name].labels,
            objects=((mr.Node, name),),
            seconds=300,
        )

    def unreserve(self, cycle: hook.Cycle, node: mr.Node) -> None:
        """There is nothing to give back."""
