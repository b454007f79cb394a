"""The scheduler's configuration: KubeSchedulerConfiguration, or a Policy for old versions.

`manifest_set` puts it into a ConfigMap, `static_pod_files` into a file, and `permissions` reads
what `moor run` is configured with. The extender's entry is the one that `moor serve` prints.
"""

import json
from typing import Any
from urllib.parse import urlsplit

from mooring.config.configuration import read_configuration
from mooring.config.types import API_VERSION, KIND, KUBE_SCHEDULER_LEASE
from mooring.deploy.manifests.choices import Mode, ServiceType, TlsSource
from mooring.deploy.manifests.extender_paths import FIELDS
from mooring.deploy.manifests.installation import Installation
from mooring.deploy.manifests.nodes import ChartFile, EmbeddedYaml, Noted, Tree
from mooring.deploy.manifests.object_names import full_name, namespace_of, service_host
from mooring.deploy.manifests.plain_objects import plain
from mooring.deploy.static_pods import KUBEADM_KUBECONFIG
from mooring.errors import InputError
from mooring.extender.address import is_address, shown
from mooring.extender.extender_entry import extender_entry


def lease_place(installation: Installation) -> tuple[Tree, Tree]:
    """Namespace and name of the Lease."""
    if installation.in_place:
        return KUBE_SCHEDULER_LEASE
    return namespace_of(installation), full_name(installation)


def scheduler_configuration(installation: Installation, *, kubeconfig: str = "") -> dict[str, Tree]:
    """The KubeSchedulerConfiguration, for people.

    Args:
        installation: what is deployed.
        kubeconfig: the file with which a kube-scheduler outside of a pod network reaches the
            cluster; empty takes the service account.

    Raises:
        InputError: the configuration to begin with cannot be used, or has an extender already.
    """
    base = _base(installation)
    namespace, lease = lease_place(installation)
    election = {**base.pop("leaderElection", {})}
    if installation.mode is not Mode.EXTENDER:
        note = "the cluster's own scheduler has kube-scheduler"
        if installation.in_place:
            note = "the same as kube-scheduler's: only one of them works"
        election |= {
            "leaderElect": Noted(value=True, note="one of several works"),
            "resourceName": Noted(lease, note),
            "resourceNamespace": namespace,
        }
    head: dict[str, Tree] = {
        "apiVersion": installation.kubernetes.configuration_api
        if installation.has_extender
        else API_VERSION,
        "kind": KIND,
    }
    client = {**(base.pop("clientConnection", None) or {})}
    client.pop("kubeconfig", None)  # of another machine; pods have a service account
    if kubeconfig:
        client["kubeconfig"] = kubeconfig
    if client:
        head["clientConnection"] = client
    if election:
        head["leaderElection"] = election
    if installation.mode is Mode.EXTENDER and "leaderElection" not in head:
        head["leaderElection"] = {"leaderElect": True}
    rest = {key: value for key, value in base.items() if key not in ("apiVersion", "kind")}
    made = {**head, **rest}
    if installation.has_extender:
        made["extenders"] = [*rest.get("extenders", []), extender(installation)]
    read_configuration({**plain(made), "apiVersion": API_VERSION})
    return made


def configuration_file(installation: Installation) -> ChartFile | EmbeddedYaml:
    """The configuration as a file: config.yaml, or policy.cfg for old versions."""
    if installation.has_extender and not installation.kubernetes.configuration_api:
        return ChartFile("policy.cfg", policy_text(installation))
    outside = installation.mode in (Mode.EXTENDER, Mode.STATIC_POD)
    kubeconfig = KUBEADM_KUBECONFIG if outside else ""
    made = scheduler_configuration(installation, kubeconfig=kubeconfig)
    return EmbeddedYaml("config.yaml", made)


