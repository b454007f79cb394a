"""What docs/guide/platforms.md says of kube-scheduler's flags, with the real kube-scheduler."""

import pytest

from mooring.testing.child_process import ProcessError
from mooring.testing.real_kubernetes import ControlPlane, KubeScheduler
from tests.unit.deploy.test_platforms_guide import FILES

pytestmark = pytest.mark.kube

#: As platforms start it: with flags of their own beside --config.
FLAGS = ["--kubeconfig=/does/not/exist", "--leader-elect=false"]


def test_beside_a_configuration_the_flag_kubeconfig_is_ignored(
    control_plane: ControlPlane,
) -> None:
    config = {
        key: value for key, value in FILES["fair-gpus.yaml"].items() if key != "clientConnection"
    }
    config["leaderElection"] = {"leaderElect": True, "resourceName": "platforms"}
    with KubeScheduler(control_plane, config, args=FLAGS) as scheduler:
        assert "attempting to acquire leader lease" not in scheduler.log().lower()


def test_without_its_kubeconfig_in_the_configuration_kube_scheduler_ends(
    control_plane: ControlPlane,
) -> None:
    config = FILES["fair-gpus.yaml"] | {"clientConnection": {"kubeconfig": ""}}
    with pytest.raises(ProcessError, match=r"in-cluster|KUBERNETES_SERVICE_HOST"):
        KubeScheduler(control_plane, config, args=FLAGS).start()
