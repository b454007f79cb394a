"""DefaultBinder: binds pods as they are; the binding itself is made by who runs the profile."""

from mooring.framework.binding import Binding
from mooring.framework.hook import Bind


class DefaultBinder(Bind):
    """Binds the pod to its node without adding anything."""

    name = "DefaultBinder"
    reads = ()

    def bind(self, binding: Binding) -> Binding:
        """The binding, unchanged."""
        return binding
