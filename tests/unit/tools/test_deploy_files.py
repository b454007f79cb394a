"""Chart and kustomization in deploy/ and the examples' manifests are what the code writes."""

from typing import Any

import yaml

from mooring.deploy.manifests.choices import ManifestFormat
from mooring.deploy.manifests.manifest_set import manifest_set
from mooring.deploy.manifests.plain_objects import plain
from tests.unit.deploy.manifests.chart_rendering import ChartRenderer
from tools.deploy_files import FOLDER, NAME, ROOT, example_files, installation, made_files


def test_the_files_are_up_to_date() -> None:
    there = {
        str(file.relative_to(FOLDER)): file.read_text()
        for name in ("chart", "kustomize")
        for file in (FOLDER / name).rglob("*")
        if file.is_file()
    }
    assert there == made_files(), "run `make docs`"


def test_the_examples_have_what_their_readmes_say_byte_for_byte() -> None:
    made = example_files()
    there = [*ROOT.glob("examples/*/deploy.yaml"), *ROOT.glob("examples/*/nodeport.yaml")]
    assert len(there) == 8
    assert {file: file.read_text() for file in there} == made, "run `make docs`"


def test_the_chart_makes_the_objects_of_plain_yaml() -> None:
    files = {
        path.removeprefix("chart/"): text
        for path, text in made_files().items()
        if path.startswith("chart/")
    }
    expected = [plain(each.object) for each in manifest_set(installation(ManifestFormat.YAML))]
    rendered = ChartRenderer(files, NAME).objects()
    made = by_name(rendered)
    hook = made.pop(("Pod", f"{NAME}-test"))["metadata"]["annotations"]
    assert hook["helm.sh/hook"] == "test"
    assert made == by_name(one for one in expected if one["kind"] != "Namespace")


def by_name(made: Any) -> dict[tuple[str, str], Any]:
    return {(one["kind"], one["metadata"]["name"]): one for one in made}


def test_the_values_fit_their_schema() -> None:
    schema = yaml.safe_load((FOLDER / "chart" / "values.schema.json").read_text())
    values = yaml.safe_load((FOLDER / "chart" / "values.yaml").read_text())
    assert schema["additionalProperties"] is False
    assert schema["properties"].keys() == values.keys()
