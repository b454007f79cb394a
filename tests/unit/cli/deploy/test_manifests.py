"""``moor manifests`` and ``moor init``: what they write, where, and what they reject."""

import re
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


def test_a_single_file_is_one(moor: Run) -> None:
    options = ["--mode", "scheduler", "--directory", "made"]
    _, out, _ = moor("manifests", "policy.py", *options)
    assert out == "made has 1 file.\n\nApply it:\n\n    kubectl apply -f made\n"


#: An extender behind a node port, with certificates as files.
EXTENDER = "--mode extender --service NodePort --node-port 30036 --directory made"
UNRESOLVED = "cannot resolve team-racks.team-racks.svc"
LOOPBACK = "asks 127.0.0.1:30036, where kube-proxy serves node ports only in its iptables mode"
REACHED = [
    ("--mode extender --service ClusterIP --tls none", UNRESOLVED),
    ("--mode extender --service ClusterIP --directory made", UNRESOLVED),
    (EXTENDER, LOOPBACK),
    ("--mode extender --service NodePort --node-port 30036 --tls none", LOOPBACK),
    (f"{EXTENDER} --url https://10.0.0.1:30036", ""),
    ("--mode extender --url https://10.0.0.1:8888 --tls secret", ""),
    ("--mode sidecar", ""),
]


@pytest.mark.parametrize(("options", "noted"), REACHED)
def test_an_address_that_kube_scheduler_may_not_reach_is_noted(
    moor: Run, options: str, noted: str
) -> None:
    code, _, err = moor("manifests", "policy.py", *options.split())
    note = err.removeprefix("loaded\n")
    assert code == 0
    assert noted in note
    assert note.count("\n") == bool(noted)


@pytest.mark.parametrize("name", ["default-scheduler", "mine"])
def test_whoever_replaces_kube_scheduler_is_told_what_it_means(moor: Run, name: str) -> None:
    options = ["--mode", "scheduler", "--scheduler-name", name]
    code, _, err = moor("manifests", "policy.py", *options)
    assert code == 0
    assert ("nothing places pods, not even its own" in err) is (name == "default-scheduler")


@pytest.mark.parametrize(("version", "noted"), [("1.36", False), ("1.30", True), ("1.99", True)])
def test_only_one_version_is_tested(moor: Run, version: str, noted: bool) -> None:
    code, _, err = moor("manifests", "policy.py", "--mode", "sidecar", "--kubernetes", version)
    assert code == 0
    assert ("tested only with Kubernetes 1.36" in err) is noted


STEPS = {
    "--format kustomize": [
        "Private keys are among the files",
        (
            "1. Copy made/config.yaml and the files of made/team-racks-client to "
            "/etc/kubernetes/team-racks."
        ),
        "--config=/etc/kubernetes/team-racks/config.yaml",
    ],
    "--format helm": [
        "The cluster needs cert-manager",
        (
            "1. Copy config.yaml of the ConfigMap team-racks-config and the files of the Secret "
            "team-racks-client to"
        ),
    ],
    "--format yaml": [
        "made has 7 files.",
        "and the files of made/team-racks-client to /etc/kubernetes/team-racks.",
    ],
    "--tls secret": [
        "The Secret team-racks-tls has to exist.",
        "and ca.crt, tls.crt and tls.key of kube-scheduler to /etc/kubernetes/team-racks.",
    ],
    "--tls none": ["1. Copy config.yaml of the ConfigMap team-racks-config to /etc"],
    "--kubernetes 1.20": ["--policy-config-file=/etc/kubernetes/team-racks/policy.cfg"],
}


@pytest.mark.parametrize("options", STEPS)
def test_what_is_to_be_done_on_the_control_plane(moor: Run, options: str) -> None:
    code, out, _ = moor("manifests", "policy.py", *EXTENDER.split(), *options.split())
    assert code == 0
    assert [step for step in STEPS[options] if step not in out] == []


