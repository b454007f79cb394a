import pytest

from mooring.embedded.status_errors import StatusError
from mooring.embedded.yaml_body import read_yaml
from tests.unit.embedded.served_cluster import Client, run


def test_plain_data() -> None:
    text = b"apiVersion: v1\nwhen: 2026-01-01\nitems: [1, two, {three: 3}]\n"
    assert read_yaml(text) == {
        "apiVersion": "v1", "when": "2026-01-01", "items": [1, "two", {"three": 3}],
    }  # fmt: skip


def test_aliases_are_read() -> None:
    assert read_yaml(b"a: &x {k: v}\nb: *x\n") == {"a": {"k": "v"}, "b": {"k": "v"}}


def test_a_small_text_must_not_stand_for_a_huge_object() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for number in range(1, 10):
        names = ", ".join([f"*a{number - 1}"] * 10)
        lines.append(f"a{number}: &a{number} [{names}]")
    with pytest.raises(StatusError) as caught:
        read_yaml("\n".join(lines).encode())
    assert (caught.value.code, "excessive aliasing" in str(caught.value)) == (400, True)


@pytest.mark.parametrize("text", [b"a: [", b"\xff", b"a: b: c"])
def test_what_is_no_yaml(text: bytes) -> None:
    with pytest.raises(StatusError) as caught:
        read_yaml(text)
    assert caught.value.code == 400


@pytest.mark.parametrize("piece", [b"[", b"{a: ", b"- "])
def test_brackets_do_not_end_the_server(piece: bytes) -> None:
    async def test(client: Client) -> None:
        body = piece * (1_000_000 // len(piece))
        code, told = await client.ask(
            "POST", "/api/v1/namespaces", body, content_type="application/yaml"
        )
        assert (code, told["reason"]) == (400, "BadRequest")
        assert "nested more than 500 levels deep" in told["message"]
        assert await client.get("/healthz") == "ok"

    run(test)
