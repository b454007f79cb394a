"""Certificates for the tests: an authority, a server at 127.0.0.1 and a client."""

import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Pair:
    certificate: bytes
    key: bytes


class Authority:
    """Signs certificates; without key identifiers, as hand-made clusters do."""

    def __init__(self, name: str = "test authority") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        self.pem = _pem(self._sign(self._name, self._key, ca=True))

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, ca: bool
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        local = ipaddress.ip_address("127.0.0.1")
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(
                x509.SubjectAlternativeName(
                    [x509.IPAddress(local), x509.DNSName("kubernetes.default")]
                ),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )

    def issue(self, name: str) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        return Pair(_pem(self._sign(_name(name), key, ca=False)), _key_pem(key))


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def server_context(
    folder: Path, authority: Authority, *, clients: ssl.VerifyMode
) -> ssl.SSLContext:
    """What a server at 127.0.0.1 needs."""
    pair = authority.issue("server")
    file = folder / "server.pem"
    file.write_bytes(pair.certificate + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    context.verify_mode = clients
    context.load_verify_locations(cadata=authority.pem.decode())
    return context
