"""A certificate authority for one test control plane, and the kubeconfigs made with it.

Called by the control planes for tests only. Keys are throw-away ones: never use them elsewhere.
"""

import base64
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from mooring.deploy.manifests.self_signed import CertificateAuthority, Certified, private_pem

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
        self._authority = CertificateAuthority("mooring-test-ca", _LIFETIME)
        self.file = folder / "ca.crt"
        self.file.write_text(self._authority.pem)

    def client(self, name: str, user: str, groups: Sequence[str]) -> KeyPair:
        """Make the certificate of a Kubernetes user in these groups."""
        return self._written(name, self._authority.client(user, groups))

    def server(self, name: str) -> KeyPair:
        """Make the certificate of a server on this machine: 127.0.0.1 and localhost."""
        return self._written(name, self._authority.server(name, ["127.0.0.1", "localhost"]))

    def signing_key(self, name: str) -> KeyPair:
        """Make a bare key pair; the public half is in the place of the certificate."""
        key = ec.generate_private_key(ec.SECP256R1())
        pair = KeyPair(self._folder / f"{name}.pub", self._folder / f"{name}.key")
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        pair.certificate.write_bytes(public)
        _write_key(pair.key, private_pem(key))
        return pair

    def _written(self, name: str, made: Certified) -> KeyPair:
        pair = KeyPair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        pair.certificate.write_text(made.certificate)
        _write_key(pair.key, made.key)
        return pair


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


def _write_key(file: Path, key: str) -> None:
    file.touch(mode=0o600)
    file.write_text(key)
