"""A cluster for one test: API server, fake nodes and mooring's scheduler, in threads.

For people who test their policies, as `mooring.testing.cluster`. Everything a real cluster's user
sees is there and goes over HTTP; nothing is left after the block.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mooring.errors import ApiError, InputError
from mooring.framework.policy import Policy
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.snapshot.manifests import objects_in, read_objects
from mooring.testing.api_client import HttpClient
from mooring.testing.builders import make_node, make_pod
from mooring.testing.child_process import Startable
from mooring.testing.embedded_thread import EmbeddedSettings, EmbeddedThread
from mooring.testing.waiting_client import WaitingClient

Manifest = Mapping[str, Any]

_CONFLICT = 409
_APPLY = "application/apply-patch+yaml"
_ZONES = ("zone-a", "zone-b", "zone-c")


class TestCluster(WaitingClient, Startable):
    """A cluster with mooring's scheduler; created by `cluster`.

    Use it with ``with``, or call `start` and `stop`. Objects of any kind can be created, read and
    deleted with `create`, `get`, `list_objects` and `delete`.

    Attributes:
        url: the API server's address; available after `start`.
        kubeconfig: a kubeconfig file for kubectl and other programs; available after `start`.
    """

    __test__ = False  # no class of tests, whatever pytest thinks of its name

    url: str
    kubeconfig: Path

    def __init__(self, settings: EmbeddedSettings) -> None:
        super().__init__()
        self._settings = settings
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._running: EmbeddedThread | None = None

    def start(self) -> None:
        """Start the API server and the scheduler.

        Raises:
            InputError: the policy, the configuration or a node cannot be used.
        """
        if self._running is not None:
            raise InputError("the cluster is running already")
        self._folder = tempfile.TemporaryDirectory(prefix="mooring-cluster-")
        self.kubeconfig = Path(self._folder.name) / "kubeconfig"
        self._running = EmbeddedThread(self._settings, self.kubeconfig)
        try:
            self._running.start()
        except BaseException:
            self.stop()
            raise
        self.url = self._running.url
        self._http = HttpClient(int(self.url.rpartition(":")[2]))

    def stop(self) -> None:
        """Stop everything; may be called more than once."""
        if self._http is not None:
            self._http.close()
        if self._running is not None:
            self._running.stop()
        if self._folder is not None:
            self._folder.cleanup()
        self._http = self._running = self._folder = None

    @property
    def _thread(self) -> EmbeddedThread:
        if self._running is None:
            raise InputError("the cluster is not running")
        return self._running

    def create_pod(
        self,
        name: str,
        *,
        namespace: str = "default",
        requests: Mapping[str, str | int] | None = None,
        images: Sequence[str] = ("app:1",),
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        node: str = "",
        priority: int = 0,
        spec: Manifest | None = None,
    ) -> Pod:
        """Create a pod, described as for `make_pod`.

        Args:
            name: its name.
            namespace: its namespace, which must exist.
            requests: what the first container requests, such as ``{"cpu": "500m"}``.
            images: one container for each image.
            labels: its labels.
            annotations: its annotations.
            node: the node it is created on, bypassing the scheduler.
            priority: its priority; a PriorityClass is created for it.
            spec: further fields of the spec, as spelled in Kubernetes.

        Raises:
            ApiError: the API server rejects it.
        """
        made = make_pod(
            name, namespace=namespace, images=images, labels=labels, annotations=annotations,
            node=node, spec=spec,
        ).raw  # fmt: skip
        made["spec"].pop("priority", None)
        for key in ("uid", "creationTimestamp"):
            made["metadata"].pop(key, None)
        if requests:
            made["spec"]["containers"][0]["resources"] = _resources(requests)
        if priority:
            made["spec"]["priorityClassName"] = self._priority_class(priority)
        return Pod.from_dict(self.create({"apiVersion": "v1", "kind": "Pod", **made}))

    def delete_pod(self, name: str, *, namespace: str = "default") -> None:
        """Delete a pod and wait until it is gone.

        Raises:
            ApiError: there is none.
        """
        self.delete("Pod", name, namespace)

    def apply(self, manifest: str | Manifest | Sequence[Manifest]) -> list[dict[str, Any]]:
        """Create or update objects, as ``kubectl apply --server-side`` does.

        Args:
            manifest: YAML or JSON as text, or objects as parsed data.

        Returns:
            The resulting objects.

        Raises:
            InputError: the text is not a valid manifest.
            ApiError: the API server rejects something.
        """
        objects = (
            read_objects(manifest) if isinstance(manifest, str) else list(objects_in(manifest))
        )
        return [self._apply(one) for one in objects]

    def delete_namespace(self, name: str) -> None:
        """Delete a namespace and wait until it and its contents are gone.

        Raises:
            ApiError: there is none.
            WaitError: timed out waiting for something in it to be deleted.
        """
        self.delete("Namespace", name)

        def gone() -> bool:
            return all(one["metadata"]["name"] != name for one in self.list_objects("Namespace"))

        self.wait_for(gone, f"namespace {name} to be gone")

    def _apply(self, obj: Manifest) -> dict[str, Any]:
        metadata = obj.get("metadata") or {}
        name = metadata.get("name")
        if not name:
            return self.create(obj)  # generateName
        path = self.path(
            obj["kind"], name, metadata.get("namespace"), api_version=obj["apiVersion"]
        )
        applied: dict[str, Any] = self.request(
            "PATCH", f"{path}?fieldManager=mooring-testing&force=true", obj, content_type=_APPLY
        )
        return applied

    def _priority_class(self, value: int) -> str:
        name = f"priority-{value}" if value >= 0 else f"priority-minus-{-value}"
        made = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        try:
            self.create(made)
        except ApiError as error:
            if error.status != _CONFLICT:  # it may be there already
                raise
        return name


def cluster(
    nodes: int | Sequence[Node | Manifest] = 3,
    *,
    policy: Policy | str | Path | None = None,
    config: Manifest | str | None = None,
    scheduler: bool = True,
    kubelet: bool = True,
    job_seconds: float | None = None,
    hook_timeout: float = 5.0,
) -> TestCluster:
    """A cluster for a ``with`` block: an API server, fake nodes and mooring's scheduler.

    It runs in threads of this process and listens on a free port of 127.0.0.1. Controllers create
    the pods of Deployments and Jobs, and bound pods run immediately.

    Args:
        nodes: how many nodes, named ``node-1``, ``node-2`` and so on, with 8 cores and 32Gi each,
        distributed over three zones; or nodes created by `make_node`, or manifests.
        policy: a policy to schedule with, or where to load it from.
        config: a KubeSchedulerConfiguration as a mapping or YAML; None for the default.
        scheduler: False for a cluster without a scheduler, so that you can start your own with its
        `kubeconfig`.
        kubelet: False if bound pods should not run.
        job_seconds: seconds until pods of Jobs complete; None to let them run.
        hook_timeout: seconds after which a wait fails and names the plugin that does not return.

    Raises:
        InputError: a node or the configuration is not an object.
    """
    made = [_numbered(number) for number in range(nodes)] if isinstance(nodes, int) else nodes
    if isinstance(config, str):
        config = _mapping(config)
    return TestCluster(
        EmbeddedSettings(
            nodes=[_manifest(one) for one in made],
            policy=str(policy) if isinstance(policy, Path) else policy,
            config=config,
            scheduler=scheduler,
            kubelet=kubelet,
            job_seconds=job_seconds,
            hook_seconds=hook_timeout,
        )
    )


def _numbered(number: int) -> Node:
    zone = {"topology.kubernetes.io/zone": _ZONES[number % len(_ZONES)]}
    return make_node(f"node-{number + 1}", labels=zone)


def _manifest(node: Node | Manifest) -> Manifest:
    whole = node.raw if isinstance(node, Node) else node
    if not isinstance(whole, Mapping):
        raise InputError(
            f"{node!r} is not a node; pass a number, manifests or results of make_node"
        )
    return {"apiVersion": "v1", "kind": "Node", **whole}


def _mapping(text: str) -> Manifest:
    from mooring import yaml_text  # noqa: PLC0415 - slow to import

    try:
        found = yaml_text.parse(text)
    except yaml_text.YamlProblem as problem:
        raise InputError(f"the configuration is not valid YAML: {problem}") from problem
    if not isinstance(found, Mapping):
        raise InputError("the configuration is not a YAML mapping")
    return found


def _resources(requests: Mapping[str, str | int]) -> dict[str, dict[str, str]]:
    """Requests as a container has them: extended resources need equal limits."""
    amounts = {name: str(value) for name, value in requests.items()}
    extended = {name: value for name, value in amounts.items() if "/" in name}
    return {"requests": amounts, **({"limits": extended} if extended else {})}
