"""A certificate authority for one test control plane, and the kubeconfigs made with it.

Called by the control planes for tests only. Keys are throw-away ones: never use them elsewhere.
"""

import base64
import datetime
import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = datetime.timedelta(days=30)


@dataclass(frozen=True)
class KeyPair:
    """A certificate and its private key, both in files."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority that writes everything it makes into one folder.

    Args:
        folder: exists already; gets `ca.crt` and one `NAME.crt` and `NAME.key` per certificate.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mooring-test-ca")])
        usage = x509.KeyUsage(
            digital_signature=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        certificate = (
            self._builder(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.file = folder / "ca.crt"
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def client(self, name: str, user: str, groups: Sequence[str]) -> KeyPair:
        """Make the certificate of a Kubernetes user in these groups."""
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, user))
        return self._issue(name, x509.Name(attributes), ExtendedKeyUsageOID.CLIENT_AUTH)

    def server(self, name: str) -> KeyPair:
        """Make the certificate of a server on this machine: 127.0.0.1 and localhost."""
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return self._issue(name, subject, ExtendedKeyUsageOID.SERVER_AUTH)

    def signing_key(self, name: str) -> KeyPair:
        """Make a bare key pair; the public half is in the place of the certificate."""
        key = ec.generate_private_key(ec.SECP256R1())
        pair = KeyPair(self._folder / f"{name}.pub", self._folder / f"{name}.key")
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        pair.certificate.write_bytes(public)
        _write_key(pair.key, key)
        return pair

    def _issue(self, name: str, subject: x509.Name, purpose: x509.ObjectIdentifier) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(subject, key.public_key()).add_extension(
            x509.ExtendedKeyUsage([purpose]), critical=False
        )
        if purpose == ExtendedKeyUsageOID.SERVER_AUTH:
            address = ipaddress.ip_address("127.0.0.1")
            names = [x509.IPAddress(address), x509.DNSName("localhost")]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        pair = KeyPair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        _write_key(pair.key, key)
        return pair

    def _builder(
        self, subject: x509.Name, public_key: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        identifier = x509.SubjectKeyIdentifier.from_public_key(public_key)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + _LIFETIME)
            .add_extension(identifier, critical=False)
            .add_extension(issuer, critical=False)
        )


def write_kubeconfig(file: Path, url: str, ca_file: Path, user: KeyPair | str) -> Path:
    """Write a kubeconfig that carries everything inside it.

    Args:
        file: where to write it; returned.
        url: the API server's address.
        ca_file: the authority that signed the API server's certificate.
        user: a client certificate, or a token.
    """
    credentials: Mapping[str, str]
    if isinstance(user, str):
        credentials = {"token": user}
    else:
        credentials = {
            "client-certificate-data": _base64(user.certificate),
            "client-key-data": _base64(user.key),
        }
    cluster = {"server": url, "certificate-authority-data": _base64(ca_file)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": dict(credentials)}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "current-context": "test",
    }
    file.write_text(yaml.safe_dump(config))
    return file


def _base64(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()


def _write_key(file: Path, key: ec.EllipticCurvePrivateKey) -> None:
    file.touch(mode=0o600)
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
