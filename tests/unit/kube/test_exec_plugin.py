import asyncio
import json
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mooring.errors import ConfigError
from mooring.kube import exec_plugin
from mooring.kube.credentials import bearer
from mooring.kube.exec_plugin import ExecPlugin, ExecSpec

V1 = "client.authentication.k8s.io/v1"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def answer(version: str = V1, **status: object) -> str:
    return json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})


def spec(code: str, mode: str = "Never") -> ExecSpec:
    return ExecSpec(
        user='user "me" of config',
        command=sys.executable,
        args=("-c", code),
        api_version=V1,
        interactive_mode=mode,
    )


def counting(folder: Path, *answers: str) -> str:
    """A program that gives one answer after the other and counts its runs."""
    for number, text in enumerate(answers):
        (folder / f"answer{number}").write_text(text)
    return (
        "import pathlib;"
        f"folder = pathlib.Path({str(folder)!r});"
        "runs = folder / 'runs';"
        "n = int(runs.read_text()) if runs.exists() else 0;"
        "runs.write_text(str(n + 1));"
        "print((folder / f'answer{n}').read_text())"
    )


def test_the_answer_is_kept_until_it_expires(tmp_path: Path) -> None:
    later = (NOW + timedelta(hours=1)).isoformat()
    code = counting(tmp_path, answer(token="one", expirationTimestamp=later), answer(token="two"))
    now = NOW

    async def main() -> None:
        nonlocal now
        plugin = ExecPlugin(spec(code), now=lambda: now)
        both = await asyncio.gather(plugin.credentials(), plugin.credentials())
        assert set(both) == {bearer("one")}
        now = NOW + timedelta(hours=2)
        assert await plugin.credentials() == bearer("two")
        assert await plugin.credentials() == bearer("two")

    asyncio.run(main())
    assert (tmp_path / "runs").read_text() == "2"


def test_a_rejected_answer_is_asked_for_again_once(tmp_path: Path) -> None:
    code = counting(tmp_path, answer(token="one"), answer(token="two"))

    async def main() -> None:
        plugin = ExecPlugin(spec(code))
        first = await plugin.credentials()
        assert all(await asyncio.gather(plugin.renew(first), plugin.renew(first)))
        assert await plugin.credentials() == bearer("two")

    asyncio.run(main())
    assert (tmp_path / "runs").read_text() == "2"


def test_client_certificates_are_taken(tmp_path: Path) -> None:
    code = counting(tmp_path, answer(clientCertificateData="CERT", clientKeyData="KEY"))

    async def main() -> None:
        got = await ExecPlugin(spec(code)).credentials()
        assert (got.authorization, got.certificate, got.key) == ("", b"CERT", b"KEY")

    asyncio.run(main())


def test_the_program_learns_about_the_cluster_and_its_own_environment() -> None:
    code = (
        "import json, os, sys;"
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO']);"
        "token = [info['apiVersion'], info['spec'], os.environ['EXTRA'], sys.stdin.read()];"
        "print(json.dumps({'apiVersion': info['apiVersion'], 'kind': info['kind'],"
        " 'status': {'token': json.dumps(token)}}))"
    )

    async def main() -> None:
        cluster = {"server": "https://x", "config": {"a": 1}}
        plugin = ExecPlugin(replace(spec(code), env={"EXTRA": "e"}, cluster_info=cluster))
        got = json.loads((await plugin.credentials()).authorization.removeprefix("Bearer "))
        assert got == [V1, {"interactive": False, "cluster": cluster}, "e", ""]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import sys; sys.exit('first\\nthe last word')", "exit code 1: the last word"),
        ("raise SystemExit(3)", "exit code 3 and printed nothing"),
        ("print('secret')", "did not print an ExecCredential"),
        (f"print({answer('client.authentication.k8s.io/v1beta1', token='secret')!r})", "of client"),
        (f"print({answer()!r})", "neither a token nor"),
        (
            f"print({answer(token='secret', clientKeyData='secret')!r})",
            "a key without its certificate",
        ),
        (f"print({answer(token='secret' + chr(10) + 'x')!r})", "more than one line"),
    ],
)
def test_failures_are_one_sentence_without_secrets(code: str, sentence: str) -> None:
    async def main() -> None:
        with pytest.raises(ConfigError) as caught:
            await ExecPlugin(spec(code)).credentials()
        text = str(caught.value)
        assert sentence in text
        assert 'user "me" of config' in text
        assert "secret" not in text
        assert "\n" not in text

    asyncio.run(main())


def test_a_missing_program_tells_how_to_install_it(tmp_path: Path) -> None:
    async def main() -> None:
        hint = "\x1b[1mRun apt install it\nnow."
        missing = ExecSpec(user="u", command="no-such-program", api_version=V1, install_hint=hint)
        with pytest.raises(ConfigError, match=r"not found: \[1mRun apt install it now\.$"):
            await ExecPlugin(missing, is_terminal=lambda: False).credentials()
        (tmp_path / "plain").write_text("")
        plain = ExecSpec(user="u", command=str(tmp_path / "plain"), api_version=V1)
        with pytest.raises(ConfigError, match="cannot be started: Permission denied"):
            await ExecPlugin(plain, is_terminal=lambda: False).credentials()

    asyncio.run(main())


def test_interactive_modes(capfd: pytest.CaptureFixture[str]) -> None:
    code = (
        "import json, os, sys;"
        "sys.stderr.write('Log in at https://x');"
        "spec = json.loads(os.environ['KUBERNETES_EXEC_INFO'])['spec'];"
        f"print({answer(token='t')!r}.replace('\"t\"', '\"%s\"' % spec['interactive']))"
    )

    async def main() -> None:
        always = spec(code, "Always")
        with pytest.raises(ConfigError, match="needs a terminal"):
            await ExecPlugin(always, is_terminal=lambda: False).credentials()
        assert await ExecPlugin(always, is_terminal=lambda: True).credentials() == bearer("True")
        assert "Log in at" in capfd.readouterr().err
        sometimes = spec(code, "IfAvailable")
        quiet = ExecPlugin(sometimes, is_terminal=lambda: False)
        assert await quiet.credentials() == bearer("False")
        assert capfd.readouterr().err == ""

    asyncio.run(main())


def test_a_program_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exec_plugin, "TIME_LIMIT_SECONDS", 0.0)

    async def main() -> None:
        with pytest.raises(ConfigError, match="did not end within"):
            await ExecPlugin(spec("import signal; signal.pause()")).credentials()

    asyncio.run(main())


def test_secrets_are_not_shown() -> None:
    hidden = replace(spec("secret"), env={"A": "secret"}, cluster_info={"x": "secret"})
    assert "secret" not in repr(ExecPlugin(hidden))
