from typing import Any

from mooring.embedded.resources import CORE_EVENTS, EVENTS, NODES, PODS
from mooring.embedded.store import Store
from mooring.embedded.watch_history import WatchEvent


def obj(name: str, namespace: str = "", **metadata: Any) -> dict[str, Any]:
    place = {"namespace": namespace} if namespace else {}
    return {"metadata": {"name": name, **place, **metadata}}


def pod(name: str, node: str = "", namespace: str = "default") -> dict[str, Any]:
    return {**obj(name, namespace), "spec": {"nodeName": node}}


def names(store: Store, namespace: str = "") -> list[str]:
    return [f"{one.namespace}/{one.name}" for one in store.all(PODS, namespace)]


def test_objects_come_in_the_order_of_namespace_and_name() -> None:
    store = Store()
    for namespace, name in [("b", "x"), ("a", "z"), ("b", "a"), ("a", "b")]:
        store.put(PODS, pod(name, namespace=namespace))
    assert names(store) == ["a/b", "a/z", "b/a", "b/x"]
    assert names(store, "b") == ["b/a", "b/x"]
    store.remove(PODS, "a", "b")
    assert names(store) == ["a/z", "b/a", "b/x"]
    assert store.count(PODS) == 3


def test_every_change_has_a_version_of_its_own_and_the_object_shows_it() -> None:
    store = Store(version=100)
    first = store.put(NODES, obj("n"))
    second = store.put(NODES, obj("n", labels={"a": "b"}))
    assert (first.version, second.version, store.version) == (101, 102, 102)
    assert second.obj["metadata"]["resourceVersion"] == "102"
    assert second.labels == {"a": "b"}
    last = store.remove(NODES, "", "n")
    assert last.version == 103
    assert last.obj["metadata"]["labels"] == {"a": "b"}
    assert store.get(NODES, "", "n") is None


def test_what_was_decoded_may_be_changed() -> None:
    store = Store()
    item = store.put(NODES, obj("n"))
    item.obj["metadata"]["name"] = "other"
    assert item.obj["metadata"]["name"] == "n"


def test_the_values_of_selectable_fields_are_kept() -> None:
    item = Store().put(PODS, {**pod("p", "n1"), "status": {"phase": "Running"}})
    values = dict(zip(PODS.selectable, item.fields, strict=True))
    assert values["spec.nodeName"] == "n1"
    assert values["status.phase"] == "Running"


def test_listeners_hear_of_their_resource_only() -> None:
    store = Store()
    heard: list[WatchEvent] = []
    store.listen(PODS, heard.append)
    store.put(NODES, obj("n"))
    store.put(PODS, pod("p"))
    store.put(PODS, pod("p", "n"))
    store.remove(PODS, "default", "p")
    assert [one.type for one in heard] == ["ADDED", "MODIFIED", "DELETED"]
    assert [one.old and one.old.version for one in heard] == [None, 3, 4]


def test_the_creator_of_an_object_stays_its_creator() -> None:
    store = Store()
    store.put(NODES, obj("n"), creator="kubectl-create")
    assert store.put(NODES, obj("n"), creator="kubelet").creator == "kubectl-create"


def test_history_tells_what_came_after_a_version() -> None:
    store = Store()
    store.put(PODS, pod("a"))
    before = store.version
    store.put(NODES, obj("n"))  # another resource's change counts, but is not told
    store.put(PODS, pod("b"))
    store.put(PODS, pod("c"))
    history = store.history(PODS)
    number = history.number_after(before)
    assert number is not None
    assert [one.item.name for one in history.since(number)] == ["b", "c"]
    assert history.number_after(store.version) == history.end


def test_history_is_forgotten_from_its_old_end() -> None:
    store = Store(history=3)
    versions = [store.put(PODS, pod(f"p{n}")).version for n in range(5)]
    history = store.history(PODS)
    assert history.start == 2
    assert history.number_after(versions[1]) == 2
    assert history.number_after(versions[0]) is None


def test_a_resource_that_never_changed_has_its_whole_history() -> None:
    store = Store(version=50)
    store.put(NODES, obj("n"))
    assert store.history(PODS).number_after(50) == 0
    assert store.history(PODS).number_after(49) is None  # that was another server's


def test_after_compaction_only_the_present_is_known() -> None:
    store = Store()
    store.put(PODS, pod("a"))
    before = store.version
    store.put(PODS, pod("b"))
    store.compact()
    assert store.as_of(PODS, "", before) is None
    assert store.history(PODS).number_after(store.version) is not None
    assert store.history(NODES).number_after(before) is None


def test_the_past_can_be_listed() -> None:
    store = Store()
    store.put(PODS, pod("a"))
    store.put(PODS, pod("b"))
    then = store.version
    store.put(PODS, pod("a", "n1"))
    store.remove(PODS, "default", "b")
    store.put(PODS, pod("c"))
    past = store.as_of(PODS, "", then)
    assert past is not None
    assert [(one.name, one.fields[0]) for one in past] == [("a", ""), ("b", "")]
    assert store.as_of(PODS, "elsewhere", then) == []


def test_both_forms_of_events_are_one_resource() -> None:
    store = Store()
    store.put(EVENTS, {**obj("e", "default"), "reason": "Scheduled"})
    assert store.get(CORE_EVENTS, "default", "e") is store.get(EVENTS, "default", "e")
    assert store.history(EVENTS) is store.history(CORE_EVENTS)
