"""What can be chosen, by name: the command line offers it, and descriptions have it.

Imports nothing, since ``moor --help`` imports it.
"""

from enum import StrEnum


class Mode(StrEnum):
    """How the policy takes part in scheduling."""

    EXTENDER = "extender"
    SIDECAR = "sidecar"
    SCHEDULER = "scheduler"
    STATIC_POD = "static-pod"


class ManifestFormat(StrEnum):
    """What is written."""

    YAML = "yaml"
    KUSTOMIZE = "kustomize"
    HELM = "helm"


class TlsSource(StrEnum):
    """Where the extender's certificates come from."""

    NONE = "none"
    SELF_SIGNED = "self-signed"
    CERT_MANAGER = "cert-manager"
    SECRET = "secret"  # noqa: S105


class ServiceType(StrEnum):
    """How the extender is reached."""

    CLUSTER_IP = "ClusterIP"
    NODE_PORT = "NodePort"
    LOAD_BALANCER = "LoadBalancer"
