"""Certificates of an extender and of the kube-scheduler that asks it.

`manifest_set` calls it. Either `self_signed` makes them, once, by an authority whose key is thrown
away, or cert-manager makes and renews them. Those of the extender are in a Secret; kube-scheduler's
own are for its nodes, and nothing in the cluster needs them.
"""

import ipaddress
from collections.abc import Mapping
from typing import Final

import msgspec

from mooring.deploy.manifests.choices import TlsSource
from mooring.deploy.manifests.installation import Installation
from mooring.deploy.manifests.manifest import Manifest, metadata
from mooring.deploy.manifests.nodes import Noted, Setting, Tree
from mooring.deploy.manifests.object_names import full_name, service_host
from mooring.deploy.manifests.scheduler_configuration import extender_url, host_of
from mooring.errors import InputError

_API: Final = "cert-manager.io/v1"
_FILE: Final = "certificates"
_KEY: Final = {"algorithm": "ECDSA"}
#: Ten years. cert-manager renews a certificate when two thirds of its time are over.
_LIFETIME: Final = "87600h"


def with_certificates(
    installation: Installation, there: Mapping[str, dict[str, str]] | None = None
) -> Installation:
    """The same with certificates, if they are to be self-signed.

    Args:
        installation: what is deployed.
        there: those of an earlier run, which are kept: the nodes have their files already.

    Raises:
        InputError: the package cryptography is not installed, or those that are there do not fit.
    """
    if installation.tls is not TlsSource.SELF_SIGNED:
        return installation
    try:
        from mooring.deploy.manifests.kept_certificates import check_kept  # noqa: PLC0415
        from mooring.deploy.manifests.self_signed import self_signed  # noqa: PLC0415
    except ImportError:
        raise InputError(
            "--tls self-signed needs the package cryptography: install it with pip, or use "
            "--tls cert-manager"
        ) from None
    names = _names(installation)
    if there:
        check_kept(there, names)
        return msgspec.structs.replace(installation, certificates=dict(there))
    server, client = self_signed(names, installation.name)
    made = {"tls": server.files, "client": client.files}
    return msgspec.structs.replace(installation, certificates=made)


def certificate_files(installation: Installation) -> dict[str, str]:
    """Self-signed certificates as files, by their paths."""
    return {
        f"{installation.name}-{whose}/{file}": text
        for whose, files in installation.certificates.items()
        for file, text in files.items()
    }


def certificate_manifests(installation: Installation) -> list[Manifest]:
    """The extender's Secret, or what cert-manager makes it of."""
    if installation.tls is TlsSource.SELF_SIGNED:
        comment = "What the extender shows to its callers."
        return [_secret(installation, "-tls", installation.certificates["tls"], comment)]
    if installation.tls is TlsSource.CERT_MANAGER:
        return _cert_manager(installation)
    return []


def _names(installation: Installation) -> list[str]:
    """Everything that callers may call the extender."""
    services = [service_host(installation).default, _cluster_host(installation).default]
    own = [*services, "localhost", "127.0.0.1"]
    return list(dict.fromkeys([*own, host_of(extender_url(installation))]))


def _cluster_host(installation: Installation) -> Setting:
    return service_host(installation, after=".cluster.local")


def _cert_manager(installation: Installation) -> list[Manifest]:
    one = installation
    addresses = [name for name in _names(one) if _is_address(name)]
    hosts = {each.default: each for each in (service_host(one), _cluster_host(one))}
    names: list[Tree] = [hosts.get(name, name) for name in _names(one) if name not in addresses]
    bootstrap = _issuer(one, "-self-signed", {"selfSigned": {}})
    authority = _certificate(one, "-ca", "-self-signed", {"isCA": True, "commonName": one.name})
    authority["spec"] |= {
        "duration": Noted(_LIFETIME, "the nodes have a copy of it"),
        "privateKey": {**_KEY, "rotationPolicy": Noted("Never", "so that copies stay valid")},
    }
    issuer = _issuer(one, "", {"ca": {"secretName": full_name(one, "-ca")}})
    server = {"dnsNames": names, "ipAddresses": addresses, "usages": ["server auth"]}
    client = {
        "commonName": one.name,
        "duration": Noted(_LIFETIME, "renewed files have to be copied to the nodes"),
        "usages": ["client auth"],
    }
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
            f"every control-plane node.",
        ),
    ]


def _issuer(one: Installation, ending: str, spec: dict[str, Tree]) -> dict[str, Tree]:
    return {"apiVersion": _API, "kind": "Issuer", "metadata": metadata(one, ending), "spec": spec}


def _certificate(
    one: Installation, ending: str, issuer: str, spec: dict[str, Tree]
) -> dict[str, Tree]:
    issuer_name = full_name(one, issuer)
    head = {"secretName": full_name(one, ending), "issuerRef": {"name": issuer_name}}
    return {
        "apiVersion": _API,
        "kind": "Certificate",
        "metadata": metadata(one, ending),
        "spec": {
            **head,
            "privateKey": {**_KEY, "rotationPolicy": "Always"},
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
