from typing import Any

import pytest

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.nodes.image_locality import ImageLocality
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import cluster_of, scored

MIB = 1024 * 1024


def node(name: str, **images: int) -> Node:
    raw: dict[str, Any] = make_node(name).raw
    listed = [{"names": [f"{key}:latest"], "sizeBytes": size} for key, size in images.items()]
    return Node.from_dict({**raw, "status": {**raw["status"], "images": listed}})


def score(node_sizes: list[int], pod: Pod) -> list[int]:
    """The scores of nodes that have an image ``x`` of these sizes; 0 stands for none."""
    nodes = [node(f"n{n}", **({"x": size} if size else {})) for n, size in enumerate(node_sizes)]
    return list(scored(ImageLocality(), cluster_of(*nodes), pod).values())


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (22 * MIB, 0),
        (23 * MIB, 0),
        (1000 * MIB, 100),
        (5000 * MIB, 100),
        (512 * MIB, 50),  # 489 of 977 MiB
    ],
)
def test_the_more_bytes_the_better(size: int, expected: int) -> None:
    assert score([size], make_pod(images=["x"])) == [expected]


def test_an_image_counts_by_the_share_of_nodes_that_have_it() -> None:
    # 900 MiB on two of three nodes count 600 MiB: 100 * 577 / 977.
    assert score([900 * MIB, 0, 900 * MIB], make_pod(images=["x"])) == [59, 0, 59]


def test_the_size_on_the_first_node_counts() -> None:
    assert score([512 * MIB, 900 * MIB], make_pod(images=["x"])) == [50, 50]


def test_every_container_raises_the_bar() -> None:
    # 100 * (1000 - 23) / (2000 - 23): once for each container that has the image.
    assert score([1000 * MIB], make_pod(images=["x", "other"])) == [49]
    assert score([1000 * MIB], make_pod(images=["x", "x"])) == [100]


def test_init_containers_and_image_volumes_count() -> None:
    init = make_pod(images=["y"], spec={"initContainers": [{"name": "i", "image": "x"}]})
    assert score([1000 * MIB], init) == [49]
    volume = make_pod(images=["y"], spec={"volumes": [{"name": "v", "image": {"reference": "x"}}]})
    # It counts as bytes, but not as a container.
    assert score([1000 * MIB], volume) == [100]


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        ("x", "x:latest"),
        ("host:5000/x", "host:5000/x:latest"),
        ("x:1", "x:1"),
        ("host:5000/x:1", "host:5000/x:1"),
        ("x@sha256:00", "x@sha256:00"),
    ],
)
def test_an_image_without_tag_is_the_latest(wanted: str, there: str) -> None:
    raw: dict[str, Any] = make_node("n").raw
    images = [{"names": ["a", there], "sizeBytes": 1000 * MIB}]
    cluster = cluster_of(Node.from_dict({**raw, "status": {**raw["status"], "images": images}}))
    assert scored(ImageLocality(), cluster, make_pod(images=[wanted])) == {"n": 100}


def test_an_image_nobody_has_counts_nothing() -> None:
    cluster = cluster_of(node("a", x=1000 * MIB), node("b"))
    assert scored(ImageLocality(), cluster, make_pod(images=["z"])) == {"a": 0, "b": 0}
    assert scored(ImageLocality(), cluster, make_pod(images=["z"]), ["b"]) == {"b": 0}


def test_images_that_are_pulled_later_are_seen() -> None:
    cluster, pod = cluster_of(node("a"), node("b")), make_pod(images=["x"])
    assert scored(ImageLocality(), cluster, pod) == {"a": 0, "b": 0}
    cluster.put(node("b", x=1000 * MIB))
    # Half of the nodes have it: 100 * (500 - 23) / 977.
    assert scored(ImageLocality(), cluster, pod) == {"a": 0, "b": 48}
    assert scored(ImageLocality(), cluster, pod, ["b"]) == {"b": 48}
