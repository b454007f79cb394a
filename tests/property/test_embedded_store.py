"""The store's history tells the whole story: replayed, it gives what is stored at any version."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mooring.embedded.resources import NODES, PODS
from mooring.embedded.store import Store

KEYS = st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["x", "y", "z"]))
STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "remove", "other"]), KEYS, st.integers(0, 3)), max_size=40
)


def view(items: Any) -> list[tuple[str, str, int]]:
    return [(one.namespace, one.name, one.version) for one in items]


@given(STEPS, st.integers(1, 50))
def test_every_version_that_is_remembered_can_be_seen_again(
    steps: list[tuple[str, tuple[str, str], int]], size: int
) -> None:
    store = Store(history=size)
    seen = {store.version: view(store.all(PODS))}
    seen_in_a = {store.version: view(store.all(PODS, "a"))}
    for action, (namespace, name), value in steps:
        if action == "other":
            store.put(NODES, {"metadata": {"name": name}})
        elif action == "put":
            metadata = {"name": name, "namespace": namespace, "labels": {"v": str(value)}}
            store.put(PODS, {"metadata": metadata})
        elif store.get(PODS, namespace, name) is not None:
            store.remove(PODS, namespace, name)
        seen[store.version] = view(store.all(PODS))
        seen_in_a[store.version] = view(store.all(PODS, "a"))
    history = store.history(PODS)
    for version, expected in seen.items():
        past = store.as_of(PODS, "", version)
        assert (past is None) == (version < history.compacted)
        if past is not None:
            assert view(past) == expected
            in_a = store.as_of(PODS, "a", version)
            assert in_a is not None
            assert view(in_a) == seen_in_a[version]
    replayed: dict[tuple[str, str], int] = {
        (namespace, name): version for namespace, name, version in seen.get(history.compacted, [])
    }
    if history.compacted in seen:
        for event in history.since(history.start):
            key = (event.item.namespace, event.item.name)
            if event.type == "DELETED":
                del replayed[key]
            else:
                replayed[key] = event.version
        assert sorted((*key, version) for key, version in replayed.items()) == view(store.all(PODS))