@pytest.mark.parametrize("options", STEPS)
def test_the_lines_for_kube_schedulers_manifest_mount_what_the_flag_names(
    moor: Run, options: str
) -> None:
    _, out, _ = moor("manifests", "policy.py", *EXTENDER.split(), *options.split())
    pod = yaml.safe_load(out[out.index("\nspec:\n") :])["spec"]
    (container,), (volume,) = pod["containers"], pod["volumes"]
    (mount,) = container["volumeMounts"]
    assert mount["name"] == volume["name"]
    assert mount["mountPath"] == volume["hostPath"]["path"] == "/etc/kubernetes/team-racks"
    assert f"={mount['mountPath']}/" in container["command"][1]


@pytest.mark.parametrize(("form", "number"), [("kustomize", 2), ("yaml", 3)])
def test_private_keys_are_for_their_owner(
    moor: Run, tmp_path: Path, form: str, number: int
) -> None:
    assert moor("manifests", "policy.py", *EXTENDER.split(), "--format", form)[0] == 0
    files = [one for one in (tmp_path / "made").rglob("*") if one.is_file()]
    keys = [one for one in files if "PRIVATE KEY" in one.read_text()]
    assert len(keys) == number
    assert {file.stat().st_mode & 0o777 for file in keys} == {0o600}


def _files() -> dict[Path, str]:
    return {one: one.read_text() for one in Path("made").rglob("*") if one.is_file()}


@pytest.mark.parametrize("form", ["kustomize", "yaml"])
def test_certificates_stay_when_manifests_are_written_again(moor: Run, form: str) -> None:
    options = [*EXTENDER.split(), "--format", form]
    assert moor("manifests", "policy.py", *options)[0] == 0
    before = _files()
    Path("policy.py").write_text(POLICY + "# edited\n")
    code, out, _ = moor("manifests", "policy.py", *options, "--overwrite")
    assert code == 0
    assert out.startswith(f"made has {len(before)} files. The certificates are those that were")
    after = _files()
    assert after != before
    certificates = [one for one in before if one.suffix in (".crt", ".key")]
    assert len(certificates) == 6
    assert [one for one in certificates if after[one] != before[one]] == []
    if form == "yaml":
        (secret,) = (
            each
            for each in yaml.safe_load_all(after[Path("made/manifests.yaml")])
            if each["kind"] == "Secret"
        )
        assert secret["metadata"]["name"] == "team-racks-tls"
        assert secret["stringData"]["tls.crt"] == before[Path("made/team-racks-tls/tls.crt")]


def test_certificates_that_cannot_stay_are_not_replaced_silently(moor: Run) -> None:
    assert moor("manifests", "policy.py", *EXTENDER.split())[0] == 0
    before = _files()

    def said(*options: str) -> str:
        code, out, err = moor("manifests", "policy.py", *EXTENDER.split(), "--overwrite", *options)
        assert (code, out) == (2, "")
        assert err.count("\n") == 2
        return err

    assert "are not for 10.0.0.7; remove both" in said("--url", "https://10.0.0.7:30036")
    assert _files() == before
    key = Path("made/team-racks-client/tls.key")
    key.unlink()
    assert "are not complete; remove both" in said()
    key.write_text("")
    assert "are not complete; remove both" in said()
    key.write_bytes(b"\xff")
    assert "tls.key cannot be read" in said()
    key.write_text(before[key])
    Path("made/team-racks-tls/tls.crt").write_text("nothing")
    assert "cannot be read; remove both" in said()


