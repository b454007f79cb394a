"""The score counts containers whose image the node has."""

from pathlib import Path

import pytest

from mooring.testing import FakeKubeScheduler, make_node, make_pod

POLICY = Path(__file__).with_name("policy.py")
NGINX = "docker.io/library/nginx:1.28"
REDIS = "docker.io/library/redis:8"
NODES = [
    make_node("both", images=[REDIS, NGINX]),
    make_node("one", images=[NGINX]),
    make_node("other", images=["docker.io/library/postgres:18"]),
    make_node("empty"),
]


@pytest.fixture(params=[True, False], ids=["node cache", "whole nodes"])
def fake(request: pytest.FixtureRequest) -> FakeKubeScheduler:
    return FakeKubeScheduler(POLICY, NODES, node_cache=request.param)


def test_each_container_counts_once(fake: FakeKubeScheduler) -> None:
    pod = make_pod(images=["nginx:1.28", "redis:8", "missing:1"])
    assert fake.prioritize(pod) == {"both": 2, "one": 1, "other": 0, "empty": 0}


def test_two_containers_of_one_image_count_twice(fake: FakeKubeScheduler) -> None:
    pod = make_pod(images=["nginx:1.28", "nginx:1.28"])
    assert fake.prioritize(pod) == {"both": 2, "one": 2, "other": 0, "empty": 0}


def test_another_tag_is_another_image(fake: FakeKubeScheduler) -> None:
    assert set(fake.prioritize(make_pod(images=["nginx:1.27"])).values()) == {0}


def test_more_than_ten_containers_count_as_ten(fake: FakeKubeScheduler) -> None:
    assert fake.prioritize(make_pod(images=["nginx:1.28"] * 12))["one"] == 10


def test_the_pod_goes_where_its_images_are(fake: FakeKubeScheduler) -> None:
    assert fake.schedule(make_pod(images=["redis:8"])) == "both"
