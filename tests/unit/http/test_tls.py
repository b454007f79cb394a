import asyncio
import logging
import os
import shutil
import ssl
from pathlib import Path

import pytest
from cryptography import x509

from mooring.errors import InputError
from mooring.extender.server import ServeOptions
from mooring.http.tls import Certificates
from mooring.testing.certificates import Authority, KeyPair


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return an_authority(tmp_path / "ca")


def an_authority(folder: Path) -> Authority:
    folder.mkdir()
    return Authority(folder)


def install(pair: KeyPair, cert: Path, key: Path) -> None:
    """Put a certificate in place, as cert-manager and kubelet do: by renaming."""
    for source, target in ((pair.key, key), (pair.certificate, cert)):
        fresh = target.with_suffix(".fresh")
        shutil.copy(source, fresh)
        fresh.rename(target)


def subject(certificate: bytes) -> str:
    return x509.load_der_x509_certificate(certificate).subject.rfc4514_string()


def handshake(
    server: ssl.SSLContext, authority: Authority, client: KeyPair | None = None, name: str = ""
) -> str:
    """Shake hands in memory; whose certificate the server showed.

    Raises:
        ssl.SSLError: one side rejected the other.
    """
    context = ssl.create_default_context(cafile=str(authority.file))
    if client is not None:
        context.load_cert_chain(client.certificate, client.key)
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = context.wrap_bio(down, up, server_hostname=name or "127.0.0.1")
    theirs = server.wrap_bio(up, down, server_side=True)
    ended = set()
    for _ in range(10):
        for side in (ours, theirs):
            try:
                side.do_handshake()
                ended.add(side)
            except ssl.SSLWantReadError:
                pass
    assert len(ended) == 2
    shown = ours.getpeercert(binary_form=True)
    assert shown is not None
    return subject(shown)


@pytest.fixture
def files(tmp_path: Path, authority: Authority) -> tuple[Path, Path]:
    cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    install(authority.server("first"), cert, key)
    return cert, key


@pytest.mark.parametrize("name", ["", "localhost"])
def test_each_handshake_uses_the_newest_certificate(
    authority: Authority, files: tuple[Path, Path], name: str
) -> None:
    certificates = Certificates(*files)
    assert handshake(certificates.context, authority, name=name) == "CN=first"
    assert not certificates.renew()
    install(authority.server("second"), *files)
    assert handshake(certificates.context, authority, name=name) == "CN=first"
    assert certificates.renew()
    assert handshake(certificates.context, authority, name=name) == "CN=second"
    assert not certificates.renew()


