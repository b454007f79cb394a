"""A certificate authority whose key is thrown away, and what it certifies, as texts.

`certificates` imports it only where it is needed: the package cryptography is no dependency of
mooring itself. The control planes for tests use it, too. Nothing is written to a disk here.
"""

import datetime
import ipaddress
from collections.abc import Sequence
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME: Final = datetime.timedelta(days=3650)
#: Clocks of nodes may be a little behind.
_EARLIER: Final = datetime.timedelta(hours=1)


class Certified(NamedTuple):
    """A certificate, its key and its authority, in PEM."""

    certificate: str
    key: str
    authority: str

    @property
    def files(self) -> dict[str, str]:
        """As in a Secret for TLS."""
        return {"ca.crt": self.authority, "tls.crt": self.certificate, "tls.key": self.key}


def self_signed(names: list[str], client: str) -> tuple[Certified, Certified]:
    """Certificates of a server with these names and addresses, and of its client."""
    authority = CertificateAuthority("mooring-extender-ca", _LIFETIME)
    return authority.server("mooring-extender", names), authority.client(client)


class CertificateAuthority:
    """Certifies servers and clients; its key is never written down.

    Args:
        name: its name.
        lifetime: how long everything is valid.

    Attributes:
        pem: its own certificate.
    """

    def __init__(self, name: str, lifetime: datetime.timedelta) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        self._lifetime = lifetime
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
        constraints = x509.BasicConstraints(ca=True, path_length=0)
        builder = (
            self._builder(self._name, self._key.public_key())
            .add_extension(constraints, critical=True)
            .add_extension(usage, critical=True)
        )
        self.pem = _pem(builder.sign(self._key, hashes.SHA256()))

    def server(self, name: str, names: Sequence[str]) -> Certified:
        """The certificate of a server with these names and addresses."""
        alternatives = x509.SubjectAlternativeName([_alternative(one) for one in names])
        return self._issue(_name(name), ExtendedKeyUsageOID.SERVER_AUTH, alternatives)

    def client(self, user: str, groups: Sequence[str] = ()) -> Certified:
        """The certificate of a client, for Kubernetes a user in these groups."""
        return self._issue(_name(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH)

    def _issue(
        self, subject: x509.Name, purpose: x509.ObjectIdentifier, *extensions: x509.ExtensionType
    ) -> Certified:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(subject, key.public_key())
        for one in (x509.ExtendedKeyUsage([purpose]), *extensions):
            builder = builder.add_extension(one, critical=False)
        certificate = _pem(builder.sign(self._key, hashes.SHA256()))
        return Certified(certificate, private_pem(key), self.pem)

    def _builder(
        self, subject: x509.Name, public_key: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        own_key = x509.SubjectKeyIdentifier.from_public_key(public_key)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _EARLIER)
            .not_valid_after(now + self._lifetime)
            .add_extension(own_key, critical=False)
            .add_extension(issuer_key, critical=False)
        )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _name(text: str, groups: Sequence[str] = ()) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, text)])


def private_pem(key: ec.EllipticCurvePrivateKey) -> str:
    """A private key, not encrypted."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