def extender(installation: Installation) -> dict[str, Tree]:
    """The entry of ``extenders``."""
    one = installation
    entry: dict[str, Tree] = dict(
        extender_entry(
            one.policy.policy,
            extender_url(one) + one.paths.prefix,
            node_cache=one.node_cache,
            timeout=one.timeout,
        )
    )
    if one.mode is Mode.EXTENDER and not one.url and one.service is ServiceType.CLUSTER_IP:
        scheme, port = extender_url(one).split(":")[0], one.paths.port
        entry["urlPrefix"] = service_host(one, f"{scheme}://", f":{port}{one.paths.prefix}")
    entry = _with_verbs(entry, one.paths.verbs)
    entry.setdefault("httpTimeout", f"{one.timeout:g}s")
    if "weight" in entry and one.policy.policy.weight is None and _scores_as_usual(one):
        note = "half the say: as much as all default plugins together"
        entry["weight"] = Noted(entry["weight"], note)
    cached = one.node_cache
    note = "only the names of nodes are sent" if cached else "whole nodes are sent"
    entry["nodeCacheCapable"] = Noted(entry.pop("nodeCacheCapable"), note)
    if one.ignorable if one.ignorable is not None else one.mode is Mode.EXTENDER:
        note = "while it is away, pods are scheduled without it, its own among them"
        entry["ignorable"] = Noted(value=True, note=note)
    if one.managed_resources:
        entry["managedResources"] = [
            {"name": name, "ignoredByScheduler": False} for name in one.managed_resources
        ]
    if one.tls is not TlsSource.NONE:
        entry["tlsConfig"] = {
            "caFile": f"{one.files_folder}/ca.crt",
            "certFile": f"{one.files_folder}/tls.crt",
            "keyFile": f"{one.files_folder}/tls.key",
        }
    return entry


def _with_verbs(entry: dict[str, Tree], verbs: dict[str, str]) -> dict[str, Tree]:
    """The entry with other paths, and with verbs that the policy could do without."""
    entry = dict(entry)
    cached = entry.pop("nodeCacheCapable")
    for verb, path in verbs.items():
        entry[FIELDS[verb]] = path
    return entry | {"nodeCacheCapable": cached}


def _scores_as_usual(one: Installation) -> bool:
    """Whether the default plugins score with their usual weights."""
    return not any(
        {"score", "multiPoint"} & (profile.get("plugins") or {}).keys()
        for profile in _base(one)["profiles"]
    )


def extender_url(installation: Installation) -> str:
    """Where kube-scheduler finds the extender, without the prefix of its verbs.

    Raises:
        InputError: ``--url`` is none, or it has to be given.
    """
    one = installation
    if one.mode is not Mode.EXTENDER:
        return f"http://127.0.0.1:{one.paths.port}"
    scheme = "http" if one.tls is TlsSource.NONE else "https"
    if one.url:
        _check_url(one.url, scheme)
        return one.url.rstrip("/")
    if one.service is ServiceType.NODE_PORT:
        if not one.node_port:
            raise InputError(
                "kube-scheduler has to know the port: give --node-port, or --url if it asks "
                "another address than its own node's"
            )
        return f"{scheme}://127.0.0.1:{one.node_port}"
    if one.service is ServiceType.LOAD_BALANCER:
        raise InputError("--service LoadBalancer has an address that only you know: give --url")
    return f"{scheme}://{one.name}.{one.namespace}.svc:{one.paths.port}"


def host_of(url: str) -> str:
    """The name or address in a URL."""
    return urlsplit(url).hostname or ""


def policy_text(installation: Installation) -> str:
    """The scheduler policy for Kubernetes before 1.23, as JSON.

    Raises:
        InputError: the extender cannot be used.
    """
    entry: dict[str, Any] = plain(extender(installation))
    read_configuration({"extenders": [entry]})  # the same rules as ever since
    entry["httpTimeout"] = round(installation.timeout * 1e9)  # nanoseconds there
    entry["enableHttps"] = entry.pop("enableHTTPS", False)
    made = {"kind": "Policy", "apiVersion": "v1", "extenders": [entry]}
    return json.dumps(made, indent=2) + "\n"


def _base(installation: Installation) -> dict[str, Any]:
    """The configuration to begin with, with the schedulers' names."""
    base = {key: value for key, value in installation.configuration.items() if value is not None}
    profiles = base.get("profiles") or [{}]
    named = [
        {"schedulerName": name} | {key: one[key] for key in one if key != "schedulerName"}
        for name, one in zip(installation.scheduler_names, profiles, strict=True)
    ]
    return base | {"profiles": named}


def _check_url(url: str, scheme: str) -> None:
    parts = urlsplit(url) if is_address(url) else None
    if parts is not None and ("@" in parts.netloc or parts.query or parts.fragment):
        raise InputError(
            f"--url {shown(url)} must have no user, query or fragment: everybody can read the "
            f"configuration; leave them out"
        )
    if parts is None or parts.scheme != scheme or parts.path.strip("/"):
        raise InputError(
            f"--url {url!r} must be {scheme}://HOST:PORT without a path; --prefix sets the path"
        )