def test_a_half_written_renewal_waits_for_its_other_half(
    authority: Authority, files: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    certificates = Certificates(*files)
    cert, key = files
    second = authority.server("second")
    shutil.copy(second.certificate, cert.with_suffix(".fresh"))
    cert.with_suffix(".fresh").rename(cert)
    assert not certificates.renew()
    assert "kept the old certificate" in caplog.text
    assert handshake(certificates.context, authority) == "CN=first"
    key.unlink()
    assert not certificates.renew()
    assert "tls.key cannot be read: No such file" in caplog.text
    shutil.copy(second.key, key)
    assert certificates.renew()
    assert handshake(certificates.context, authority) == "CN=second"


def test_clients_need_a_certificate_of_the_authority(
    tmp_path: Path, authority: Authority, files: tuple[Path, Path]
) -> None:
    stranger = an_authority(tmp_path / "stranger")
    certificates = Certificates(*files, authority.file)
    mine, other = authority.client("c", "me", []), stranger.client("c", "me", [])
    assert handshake(certificates.context, authority, mine) == "CN=first"
    with pytest.raises(ssl.SSLError):
        handshake(certificates.context, authority)
    with pytest.raises(ssl.SSLError):
        handshake(certificates.context, authority, other)


def test_a_renewed_client_authority_counts_at_once(
    tmp_path: Path, authority: Authority, files: tuple[Path, Path]
) -> None:
    successor = an_authority(tmp_path / "successor")
    client_ca = tmp_path / "clients.crt"
    shutil.copy(authority.file, client_ca)
    certificates = Certificates(*files, client_ca)
    old, new = authority.client("old", "me", []), successor.client("new", "me", [])
    handshake(certificates.context, authority, old)
    with pytest.raises(ssl.SSLError):
        handshake(certificates.context, authority, new)
    client_ca.unlink()
    shutil.copy(successor.file, client_ca)
    assert certificates.renew()
    handshake(certificates.context, authority, new)
    with pytest.raises(ssl.SSLError):
        handshake(certificates.context, authority, old)
    with pytest.raises(ssl.SSLError):
        handshake(certificates.context, authority)


def test_old_protocols_are_rejected(authority: Authority, files: tuple[Path, Path]) -> None:
    for context in (Certificates(*files).context, Certificates(*files)._newest):
        assert context.minimum_version == ssl.TLSVersion.TLSv1_2


def test_files_are_watched(
    authority: Authority, files: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        certificates = Certificates(*files)
        watching = asyncio.create_task(certificates.watch(0.001))
        install(authority.server("second"), *files)
        async with asyncio.timeout(300):
            while "using the renewed certificate" not in caplog.text:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        watching.cancel()
        assert handshake(certificates.context, authority) == "CN=second"

    with caplog.at_level(logging.INFO, "mooring.http"):
        asyncio.run(main())


def test_unusable_files_are_one_sentence(
    tmp_path: Path, authority: Authority, files: tuple[Path, Path]
) -> None:
    cert, key = files
    nonsense = tmp_path / "nonsense"
    nonsense.write_text("nonsense")
    wrong = authority.server("wrong").key
    for arguments, sentence in [
        ((tmp_path / "none", key), "none cannot be read: No such file or directory"),
        ((cert, tmp_path / "none"), "none cannot be read"),
        ((cert, key, tmp_path / "none"), "none cannot be read"),
        ((nonsense, key), "are not a certificate and its key in PEM format"),
        ((cert, nonsense), "are not a certificate and its key in PEM format"),
        ((cert, wrong), "are not a certificate and its key in PEM format"),
        ((cert, key, nonsense), "nonsense is not a CA file in PEM format"),
        ((tmp_path, key), "are not a certificate and its key in PEM format"),
    ]:
        with pytest.raises(InputError, match=sentence):
            Certificates(*arguments)


def test_options_need_both_files(files: tuple[Path, Path]) -> None:
    cert, key = files
    assert ServeOptions(policy="p").certificates() is None
    assert ServeOptions(policy="p", tls_cert=cert, tls_key=key).certificates() is not None
    for options in (
        ServeOptions(policy="p", tls_cert=cert),
        ServeOptions(policy="p", tls_key=key),
        ServeOptions(policy="p", client_ca=cert),
    ):
        with pytest.raises(InputError, match="TLS needs both --tls-cert and --tls-key"):
            options.certificates()


def test_certificates_behind_a_link_are_renewed(
    tmp_path: Path, authority: Authority, files: tuple[Path, Path]
) -> None:
    """As kubelet mounts a secret: the files are links, and the folder behind them is swapped."""
    for number, name in enumerate(("one", "two")):
        (tmp_path / f"v{number}").mkdir()
        install(authority.server(name), tmp_path / f"v{number}/crt", tmp_path / f"v{number}/key")
    data = tmp_path / "..data"
    data.symlink_to("v0")
    certificates = Certificates(data / "crt", data / "key")
    assert handshake(certificates.context, authority) == "CN=one"
    (tmp_path / "..new").symlink_to("v1")
    os.replace(tmp_path / "..new", data)  # noqa: PTH105 - a link to a folder
    assert certificates.renew()
    assert handshake(certificates.context, authority) == "CN=two"
