"""``moor manifests`` and ``moor init``: what they write, where, and what they reject."""

from pathlib import Path

import pytest
import yaml

from tests.unit.cli.command_line import Run

POLICY = """\
import mooring as mr

policy = mr.Policy("Team.Racks")
print("loaded")


@policy.filter
def fits(pod: mr.Pod, node: mr.Node) -> bool:
    return True
"""


@pytest.fixture
def moor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command_line: Run) -> Run:
    """Runs a command in a folder with a policy."""
    (tmp_path / "policy.py").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    return command_line


def test_one_stream_goes_to_kubectl(moor: Run) -> None:
    code, out, err = moor("manifests", "policy.py", "--mode", "sidecar", "--image", "racks:7")
    assert (code, err) == (0, "loaded\n")
    made = list(yaml.safe_load_all(out))
    assert {each["metadata"].get("namespace", "team-racks") for each in made} == {
        "team-racks",
        "kube-system",  # where everybody who authenticates may look things up
    }
    assert out.startswith("# Policy Team.Racks as a second scheduler")
    assert "image: racks:7\n" in out


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        (["--mode", "scheduler"], "manifests.yaml"),
        (["--mode", "scheduler", "--format", "kustomize"], "kustomization.yaml"),
        (["--mode", "scheduler", "--format", "helm"], "Chart.yaml"),
        (["--mode", "static-pod"], "install.sh"),
    ],
)
def test_a_folder_is_written_once(
    moor: Run, tmp_path: Path, arguments: list[str], file: str
) -> None:
    code, out, _ = moor("manifests", "policy.py", *arguments, "--directory", "made")
    assert code == 0
    assert out.startswith("made has ")
    assert (tmp_path / "made" / file).is_file()
    code, out, err = moor("manifests", "policy.py", *arguments, "--directory", "made")
    assert (code, out) == (2, "")
    assert "made already exists and is not overwritten" in err
    again = [*arguments, "--directory", "made", "--overwrite"]
    assert moor("manifests", "policy.py", *again)[0] == 0


def test_private_keys_are_for_their_owner(moor: Run, tmp_path: Path) -> None:
    options = ["--mode", "extender", "--format", "kustomize", "--directory", "made"]
    assert moor("manifests", "policy.py", *options)[0] == 0
    keys = list((tmp_path / "made").rglob("*.key"))
    assert len(keys) == 2
    assert {file.stat().st_mode & 0o777 for file in keys} == {0o600}


REJECTED = {
    "--mode static-pod --format helm": "a static pod is a file that the kubelet",
    "--mode static-pod": "static-pod is several files; say where they go with --directory DIR",
    "--mode static-pod --service-monitor": "--service-monitor needs a Service",
    "--mode scheduler --format helm": "helm is several files; say where they go",
    "--mode sidecar --tls self-signed": "--tls self-signed is for --mode extender; with",
    "--mode scheduler --service NodePort": "--service NodePort is for --mode extender",
    "--mode scheduler --no-node-cache": "--no-node-cache is for extenders",
    "--mode scheduler --prefix /x": "--prefix is for extenders, and --mode scheduler has none",
    "--mode extender --format helm --tls self-signed": "a chart must not contain a private key",
    "--mode extender --service NodePort": "kube-scheduler has to know the port: give --node-port",
    "--mode extender --service NodePort --node-port 80": "--node-port 80 is no node port",
    "--mode extender --node-port 30036": "--node-port 30036 needs --service NodePort",
    "--mode extender --service LoadBalancer": "has an address that only you know: give --url",
    "--mode extender --url http://x": "must be https://HOST:PORT without a path",
    "--mode sidecar --kubernetes 2": "--kubernetes '2' is no version",
    "--mode sidecar --kubernetes 1.9": "--kubernetes 1.9 is too old",
    "--mode sidecar --name A": "--name 'A' cannot be the name of objects",
    "--mode sidecar --namespace a.b": "--namespace 'a.b' cannot be the name of objects",
    "--mode nothing": "nothing",
}


@pytest.mark.parametrize("options", REJECTED)
def test_what_makes_no_sense_is_rejected_in_a_sentence(moor: Run, options: str) -> None:
    code, out, err = moor("manifests", "policy.py", *options.split())
    assert (code, out) == (2, "")
    said = err.removeprefix("loaded\n")
    assert said.count("\n") == 1
    assert REJECTED[options] in said


def test_node_port_and_prefix_of_older_guides(moor: Run) -> None:
    options = "--mode extender --service NodePort --node-port 30036 --prefix scheduler --tls none"
    code, out, _ = moor("manifests", "policy.py", *options.split())
    assert code == 0
    made = list(yaml.safe_load_all(out))
    (service,) = (each for each in made if each["kind"] == "Service")
    assert service["spec"]["ports"][0]["nodePort"] == 30036
    assert "urlPrefix: http://127.0.0.1:30036/scheduler\n" in out
    assert "- --prefix=/scheduler\n" in out


def test_a_configuration_to_begin_with(moor: Run, tmp_path: Path) -> None:
    config = {"profiles": [{"schedulerName": "mine"}], "podMaxBackoffSeconds": 3}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    code, out, _ = moor("manifests", "policy.py", "--mode", "scheduler", "--config", "config.yaml")
    assert code == 0
    assert "podMaxBackoffSeconds: 3\n" in out
    assert out.count("schedulerName: mine\n") == 3  # the heading, the profile and the test pod
    (tmp_path / "config.yaml").write_text("profiles: 3\n")
    code, _, err = moor("manifests", "policy.py", "--mode", "scheduler", "--config", "config.yaml")
    assert (code, "config.yaml: profiles" in err) == (2, True)


class TestInit:
    def test_a_project_is_made_once(self, moor: Run, tmp_path: Path) -> None:
        code, out, err = moor("init", "spot-first")
        assert (code, err) == (0, "")
        assert "cd spot-first\n" in out
        assert (tmp_path / "spot-first" / "Makefile").is_file()
        code, out, err = moor("init", "spot-first")
        assert (code, out) == (2, "")
        assert "spot-first already exists" in err

    def test_the_folder_one_is_in(
        self, moor: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "cheap-first").mkdir()
        monkeypatch.chdir(tmp_path / "cheap-first")
        code, out, err = moor("init", ".")
        assert (code, err) == (0, "")
        assert out.startswith("cheap-first has a policy")
        assert "    cd " not in out
        assert 'Policy("cheap-first"' in Path("policy.py").read_text()
        code, out, err = moor("init", ".")
        assert (code, out) == (2, "")
        assert "this folder is not empty" in err

    @pytest.mark.parametrize("mode", ["static-pod", "extender"])
    def test_modes_without_a_kustomization(self, moor: Run, tmp_path: Path, mode: str) -> None:
        code, _, err = moor("init", "x", "--mode", mode)
        assert code == 2
        assert "choose another --mode" in err
        assert not (tmp_path / "x").exists()
