"""``moor bind``: a pod to a node, by hand."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from mooring.cli.cluster_reader import (
    as_input_error,
    find_cluster,
    read_live,
)
from mooring.cli.pod_names import read_pod_name
from mooring.cli.shared_options import KubeconfigFile, KubeContext, PodNamespace
from mooring.cli.standard_streams import print_error
from mooring.errors import ApiError, InputError, MooringError
from mooring.wording import escaped

if TYPE_CHECKING:
    from mooring.explaining.explainer import Explainer
    from mooring.kube.cluster_config import ClusterConfig
    from mooring.model.pod import Pod

_FORBIDDEN, _NOT_FOUND = 403, 404


def bind(
    pod: Annotated[
        str,
        typer.Argument(help="The pod: NAME, pod/NAME or NAMESPACE/NAME."),
    ],
    node: Annotated[str, typer.Argument(help="Name of the node.")],
    kubeconfig: KubeconfigFile = None,
    context: KubeContext = None,
    namespace: PodNamespace = None,
    force: Annotated[
        bool, typer.Option("--force", help="Bind it even if it does not fit.")
    ] = False,
) -> None:
    """Bind a pending pod to a node, as a scheduler would.

    First checks with kube-scheduler's default plugins whether the pod fits on the node, whatever
    its schedulerName. The exit code is 0 if the pod is bound, 1 if it does not fit or the API
    server rejects the binding, and 2 if the input is invalid.
    """
    config = find_cluster(kubeconfig, context=context)
    namespace, name = read_pod_name(pod, namespace, config.namespace)
    with as_input_error():
        found = asyncio.run(_look_up(config, namespace, name, node, force))
    if found is not None and found.node_name:
        raise MooringError(
            f"pod {found.key} is already bound to node {found.node_name}; a pod can be bound "
            "only once"
        )
    if not force and found is not None:
        _check(config, found, node)
    uid = found.uid if found is not None else ""
    asyncio.run(_bind(config, namespace, name, uid, node))
    typer.echo(escaped(f"{namespace}/{name} is bound to {node}"))


async def _look_up(
    config: "ClusterConfig", namespace: str, name: str, node: str, force: bool
) -> "Pod | None":
    """The pod as it is; None if it is forced and we may not see it."""
    from mooring.kube.client import Client, api_path
    from mooring.model.pod import Pod

    pod_path = api_path("api", "v1", "namespaces", namespace, "pods", name)
    async with Client(config) as client:

        async def get(path: str, what: str) -> bytes | None:
            try:
                return await client.request("GET", path)
            except ApiError as error:
                if error.status == _NOT_FOUND:
                    raise InputError(f"there is no {what} in the cluster") from error
                if error.status != _FORBIDDEN or not force:
                    raise
                return None

        found = await get(pod_path, f"pod {namespace}/{name}")
        # The API server binds to a node that does not exist without a word.
        await get(api_path("api", "v1", "nodes", node), f"node {node}")
    return None if found is None else Pod.from_json(found)


def _check(config: "ClusterConfig", pod: "Pod", node: str) -> None:
    """Show why a pod does not fit on a node, if so.

    Raises:
        MooringError: it does not.
    """
    from mooring.cli.explain.node_view import print_node
    from mooring.explaining.explainer import Explainer
    from mooring.model.changed_copies import with_spec
    from mooring.model.pod_defaults import DEFAULT_SCHEDULER

    explainer = Explainer(read_live(config))
    if node not in explainer.cluster.nodes:
        raise InputError(f"node {node} cannot be used: {_why_not(explainer, node)}")
    found = explainer.explain(with_spec(pod, scheduler_name=DEFAULT_SCHEDULER), node)
    if node not in found.record.feasible or found.record.gated:
        print_node(found, node)
        if found.record.gated:
            raise MooringError(f"pod {pod.key} is not ready for scheduling: {found.record.message}")
        raise MooringError(f"pod {pod.key} does not fit on {node}; use --force to bind it anyway")
    for claim in _unbound_claims(explainer, pod):
        print_error(f"claim {claim} is not bound to a volume yet, and moor bind does not bind it")


def _why_not(explainer: "Explainer", node: str) -> str:
    """Why a node of the cluster is not in its state."""
    start = f"Node {node}"
    skipped = [one.problem for one in explainer.snapshot.skipped if one.thing == start]
    return skipped[0] if skipped else "it no longer exists"


def _unbound_claims(explainer: "Explainer", pod: "Pod") -> list[str]:
    """The pod's claims that wait for a scheduler to choose a node."""
    from mooring.model.storage import PersistentVolumeClaim

    catalog = explainer.cluster.catalog
    keys = (
        f"{pod.namespace}/{name}"
        for volume in pod.spec.volumes or ()
        if (name := volume.claim_for(pod.name)) is not None
    )
    claims = (catalog.get(PersistentVolumeClaim, key) for key in keys)
    return [one.key for one in claims if one is not None and not one.bound]


async def _bind(config: "ClusterConfig", namespace: str, name: str, uid: str, node: str) -> None:
    from mooring.kube.client import Client

    async with Client(config) as client:
        await client.bind(namespace, name, uid or None, node)