REJECTED = {
    "--mode extender": "kube-scheduler has to reach the extender: give --service NodePort --node",
    "--mode extender --format kustomize": "kube-scheduler has to reach the extender: give",
    "--mode extender --url https://x:1": "--tls self-signed makes private keys, which have to be",
    "--mode scheduler --service ClusterIP": "--service ClusterIP is for --mode extender",
    "--mode static-pod --format helm": "a static pod is a file that the kubelet",
    "--mode static-pod": "static-pod needs several files; say where they go with --directory DIR",
    "--mode static-pod --service-monitor": "--service-monitor needs a Service",
    "--mode scheduler --format helm": "helm needs several files; say where they go",
    "--mode sidecar --tls self-signed": "--tls self-signed is for --mode extender; with",
    "--mode scheduler --tls none": "--tls none is for --mode extender; with --mode scheduler",
    "--mode scheduler --service NodePort": "--service NodePort is for --mode extender",
    "--mode scheduler --no-node-cache": "--no-node-cache is for extenders",
    "--mode scheduler --prefix /x": "--prefix is for extenders, and --mode scheduler has none",
    "--mode extender --url https://x:1 --format helm --tls self-signed": "a chart must not",
    "--mode scheduler --port 9000": "--port is for extenders, and --mode scheduler has none",
    "--mode scheduler --priorities-prefix /x": "--priorities-prefix is for extenders",
    "--mode scheduler --verb bind=bind": "--verb is for extenders, and --mode scheduler has none",
    "--mode sidecar --port 8889": "--port 8889 is where probes and metrics are",
    "--mode sidecar --verb filters=x": "must be VERB=PATH, where VERB is one of filter, prioritize",
    "--mode sidecar --verb filter": "must be VERB=PATH, where VERB is one of filter, prioritize",
    "--mode sidecar --verb bind=x": "--verb bind=x is not a path that moor serve has for this",
    "--mode sidecar --verb preempt=preempt": "has no function for preempt; leave it out",
    "-d made --mode extender --service NodePort": "kube-scheduler has to know the port: give",
    "--mode extender --service NodePort --node-port 80": "--node-port 80 is not a node port",
    "--mode extender --node-port 30036": "--node-port 30036 needs --service NodePort",
    "-d made --mode extender --service LoadBalancer": "has an address that only you know",
    "-d made --mode extender --url http://x": "must be https://HOST:PORT without a path",
    "-d made --mode extender --url https://[::1": "must be https://HOST:PORT without a path",
    "-d made --mode extender --url https://x:99999": "must be https://HOST:PORT without a path",
    "-d made --mode extender --url https://u:secret@x:1": "--url https://x:1 must have no user",
    "-d made --mode extender --url https://x:1#a": "--url https://x:1 must have no user",
    "--mode extender --url https://x:1 --kubernetes 1.35 --name 1a": "--name 1a cannot be",
    "--mode sidecar --kubernetes 1.22 --managed-resource cpu": "'cpu' is not an extended resource",
    "--mode extender --timeout 1e9": "must be at most 3600",
    "--mode sidecar --kubernetes 1.22 --config two.yaml": "--config is for Kubernetes 1.23 and",
    "--mode sidecar --config two.yaml --scheduler-name c": "c is for one profile, and --config has",
    "--mode sidecar --kubernetes 2": "--kubernetes '2' is not a version",
    "--mode sidecar --kubernetes 1.9": "--kubernetes 1.9 is too old",
    "--mode sidecar --name A": "--name 'A' cannot be the name of objects",
    "--mode static-pod --name manifests": "--name manifests would put its files into "
    "/etc/kubernetes/manifests, where the control plane has its own",
    "--mode extender --url https://a --name pki": "--name pki would put its files into",
    "--mode sidecar --namespace a.b": "--namespace 'a.b' cannot be the name of objects",
    "--mode nothing": "nothing",
}


@pytest.mark.parametrize("options", REJECTED)
def test_what_makes_no_sense_is_rejected_in_a_sentence(moor: Run, options: str) -> None:
    Path("two.yaml").write_text("profiles: [{schedulerName: a}, {schedulerName: b}]\n")
    code, out, err = moor("manifests", "policy.py", *options.split())
    assert (code, out) == (2, "")
    said = err.removeprefix("loaded\n")
    assert said.count("\n") == 1
    assert REJECTED[options] in said


@pytest.mark.parametrize("mode", ["sidecar", "scheduler"])
def test_what_a_laptops_configuration_says_is_not_so_in_pods(moor: Run, mode: str) -> None:
    Path("own.yaml").write_text(
        "clientConnection: {kubeconfig: /elsewhere/config, qps: 7}\n"
        "leaderElection: {leaderElect: false, resourceName: mine}\n"
    )
    code, out, err = moor("manifests", "policy.py", "--mode", mode, "--config", "own.yaml")
    assert code == 0
    made = [one for one in yaml.safe_load_all(out) if one["kind"] == "ConfigMap"]
    (text,) = [one["data"]["config.yaml"] for one in made if "config.yaml" in one["data"]]
    found = yaml.safe_load(text)
    assert found["clientConnection"] == {"qps": 7}
    assert found["leaderElection"]["leaderElect"] is True
    assert (
        "note: clientConnection.kubeconfig, leaderElection.leaderElect, "
        "leaderElection.resourceName of --config are not kept: pods use their service account"
    ) in err


