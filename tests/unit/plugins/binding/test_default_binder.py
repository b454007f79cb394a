from mooring.framework.binding import Binding
from mooring.plugins.binding.default_binder import DefaultBinder


def test_a_binding_is_made_as_it_is() -> None:
    binding = Binding(namespace="default", name="p", uid="1", node_name="a")
    assert DefaultBinder().bind(binding) is binding
