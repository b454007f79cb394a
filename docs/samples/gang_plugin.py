import mooring as mr
from mooring import hook


class Gang(hook.Permit):
    """Binds the pods of a gang together or not at all."""

    name = "Gang"

    def __init__(self, handle: hook.Handle | None = None) -> None:
        self.handle = handle

    def attach(self, handle: hook.Handle) -> None:
        self.handle = handle

    def permit(self, cycle: hook.Cycle, node: mr.Node) -> hook.FilterAnswer | hook.Wait:
        gang = cycle.pod.labels.get("example.com/gang")
        if gang is None or self.handle is None:
            return True
        size = int(cycle.pod.annotations["example.com/gang-size"])
        others = [
            one for one in self.handle.waiting if one.pod.labels.get("example.com/gang") == gang
        ]
        if len(others) + 1 < size:
            return hook.Wait(seconds=60)  # its place is kept meanwhile
        for one in others:
            one.allow(self.name)
        return True
