import mooring as mr
from mooring import hook

BATCH = "example.com/batch"


class MakeRoomInBatch(hook.PostFilter):
    """Preempts batch pods only: all those of the first node where that makes room."""

    name = "MakeRoomInBatch"

    def attach(self, handle: hook.Handle) -> None:
        self.handle = handle

    def post_filter(
        self, cycle: hook.Cycle, filtering: hook.Filtering
    ) -> hook.Preemption | mr.Verdict:
        for row in filtering.resolvable:  # the nodes that were rejected for what runs there
            batch = [
                pod
                for pod in cycle.cluster.pods_on(row)
                if BATCH in pod.labels and pod.priority < cycle.pod.priority
            ]
            for pod in batch:
                self.handle.remove_pod(cycle, pod, row)
            fits = self.handle.rejection(cycle, row) is None
            for pod in reversed(batch):
                self.handle.add_pod(cycle, pod, row)
            if batch and fits:
                name = cycle.nodes.names[row]
                candidate = hook.Candidate(name, tuple(batch))
                return hook.Preemption(mr.accept(), candidates={name: candidate}, best=[name])
        return mr.reject("preempting batch pods would not make room")
