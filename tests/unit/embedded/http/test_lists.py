import pytest

from mooring.embedded.http.lists import Page, read_page, read_selection
from mooring.embedded.http.request_info import QueryParameters, RequestInfo
from mooring.embedded.resources import PODS
from mooring.embedded.status_errors import StatusError
from mooring.embedded.store import Store


def a_store(count: int = 5, *, history: int = 100) -> Store:
    store = Store(history=history)
    for number in range(count):
        put(store, f"p{number}", "even" if number % 2 == 0 else "odd")
    return store


def put(store: Store, name: str, label: str = "", node: str = "") -> None:
    metadata = {"name": name, "namespace": "default", "labels": {"is": label}}
    store.put(PODS, {"metadata": metadata, "spec": {"nodeName": node}})


def ask(store: Store, text: str = "", namespace: str = "") -> Page:
    query = QueryParameters(text.encode())
    return read_page(store, read_selection(RequestInfo(PODS, namespace), query), query)


def names(page: Page) -> list[str]:
    return [one.name for one in page.items]


def rejection(store: Store, text: str) -> StatusError:
    with pytest.raises(StatusError) as caught:
        ask(store, text)
    return caught.value


def test_all_of_them() -> None:
    store = a_store()
    page = ask(store)
    assert names(page) == ["p0", "p1", "p2", "p3", "p4"]
    assert (page.version, page.token, page.remaining) == (store.version, "", 0)
    assert names(ask(store, namespace="elsewhere")) == []


def test_selectors() -> None:
    store = a_store()
    put(store, "p9", "odd", "n1")
    assert names(ask(store, "labelSelector=is=odd")) == ["p1", "p3", "p9"]
    assert names(ask(store, "fieldSelector=spec.nodeName%3Dn1")) == ["p9"]
    # kubectl get pods --field-selector spec.nodeName=""
    assert names(ask(store, "fieldSelector=spec.nodeName%3D")) == ["p0", "p1", "p2", "p3", "p4"]
    assert names(ask(store, "labelSelector=is=odd&fieldSelector=metadata.name!=p1")) == ["p3", "p9"]


def test_pages_show_the_version_of_the_first_one() -> None:
    store = a_store()
    first = ask(store, "limit=2")
    assert (names(first), first.remaining) == (["p0", "p1"], 3)
    store.remove(PODS, "default", "p2")
    put(store, "p3", "changed")
    put(store, "p3a")
    second = ask(store, f"limit=2&continue={first.token}")
    assert names(second) == ["p2", "p3"]
    assert second.items[1].labels == {"is": "odd"}
    assert second.version == first.version
    third = ask(store, f"limit=2&continue={second.token}")
    assert (names(third), third.token) == (["p4"], "")
    assert names(ask(store)) == ["p0", "p1", "p3", "p3a", "p4"]


def test_a_page_whose_version_is_forgotten_can_be_had_from_the_present() -> None:
    store = a_store()
    first = ask(store, "limit=2")
    store.remove(PODS, "default", "p2")
    store.compact()
    rejected = rejection(store, f"limit=2&continue={first.token}")
    assert (rejected.code, rejected.status["reason"]) == (410, "Expired")
    assert "too old to display a consistent list" in str(rejected)
    token = rejected.status["metadata"]["continue"]
    page = ask(store, f"limit=2&continue={token}")
    assert names(page) == ["p3", "p4"]
    assert page.version == store.version


def test_an_exact_version() -> None:
    store = a_store(2)
    then = store.version
    put(store, "p2")
    exact = ask(store, f"resourceVersion={then}&resourceVersionMatch=Exact")
    assert (names(exact), exact.version) == (["p0", "p1"], then)
    newer = ask(store, f"resourceVersion={then}&resourceVersionMatch=NotOlderThan")
    assert names(newer) == ["p0", "p1", "p2"]
    assert names(ask(store, "resourceVersion=0")) == ["p0", "p1", "p2"]
    store.compact()
    assert rejection(store, f"resourceVersion={then}&resourceVersionMatch=Exact").code == 410


def test_a_version_that_is_yet_to_come() -> None:
    rejected = rejection(a_store(), "resourceVersion=999999999999")
    assert rejected.code == 504
    assert rejected.status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


@pytest.mark.parametrize(
    "text",
    [
        "continue=!!!", "continue=e30", "resourceVersion=abc", "resourceVersionMatch=Exact",
        "resourceVersion=1&resourceVersionMatch=Sometimes", "limit=-1", "labelSelector=a%3D%3D%3Db",
        "fieldSelector=spec.secret%3D1",
    ],
)  # fmt: skip
def test_nonsense_is_rejected(text: str) -> None:
    assert rejection(a_store(), text).code == 400
