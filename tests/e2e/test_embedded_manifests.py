"""What `moor manifests` and `moor init` write can be tried on `moor cluster` with kubectl.

The embedded cluster runs no containers, so this module starts what they would run. Kinds that need
custom resources (ServiceMonitor, cert-manager) are not there.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from mooring.deploy.manifests.choices import ManifestFormat, Mode, TlsSource
from mooring.deploy.scaffold.project import project_files
from mooring.testing.child_process import wait_for
from mooring.testing.moor_run import MoorRun
from mooring.testing.moor_serve import MoorServe
from mooring.testing.real_kubernetes import Binaries, node
from tests.e2e.full_embedded_control_plane import FullEmbeddedControlPlane
from tests.e2e.kubectl_scripts import Kubectl
from tests.e2e.manifests.generated_manifests import NAME, PAIRS, for_kubectl, installation, write

pytestmark = pytest.mark.kube

EXAMPLE = Path(__file__).parents[2] / "examples" / "06-fair-gpus" / "policy.py"
GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "deploy.md"
PROJECT = "spot-first"


@pytest.fixture(scope="module")
def plane(binaries: Binaries) -> Iterator[FullEmbeddedControlPlane]:
    nodes = [node("dear"), node("cheap", labels={"price": "low"})]
    with FullEmbeddedControlPlane(nodes) as running:
        yield running


@pytest.fixture
def kubectl(plane: FullEmbeddedControlPlane, binaries: Binaries, tmp_path: Path) -> Kubectl:
    return Kubectl(binaries, plane.kubeconfig, tmp_path)


@pytest.mark.parametrize(("mode", "form"), PAIRS)
def test_everything_is_applied_and_removed(
    kubectl: Kubectl, tmp_path: Path, mode: Mode, form: ManifestFormat
) -> None:
    options = {}
    if mode is Mode.EXTENDER and form is ManifestFormat.HELM:
        options["tls"] = TlsSource.SECRET
    one = installation(EXAMPLE, mode, format=form, **options)
    arguments, stdin, count = for_kubectl(one, tmp_path / "made")
    if form is ManifestFormat.HELM:
        kubectl("create", "namespace", NAME)  # as helm install --create-namespace does
    said = kubectl("apply", *arguments, stdin=stdin or "").splitlines()
    assert len(said) == count
    assert all(line.endswith(" created") for line in said), said
    again = kubectl("apply", *arguments, stdin=stdin or "").splitlines()
    # kubectl takes a limit that became a request too for a change; a real cluster says the same.
    assert {line.split()[-1] for line in again} <= {"unchanged", "configured"}, again
    if mode is not Mode.STATIC_POD:
        wanted = f"--for=jsonpath={{.status.replicas}}={one.replicas}"
        kubectl("wait", f"deployment/{NAME}", f"-n={NAME}", wanted, "--timeout=20s")
    # The namespace goes first, and takes with it what is in it.
    kubectl("delete", *arguments, "--ignore-not-found", "--timeout=60s", stdin=stdin or "")
    if form is ManifestFormat.HELM:
        kubectl("delete", "namespace", NAME, "--timeout=60s")


def test_what_goes_to_nodes_is_got_out_of_the_cluster_as_the_guide_says(
    kubectl: Kubectl, plane: FullEmbeddedControlPlane, binaries: Binaries, tmp_path: Path
) -> None:
    blocks = re.findall(r"^```sh\n(NAME=.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    config_map, secret_files = (one for one in blocks if "kubectl get" in one)
    script = config_map + secret_files
    one = installation(EXAMPLE, Mode.EXTENDER)
    arguments, stdin, _ = for_kubectl(one, tmp_path / "made")
    kubectl("apply", *arguments, stdin=stdin or "")
    # As cert-manager makes it.
    write(tmp_path / "issued", one.certificates["client"])
    secret = ["secret", "generic", f"{NAME}-client", f"--namespace={NAME}"]
    kubectl("create", *secret, f"--from-file={tmp_path / 'issued'}")
    path = f"{binaries.kubectl.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "KUBECONFIG": str(plane.kubeconfig), "PATH": path}
    subprocess.run(
        ["sh", "-euc", script.replace("fair-gpus", NAME)], cwd=tmp_path, env=environment, check=True
    )
    config = yaml.safe_load((tmp_path / "config.yaml").read_text())
    assert config["extenders"][0]["tlsConfig"]["caFile"] == f"/etc/kubernetes/{NAME}/ca.crt"
    for file in ("ca.crt", "tls.crt", "tls.key"):
        assert (tmp_path / "client" / file).read_text() == one.certificates["client"][file]
    kubectl("delete", *arguments, "--ignore-not-found", "--timeout=60s", stdin=stdin or "")


#: What the image of a project is called in a registry.
IMAGE = "registry.example.com/team/scheduler:2"


class Project:
    """A project that ``moor init`` makes, and its Makefile, used with a cluster."""

    def __init__(
        self, folder: Path, mode: Mode, plane: FullEmbeddedControlPlane, bin_: Path
    ) -> None:
        self.folder = folder / PROJECT
        write(self.folder, project_files(PROJECT, mode))
        self._environment = {
            **os.environ,
            "KUBECONFIG": str(plane.kubeconfig),
            "PATH": f"{bin_}:{os.environ['PATH']}",
        }

    def make(self, *arguments: str) -> str:
        done = subprocess.run(
            ["make", "--silent", *arguments, f"VENV={Path(sys.executable).parents[1]}"],
            cwd=self.folder, env=self._environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done
        return done.stdout


@pytest.fixture
def project(
    request: pytest.FixtureRequest,
    plane: FullEmbeddedControlPlane,
    binaries: Binaries,
    tmp_path: Path,
) -> Iterator[Project]:
    made = Project(tmp_path, request.param, plane, binaries.kubectl.parent)
    said = made.make("deploy")
    assert f"deployment.apps/{PROJECT} created" in said
    assert f"networkpolicy.networking.k8s.io/{PROJECT} created" in said
    yield made
    assert f'namespace "{PROJECT}" deleted' in made.make("remove")
    wait_for(
        lambda: all(one["metadata"]["name"] != PROJECT for one in plane.list_objects("Namespace")),
        "the namespace to be gone",
    )


def place_of(plane: FullEmbeddedControlPlane, pod: str) -> str:
    def bound() -> str | None:
        where: str | None = plane.get("Pod", pod, PROJECT)["spec"].get("nodeName")
        return where

    return plane.wait_for(bound, f"pod {pod} to be bound")


@pytest.mark.parametrize("project", [Mode.SCHEDULER], indirect=True)
def test_a_project_runs_as_a_scheduler(plane: FullEmbeddedControlPlane, project: Project) -> None:
    config = project.folder / "deploy" / "config.yaml"
    with MoorRun(plane, config, policy=project.folder / "policy.py", kubeconfig=plane.kubeconfig):
        # Again, as after an edit: a pod that is there cannot be changed, but replaced.
        for image, said in ((f"{PROJECT}:0.1.0", ""), (IMAGE, f'pod "{PROJECT}-test" deleted')):
            assert said in project.make("try", f"IMAGE={image}")
            assert place_of(plane, f"{PROJECT}-test") == "cheap"
            (container,) = plane.get("Pod", f"{PROJECT}-test", PROJECT)["spec"]["containers"]
            assert container["image"] == image


@pytest.mark.parametrize("project", [Mode.SIDECAR], indirect=True)
def test_a_project_runs_as_a_sidecar(plane: FullEmbeddedControlPlane, project: Project) -> None:
    config = yaml.safe_load((project.folder / "deploy" / "config.yaml").read_text())
    args = ["--kubeconfig", str(plane.kubeconfig)]
    with MoorServe(project.folder / "policy.py", args) as extender:
        config["extenders"][0]["urlPrefix"] = extender.url
        with MoorRun(plane, config, kubeconfig=plane.kubeconfig):
            project.make("try")
            assert place_of(plane, f"{PROJECT}-test") == "cheap"


@pytest.mark.parametrize("project", [Mode.EXTENDER], indirect=True)
def test_a_project_is_deployed_as_an_extender(
    plane: FullEmbeddedControlPlane, project: Project
) -> None:
    """Its keys are made once, and stay as they are."""
    keys = {file: file.read_bytes() for file in project.folder.glob("deploy/*/tls.key")}
    assert len(keys) == 2
    project.make("deploy")
    assert {file: file.read_bytes() for file in keys} == keys
    (service,) = plane.list_objects("Service", PROJECT)
    assert service["spec"]["ports"][0]["nodePort"] == 30888
