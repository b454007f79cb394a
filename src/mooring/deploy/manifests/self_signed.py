"""Certificates of a server and of its client, by an authority whose key is thrown away.

`certificates` imports it only where it is needed: the package cryptography is no dependency of
mooring itself. Nothing is written to a disk here.
"""

import datetime
import ipaddress
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
    authority = _Authority()
    alternatives = x509.SubjectAlternativeName([_alternative(name) for name in names])
    return (
        authority.issue("mooring-extender", ExtendedKeyUsageOID.SERVER_AUTH, alternatives),
        authority.issue(client, ExtendedKeyUsageOID.CLIENT_AUTH),
    )


class _Authority:
    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("mooring-extender-ca")
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
        self._pem = _pem(builder.sign(self._key, hashes.SHA256()))

    def issue(
        self, name: str, purpose: x509.ObjectIdentifier, *extensions: x509.ExtensionType
    ) -> Certified:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(_name(name), key.public_key())
        for one in (x509.ExtendedKeyUsage([purpose]), *extensions):
            builder = builder.add_extension(one, critical=False)
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        return Certified(
            _pem(builder.sign(self._key, hashes.SHA256())), private.decode(), self._pem
        )

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
            .not_valid_after(now + _LIFETIME)
            .add_extension(own_key, critical=False)
            .add_extension(issuer_key, critical=False)
        )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
