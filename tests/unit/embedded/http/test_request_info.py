import pytest

from mooring.embedded.http.request_info import QueryParameters, RequestInfo, parse_path
from mooring.embedded.resources import (
    CORE_EVENTS,
    DEPLOYMENTS,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    Resource,
)
from mooring.embedded.status_errors import StatusError


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/pods", (PODS, "", "", "")),
        ("/api/v1/namespaces/shop/pods", (PODS, "shop", "", "")),
        ("/api/v1/namespaces/shop/pods/", (PODS, "shop", "", "")),
        ("/api/v1/namespaces/shop/pods/web", (PODS, "shop", "web", "")),
        ("/api/v1/namespaces/shop/pods/web/binding", (PODS, "shop", "web", "binding")),
        ("/api/v1/nodes/n%2D1", (NODES, "", "n-1", "")),
        ("/api/v1/nodes/n1/status", (NODES, "", "n1", "status")),
        ("/api/v1/namespaces", (NAMESPACES, "", "", "")),
        ("/api/v1/namespaces/shop", (NAMESPACES, "", "shop", "")),
        ("/api/v1/namespaces/shop/finalize", (NAMESPACES, "", "shop", "finalize")),
        ("/api/v1/namespaces/shop/status", (NAMESPACES, "", "shop", "status")),
        ("/api/v1/namespaces/shop/events", (CORE_EVENTS, "shop", "", "")),
        ("/apis/events.k8s.io/v1/namespaces/shop/events", (EVENTS, "shop", "", "")),
        ("/apis/apps/v1/namespaces/shop/deployments/a/scale", (DEPLOYMENTS, "shop", "a", "scale")),
    ],
)
def test_paths(path: str, expected: tuple[Resource, str, str, str]) -> None:
    assert parse_path(path) == RequestInfo(*expected)


@pytest.mark.parametrize(
    "path",
    [
        "/", "/api", "/api/v1", "/apis", "/apis/apps/v1", "/api/v2/pods", "/apis/apps/v1/pods",
        "/api/v1/pods/web", "/api/v1/namespaces/shop/nodes", "/api/v1/namespaces/shop/pods/web/x",
        "/api/v1/namespaces/shop/pods/web/status/more", "/api/v1/watch/pods", "/api/v1/unicorns",
        "/api/v1/namespaces/shop/bindings/web", "/api/v1//pods", "/healthz",
        "/api/v1/nodes//status",
    ],
)  # fmt: skip
def test_paths_that_lead_nowhere(path: str) -> None:
    assert parse_path(path) is None


def test_queries() -> None:
    query = QueryParameters(
        b"watch=true&limit=5&labelSelector=a%3Db%2Cc+in+(d)&empty=&no=false&zero=0"
    )
    assert query.flag("watch")
    assert query.flag("empty")  # as Go reads it
    assert not query.flag("no")
    assert not query.flag("zero")
    assert not query.flag("missing")
    assert query.text("labelSelector") == "a=b,c in (d)"
    assert query.number("limit") == 5
    assert query.number("missing") is None
    assert query.given("empty")
    assert not QueryParameters(b"").given("empty")


@pytest.mark.parametrize("value", [b"-1", b"x", b"1.5", b"9" * 30, "٣".encode()])
def test_a_number_that_is_none_is_rejected(value: bytes) -> None:
    with pytest.raises(StatusError) as caught:
        QueryParameters(b"limit=" + value).number("limit")
    assert caught.value.code == 400
