import asyncio
from pathlib import Path

import pytest

from mooring.errors import ConfigError
from mooring.kube.credentials import Credentials, FixedCredentials, TokenFile, basic, bearer


def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one\n")
    now = 0.0

    async def main() -> None:
        nonlocal now
        source = TokenFile(file, clock=lambda: now)
        assert await source.credentials() == bearer("one")
        file.write_text("two\n")
        now = 59.0
        assert await source.credentials() == bearer("one")
        now = 60.0
        assert await source.credentials() == bearer("two")

    asyncio.run(main())


def test_a_rejected_token_is_read_again_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")

    async def main() -> None:
        source = TokenFile(file)
        first = await source.credentials()
        assert not await source.renew(first)
        file.write_text("two")
        assert await source.renew(first)
        assert await source.credentials() == bearer("two")

    asyncio.run(main())


def test_a_token_file_that_goes_away_leaves_its_token(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "token"
    file.write_text("secret")

    async def main() -> None:
        source = TokenFile(file)
        first = await source.credentials()
        file.unlink()
        assert not await source.renew(first)
        assert await source.credentials() == first

    asyncio.run(main())
    assert "stays in use" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize("content", [None, b"", b"secret\nsecret", b"secret\xff"])
def test_an_unusable_token_file_is_an_error_unless_there_is_a_token(
    tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)

    async def main() -> None:
        with pytest.raises(ConfigError) as caught:
            await TokenFile(file).credentials()
        assert str(file) in str(caught.value)
        assert "secret" not in str(caught.value)
        assert await TokenFile(file, initial="given").credentials() == bearer("given")

    asyncio.run(main())


def test_secrets_are_not_shown() -> None:
    shown = repr([bearer("secret"), basic("me", "secret"), FixedCredentials(bearer("secret"))])
    shown += repr(Credentials(certificate=b"secret", key=b"secret"))
    assert "secret" not in shown
    assert basic("me", "pw").authorization == "Basic bWU6cHc="