def test_no_private_key_becomes_a_config_map(moor: Run) -> None:
    Path("own.yaml").write_text(
        "extenders: [{urlPrefix: 'https://a', filterVerb: f, enableHTTPS: true, "
        "tlsConfig: {keyData: c2VjcmV0, certData: YQ==}}]\n"
    )
    code, out, err = moor("manifests", "policy.py", "--mode", "sidecar", "--config", "own.yaml")
    assert (code, out) == (2, "")
    assert "a private key in extenders[0].tlsConfig.keyData" in err
    assert "c2VjcmV0" not in err


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
    assert out.count("schedulerName: mine\n") == 2  # the heading and the profile
    (tmp_path / "config.yaml").write_text("profiles: 3\n")
    code, _, err = moor("manifests", "policy.py", "--mode", "scheduler", "--config", "config.yaml")
    assert (code, "config.yaml: profiles" in err) == (2, True)


SEVERAL = {
    "--mode scheduler": ["special", "default-scheduler"],
    "--mode sidecar": ["default-scheduler", "special"],
    "--mode static-pod --directory made": ["mine", "special"],
    "--mode scheduler --scheduler-name foo": ["mine", "special"],
}


@pytest.mark.parametrize("options", SEVERAL)
def test_two_schedulers_never_serve_one_name_under_two_leases(moor: Run, options: str) -> None:
    _write_profiles(SEVERAL[options])
    code, out, err = moor("manifests", "policy.py", *options.split(), "--config", "config.yaml")
    assert (code, out) == (2, "")
    said = err.removeprefix("loaded\n")
    assert said.count("\n") == 1
    assert "default-scheduler" in said or "--scheduler-name foo is for one profile" in said


def test_several_profiles_share_a_lease(moor: Run) -> None:
    _write_profiles(["one", "two"])
    code, out, _ = moor("manifests", "policy.py", "--mode", "scheduler", "--config", "config.yaml")
    assert code == 0
    assert "schedulerName: one, two\n" in out
    assert out.count("resourceName: team-racks ") == 1
    # The cluster's own kube-scheduler may serve other names, too: it has one Lease for all.
    _write_profiles(["special", "default-scheduler"])
    options = "--mode static-pod --directory made --config config.yaml"
    assert moor("manifests", "policy.py", *options.split())[0] == 0
    config = yaml.safe_load(Path("made/config.yaml").read_text())
    assert config["leaderElection"]["resourceName"] == "kube-scheduler"


def _write_profiles(names: list[str]) -> None:
    config = {"profiles": [{"schedulerName": name} for name in names]}
    Path("config.yaml").write_text(yaml.safe_dump(config))


def test_null_in_a_configuration_is_nothing(moor: Run) -> None:
    Path("config.yaml").write_text(
        "leaderElection: null\nclientConnection: null\nextenders: null\nprofiles: null\n"
    )
    for mode in ("scheduler", "sidecar", "extender --url http://x:1 --tls none"):
        options = ["--mode", *mode.split(), "--config", "config.yaml"]
        code, out, _ = moor("manifests", "policy.py", *options)
        assert (code, "null" in out) == (0, False)


def test_a_policy_that_is_named_in_its_file(moor: Run) -> None:
    with Path("policy.py").open("a") as file:
        file.write("other = mr.Policy('other')\nother.filter(fits)\n")
    code, out, _ = moor("manifests", "policy.py:other", "--mode", "sidecar")
    assert (code, "command: [moor, serve, /policy/policy.py:other]\n" in out) == (0, True)
    assert "  policy.py: |\n" in out


