import copy
from typing import Any

import pytest

from mooring.embedded.admission.limit_ranges import LimitRanges
from mooring.embedded.defaults.defaults import set_defaults
from mooring.embedded.resources import LIMIT_RANGES, PERSISTENT_VOLUME_CLAIMS, PODS, Obj
from mooring.embedded.status_errors import StatusError
from mooring.embedded.store import Store


def limit_ranges(*limits: Obj) -> LimitRanges:
    store = Store()
    ranges = LimitRanges(store)
    assert not ranges
    obj = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "limits", "namespace": "here"},
        "spec": {"limits": [copy.deepcopy(one) for one in limits]},
    }
    set_defaults(LIMIT_RANGES, obj)
    store.put(LIMIT_RANGES, obj)
    assert ranges
    return ranges


def pod(namespace: str = "here", **spec: Any) -> Obj:
    obj = {
        "metadata": {"name": "p", "namespace": namespace},
        "spec": {"containers": [{"name": "c", "image": "nginx"}], **spec},
    }
    set_defaults(PODS, obj)
    return obj


def asking(**resources: Obj) -> Obj:
    return pod(containers=[{"name": "c", "image": "nginx", "resources": resources}])


def test_containers_get_what_is_missing() -> None:
    ranges = limit_ranges(
        {
            "type": "Container",
            "default": {"cpu": "1", "memory": "1Gi"},
            "defaultRequest": {"cpu": "0.5"},
        }
    )
    init = [{"name": "i", "image": "a:1", "resources": {"limits": {"cpu": "2", "memory": "2Gi"}}}]
    made = pod(initContainers=init)

    ranges.apply_to_pod(made)

    assert made["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "500m", "memory": "1Gi"},
        "limits": {"cpu": "1", "memory": "1Gi"},
    }
    assert made["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu, memory request for container "
        "c; cpu, memory limit for container c"
    }
    elsewhere = pod("elsewhere")
    ranges.apply_to_pod(elsewhere)
    assert elsewhere == pod("elsewhere")


@pytest.mark.parametrize(
    ("limits", "resources", "reason"),
    [
        (
            {"type": "Container", "max": {"cpu": "1"}},
            {"limits": {"cpu": "2"}},
            "maximum cpu usage per Container is 1, but limit is 2",
        ),
        (
            {"type": "Container", "max": {"cpu": "1"}},
            {},
            "maximum cpu usage per Container is 1.  No limit is specified",
        ),
        (
            {"type": "Container", "min": {"cpu": "1"}},
            {"requests": {"cpu": "500m"}},
            "minimum cpu usage per Container is 1, but request is 500m",
        ),
        (
            {"type": "Container", "min": {"cpu": "1"}},
            {},
            "minimum cpu usage per Container is 1.  No request is specified",
        ),
        (
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}},
            {"limits": {"cpu": "3"}, "requests": {"cpu": "1"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
        (
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}},
            {"limits": {"memory": "1Gi"}},
            (
                "cpu max limit to request ratio per Container is 2, but no request is specified "
                "or request is 0"
            ),
        ),
        (
            {"type": "Pod", "max": {"memory": "1Gi"}},
            {"limits": {"memory": "2Gi"}},
            "maximum memory usage per Pod is 1Gi, but limit is 2Gi",
        ),
        (
            {"type": "Container", "max": {"cpu": "1"}, "min": {"memory": "1Gi"}},
            {"limits": {"cpu": "2"}},
            (
                "[minimum memory usage per Container is 1Gi.  No request is specified, maximum "
                "cpu usage per Container is 1, but limit is 2]"
            ),
        ),
    ],
)
def test_pods_that_ask_for_too_much_or_too_little(limits: Obj, resources: Obj, reason: str) -> None:
    with pytest.raises(StatusError) as caught:
        limit_ranges(limits).check_pod(asking(**resources))

    assert str(caught.value) == f'pods "p" is forbidden: {reason}'
    limit_ranges(limits).check_pod(pod("elsewhere"))


def test_claims() -> None:
    bounds = {"min": {"storage": "1Gi"}, "max": {"storage": "5Gi"}}
    ranges = limit_ranges({"type": "PersistentVolumeClaim", **bounds})

    def claim(**requests: str) -> Obj:
        obj = {
            "metadata": {"name": "c", "namespace": "here"},
            "spec": {"resources": {"requests": requests}},
        }
        set_defaults(PERSISTENT_VOLUME_CLAIMS, obj)
        return obj

    ranges.check_claim(claim(storage="2Gi"))
    with pytest.raises(StatusError, match=r"maximum storage usage .* is 5Gi, but request is 6Gi"):
        ranges.check_claim(claim(storage="6Gi"))
    with pytest.raises(StatusError, match="No request is specified, maximum"):
        ranges.check_claim(claim())
