from mooring import Binding


def test_annotations_are_added_to_a_new_binding() -> None:
    binding = Binding(namespace="n", name="p", uid="u", node_name="a", annotations={"x": "1"})
    more = binding.annotate({"x": "2", "y": "3"})
    assert more.annotations == {"x": "2", "y": "3"}
    assert binding.annotations == {"x": "1"}
    assert (more.key, more.uid, more.node_name) == (binding.key, "u", "a")


def test_a_binding_knows_only_names_at_first() -> None:
    binding = Binding(namespace="n", name="p", uid="u", node_name="a")
    assert binding.key == "n/p"
    assert (binding.pod, binding.node, dict(binding.annotations)) == (None, None, {})
