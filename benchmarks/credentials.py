"""How the benchmarks' own clients log in to a test control plane.

Called by whatever opens connections that are not `mooring.testing`'s own.
"""

import base64
import ssl
import tempfile
from pathlib import Path

import yaml


def tls_context(kubeconfig: Path) -> ssl.SSLContext:
    """For connections as the user of a kubeconfig that has a client certificate inside."""
    config = yaml.safe_load(kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    user = config["users"][0]["user"]

    def pem(value: str) -> str:
        return base64.b64decode(value).decode()

    context = ssl.create_default_context(cadata=pem(cluster["certificate-authority-data"]))
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(pem(user["client-certificate-data"]) + pem(user["client-key-data"]))
        file.flush()
        context.load_cert_chain(file.name)
    return context