def test_policies_that_no_config_map_has(moor: Run) -> None:
    Path("latin.py").write_bytes(b"# coding: latin-1\n# \xe9\n" + POLICY.encode())
    code, _, err = moor("manifests", "latin.py", "--mode", "sidecar")
    assert (code, "latin.py is not UTF-8" in err) == (2, True)
    Path("large.py").write_text(POLICY + "# \n" * 70_000)
    code, _, err = moor("manifests", "large.py", "--mode", "sidecar")
    assert (code, "KiB, and kubectl apply takes less than 256" in err) == (2, True)


def test_the_name_of_a_file_is_no_part_of_the_yaml(moor: Run) -> None:
    Path("a\x1b[2J\nb.py").write_text(POLICY)
    assert moor("manifests", "a\x1b[2J\nb.py", "--mode", "sidecar", "-d", "it's made")[0] == 0
    text = Path("it's made/manifests.yaml").read_text()
    assert "\x1b" not in text
    assert "Namespace" in [each["kind"] for each in yaml.safe_load_all(text)]


def test_the_printed_command_can_be_copied(moor: Run) -> None:
    _, out, _ = moor("manifests", "policy.py", "--mode", "sidecar", "-d", "my $(files)")
    assert "\n    kubectl apply -f 'my $(files)'\n" in out
    _, out, _ = moor("init", "my $(files)/racks")
    assert "\n    cd 'my $(files)/racks'\n" in out


def test_other_paths_and_ports(moor: Run) -> None:
    options = (
        "--mode extender --service ClusterIP --tls none --port 9000 --prefix /scheduler "
        "--predicates-prefix must --verb filter=must/NAME --verb bind=bind --no-node-cache"
    )
    name = "never"
    Path("policy.py").write_text(
        f"import mooring as mr\npolicy = mr.Policy('p', usage=False)\n"
        f"@policy.filter\ndef {name}(pod: mr.Pod, node: mr.Node) -> bool:\n    return False\n"
    )
    code, out, _ = moor("manifests", "policy.py", *options.replace("NAME", name).split())
    assert code == 0
    made = list(yaml.safe_load_all(out))
    (config,) = (each["data"]["config.yaml"] for each in made if "config.yaml" in str(each))
    (entry,) = yaml.safe_load(config)["extenders"]
    assert entry["urlPrefix"] == "http://p.p.svc:9000/scheduler"
    assert (entry["filterVerb"], entry["bindVerb"]) == ("must/never", "bind")
    (deployment,) = (each for each in made if each["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {"--port=9000", "--prefix=/scheduler", "--predicates-prefix=/must"} <= set(
        container["args"]
    )
    assert container["ports"][0]["containerPort"] == 9000
    (service,) = (each for each in made if each["kind"] == "Service")
    assert service["spec"]["ports"][0]["port"] == 9000
    (network,) = (each for each in made if each["kind"] == "NetworkPolicy")
    assert {"port": 9000} in network["spec"]["ingress"][0]["ports"]
    # It is asked to bind, so it may, though its policy has no function for that.
    (role,) = (each for each in made if each["kind"] == "ClusterRole")
    assert [rule["resources"] for rule in role["rules"]] == [["pods/binding"], ["pods"]]


def test_the_heading_has_the_options_that_were_given(moor: Run) -> None:
    options = (
        "--mode sidecar --name a-b --pull-secret x --pull-secret y --no-test-pod --timeout 2.0"
    )
    _, out, _ = moor("manifests", *options.split(), "policy.py")
    written = re.search("^# Written by: (.*)$", out, re.MULTILINE)
    assert written is not None
    assert written[1].split()[:3] == ["moor", "manifests", "policy.py"]
    code, again, _ = moor(*written[1].split()[1:])
    assert (code, again) == (0, out)


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

    @pytest.mark.parametrize("mode", ["scheduler", "sidecar", "extender", "static-pod"])
    def test_every_mode_makes_a_project(self, moor: Run, tmp_path: Path, mode: str) -> None:
        code, out, err = moor("init", "x", "--mode", mode)
        assert (code, err) == (0, "")
        assert "make deploy" in out
        assert (tmp_path / "x" / "deploy" / "config.yaml").is_file()
