"""Where one API server is and how to trust it, as one value.

`kubeconfig` and `config` make it, `client` and `transport` read it. It does no I/O.
"""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from mooring.kube.credentials import AuthSource, FixedCredentials


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterConfig:
    """How to reach one API server.

    Attributes:
        server: the address, such as ``https://10.0.0.1:6443``; it may end with a path.
        source: where this came from, for error sentences: ``context "kind" of ~/.kube/config``.
        namespace: the namespace to use when none is named.
        auth: who we are.
        ca_file: the certificate authority, as a file; ``ca_data`` goes first.
        ca_data: the certificate authority, in PEM.
        insecure: do not check the server's certificate.
        tls_server_name: the name to expect in the server's certificate.
        cert_file: the client certificate, as a file; ``cert_data`` goes first.
        cert_data: the client certificate, in PEM.
        key_file: the client certificate's key, as a file; ``key_data`` goes first.
        key_data: the client certificate's key, in PEM.
        proxy_url: the HTTP proxy; empty means what the environment says.
        compression: whether to ask for compressed answers.
        headers: headers for every request, such as those of impersonation.
    """

    server: str
    source: str = "the configuration"
    namespace: str = "default"
    auth: AuthSource = field(default_factory=FixedCredentials, repr=False)
    ca_file: Path | None = None
    ca_data: bytes = field(default=b"", repr=False)
    insecure: bool = False
    tls_server_name: str = ""
    cert_file: Path | None = None
    cert_data: bytes = field(default=b"", repr=False)
    key_file: Path | None = None
    key_data: bytes = field(default=b"", repr=False)
    proxy_url: str = field(default="", repr=False)
    compression: bool = True
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def secure(self) -> bool:
        """Whether the server is spoken to over TLS."""
        return urlsplit(self.server).scheme == "https"
