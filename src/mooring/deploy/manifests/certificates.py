"""Certificates of an extender and of the kube-scheduler that asks it.

`manifest_set` calls it. Either `self_signed` makes them, once, by an authority whose key is thrown
away, or cert-manager makes and renews them.
"""

import ipaddress
from typing import Final

from mooring.deploy.manifests.choices import TlsSource
from mooring.deploy.manifests.installation import Installation
from mooring.deploy.manifests.manifest import Manifest, metadata
from mooring.deploy.manifests.nodes import Setting, Tree
from mooring.deploy.manifests.scheduler_configuration import extender_url, host_of
from mooring.errors import InputError

_API: Final = "cert-manager.io/v1"
_FILE: Final = "certificates"


def certificate_manifests(installation: Installation) -> list[Manifest]:
    """The Secrets, or what cert-manager makes them of.

    Raises:
        InputError: the package cryptography is not installed.
    """
    if installation.tls is TlsSource.SELF_SIGNED:
        try:
            from mooring.deploy.manifests.self_signed import self_signed  # noqa: PLC0415
        except ImportError:
            raise InputError(
                "--tls self-signed needs the package cryptography: install mooring[deploy], or use "
                "--tls cert-manager"
            ) from None
        server, client = self_signed(_names(installation), installation.name)
        return [
            _secret(installation, "-tls", server.files, "What the extender shows to its callers."),
            _secret(
                installation,
                "-client",
                client.files,
                f"What kube-scheduler shows to the extender: its files go to\n"
                f"{installation.files_folder} of every control-plane node.",
            ),
        ]
    if installation.tls is TlsSource.CERT_MANAGER:
        return _cert_manager(installation)
    return []


def _names(installation: Installation) -> list[str]:
    """Everything that callers may call the extender."""
    service = f"{installation.name}.{installation.namespace}.svc"
    own = [service, f"{service}.cluster.local", "localhost", "127.0.0.1"]
    return list(dict.fromkeys([*own, host_of(extender_url(installation))]))


def _cert_manager(installation: Installation) -> list[Manifest]:
    one = installation
    addresses = [name for name in _names(one) if _is_address(name)]
    service = f"{one.name}.{{{{ .Release.Namespace }}}}.svc"
    templates = {
        f"{one.name}.{one.namespace}.svc": service,
        f"{one.name}.{one.namespace}.svc.cluster.local": f"{service}.cluster.local",
    }
    names: list[Tree] = [
        Setting(name, {}, templates[name]) if name in templates else name
        for name in _names(one)
        if name not in addresses
    ]
    bootstrap = _issuer(one, "-self-signed", {"selfSigned": {}})
    authority = _certificate(one, "-ca", "-self-signed", {"isCA": True, "commonName": one.name})
    issuer = _issuer(one, "", {"ca": {"secretName": f"{one.name}-ca"}})
    server = {"dnsNames": names, "ipAddresses": addresses, "usages": ["server auth"]}
    client = {"commonName": one.name, "usages": ["client auth"]}
    return [
        Manifest(_FILE, bootstrap, "cert-manager: an authority of its own for these two."),
        Manifest(_FILE, authority),
        Manifest(_FILE, issuer),
        Manifest(
            _FILE,
            _certificate(one, "-tls", "", server),
            "What the extender shows to its callers. Renewed files are used without a restart.",
        ),
        Manifest(
            _FILE,
            _certificate(one, "-client", "", client),
            f"What kube-scheduler shows to the extender: its files go to\n{one.files_folder} of "
            f"every control-plane node, after each renewal.",
        ),
    ]


def _issuer(one: Installation, ending: str, spec: dict[str, Tree]) -> dict[str, Tree]:
    return {"apiVersion": _API, "kind": "Issuer", "metadata": metadata(one, ending), "spec": spec}


def _certificate(
    one: Installation, ending: str, issuer: str, spec: dict[str, Tree]
) -> dict[str, Tree]:
    head = {"secretName": f"{one.name}{ending}", "issuerRef": {"name": f"{one.name}{issuer}"}}
    return {
        "apiVersion": _API,
        "kind": "Certificate",
        "metadata": metadata(one, ending),
        "spec": {
            **head,
            "privateKey": {"algorithm": "ECDSA", "rotationPolicy": "Always"},
            **spec,
        },
    }


def _secret(one: Installation, ending: str, files: dict[str, str], comment: str) -> Manifest:
    made = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(one, ending),
        "type": "kubernetes.io/tls",
        "stringData": files,
    }
    return Manifest(_FILE, made, comment)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
