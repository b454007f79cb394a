import pytest

from mooring.kube.http1.request_bytes import RequestHead, ServerAddress


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://10.0.0.1:6443", ("10.0.0.1", 6443, "10.0.0.1:6443", "")),
        ("https://api.example", ("api.example", 443, "api.example", "")),
        ("https://api.example:443/k8s/c-1", ("api.example", 443, "api.example", "/k8s/c-1")),
        ("http://localhost", ("localhost", 80, "localhost", "")),
        ("http://localhost:443", ("localhost", 443, "localhost:443", "")),
        ("https://[fd00::1]:6443", ("fd00::1", 6443, "[fd00::1]:6443", "")),
    ],
)
def test_addresses(url: str, address: tuple[str, int, str, str]) -> None:
    assert ServerAddress.of(url) == address


@pytest.mark.parametrize(
    "url",
    [
        "https://me:secret@host", "https://höst", "https://host/a b", "https://host?x=1",
        "https://host:port", "https://[fe80::1%25eth0]", "unix:///run/api", "",
    ],
)  # fmt: skip
def test_addresses_that_need_more_than_plain_http(url: str) -> None:
    assert ServerAddress.of(url) is None


ADDRESS = ServerAddress("h", 80, "h", "/base")


def test_a_request_byte_for_byte() -> None:
    head = RequestHead(ADDRESS, [("Accept", "application/json"), ("X", "ü")])
    assert (
        head.request("POST", "/x?y=1", "Bearer t", "a/b", b"body")
        == (
            "POST /base/x?y=1 HTTP/1.1\r\nHost: h\r\nAccept: application/json\r\nX: ü\r\n"
            "Authorization: Bearer t\r\nContent-Type: a/b\r\nContent-Length: 4\r\n\r\nbody"
        ).encode()
    )


def test_credentials_change_and_go() -> None:
    head = RequestHead(ADDRESS, [])
    for who in ("Bearer a", "Bearer b", "", "Bearer a"):
        for kind in ("a/b", "c/d"):
            made = head.request("PATCH", "/x", who, kind, b"")
            assert made is not None
            assert made.count(b"Authorization: ") == bool(who)
            assert who.encode() in made
            assert b"Content-Type: %b\r\n" % kind.encode() in made


def test_what_cannot_be_written_as_it_is() -> None:
    head = RequestHead(ADDRESS, [])
    for path in ("/a b", "/a\r\nX: y", "/ä"):
        assert head.request("POST", path, "", "a/b", b"") is None
    assert head.request("POST", "/x", "Bearer a\r\nX: y", "a/b", b"") is None
    assert head.request("POST", "/x", "", "a/b", b"") is not None
    assert RequestHead(ADDRESS, [("X", "a\nb")]).request("POST", "/x", "", "a/b", b"") is None
    assert RequestHead(None, []).request("POST", "/x", "", "a/b", b"") is None


def test_a_request_without_a_body_byte_for_byte() -> None:
    head = RequestHead(ADDRESS, [("Accept", "application/json")])
    lines = b"HTTP/1.1\r\nHost: h\r\nAccept: application/json\r\n"
    for _ in range(2):
        assert head.request("GET", "/x", "", "a/b", None) == b"GET /base/x " + lines + b"\r\n"
        assert head.request("PUT", "/x", "", "a/b", b"") == (
            b"PUT /base/x " + lines + b"Content-Type: a/b\r\nContent-Length: 0\r\n\r\n"
        )
