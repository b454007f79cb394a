"""Files with devices are read, and every mistake is told with its place."""

from pathlib import Path

import pytest

from mooring.embedded.devices.device_file import (
    MOST_BYTES,
    MOST_DEVICES,
    MOST_DRIVERS,
    MOST_POOLS,
    check_names,
    read_drivers,
)
from mooring.errors import InputError
from tests.unit.embedded.devices.device_files import NAME, driver, read

POOL = "pools: [{devices: [{name: gpu}]}]"


def complaint(folder: Path, text: str) -> str:
    """What is said of a file, without its folder."""
    with pytest.raises(InputError) as caught:
        read(folder, text)
    return str(caught.value).replace(f"{folder}/", "")


def device(folder: Path, text: str) -> str:
    """What is said of a device."""
    whole = f"drivers:\n- name: a\n  pools:\n  - devices:\n    - {text}\n"
    place, _, what = complaint(folder, whole).partition(": drivers[0].pools[0].devices[0]")
    assert place == "devices.yaml:5:7"
    return what.removeprefix(": ")


def test_a_driver_has_pools_and_classes(tmp_path: Path) -> None:
    (found,) = read(
        tmp_path,
        """
drivers:
- name: gpu.example.com
  classes: [{name: large, selector: "true", extendedResourceName: example.com/gpu}]
  pools:
  - nodes: [a, "b-*"]
    nodeLabels: {gpu: "yes"}
    devices:
    - name: gpu
      count: 2
      attributes: {model: A100, index: 1, mig: true, driverVersion: {version: 535.1.0}}
      capacity: {memory: 80Gi}
      taints: [{key: a, effect: NoSchedule}]
""",
    )
    assert found.name == NAME
    assert found.classes is not None
    assert found.classes[0].extended_resource_name == "example.com/gpu"
    assert found.pools[0].nodes == ["a", "b-*"]
    assert found.pools[0].devices[0].count == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1", "devices.yaml:2:1: it is not valid YAML"),
        ("- a", "devices.yaml:1:1: expected a mapping with the field drivers"),
        ("{}", "devices.yaml:1:1: drivers: expected at least one driver"),
        ("driver: []", "devices.yaml:1:1: driver: there is no such field"),
        (f"drivers: [{{name: a, {POOL}}}]\nnodes: []", "devices.yaml:2:1: nodes: nodes belong"),
        ("drivers:\n- name: a", "devices.yaml:2:3: drivers[0]: the field pools is missing"),
        ("drivers:\n- {name: a, pools: []}", "drivers[0].pools: expected at least one pool"),
        (f"drivers:\n- name: a\n  name: b\n  {POOL}", "devices.yaml:3:3: drivers[0].name: the"),
        (
            f"drivers:\n- name: a\n  {POOL}\n- name: a\n  {POOL}",
            "devices.yaml:4:3: drivers[1].name: there are two drivers named 'a'",
        ),
        (
            f"drivers:\n- name: A_b\n  {POOL}",
            'devices.yaml:2:3: drivers[0].name: Invalid value: "A_b": a lowercase',
        ),
        (
            f"drivers:\n- name: a\n  {POOL}\n  classes: [{{name: x}}, {{name: x}}]",
            "devices.yaml:4:25: drivers[0].classes[1].name: there are two classes named 'x'",
        ),
        (
            f"drivers:\n- name: a\n  {POOL}\n  classes: [{{name: x, extendedResourceName: cpu}}]",
            'drivers[0].classes[0]: spec.extendedResourceName: Invalid value: "cpu": must be a',
        ),
        (
            "drivers:\n- name: a\n  pools: [{devices: []}]",
            "drivers[0].pools[0].devices: expected at least one device",
        ),
        (
            "drivers:\n- name: a\n  pools: [{name: p, nodes: [n], devices: [{name: gpu}]}]",
            "drivers[0].pools[0].nodes: a pool with a name is for all nodes, or for those with",
        ),
        (
            "drivers:\n- name: a\n  pools: [{name: A b, devices: [{name: gpu}]}]",
            'drivers[0].pools[0].name: Invalid value: "A b"',
        ),
        (
            "drivers:\n- name: a\n  pools: [{nodeLabels: {a: -}, devices: [{name: gpu}]}]",
            'drivers[0].pools[0].nodeLabels: Invalid value: "-": a valid label must be',
        ),
        (
            "drivers:\n- name: a\n  pools:\n  - &p {name: p, devices: [{name: gpu}]}\n  - *p",
            "drivers[0].pools[1].name: there are two pools named 'p'",
        ),
    ],
)  # fmt: skip
def test_a_mistake_has_its_place(tmp_path: Path, text: str, said: str) -> None:
    assert said in complaint(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{name: A}", 'spec.devices[0].name: Invalid value: "A": a lowercase RFC 1123 label'),
        ("{name: gpu, count: 0}", ".count: expected a number of devices, at least 1"),
        ("{name: gpu, colour: red}", ".colour: there is no such field; expected one of name"),
        ("{name: gpu, attributes: {a: 1.5}}", ".attributes.a: expected"),
        ("{name: gpu, attributes: {a-b: 1}}", "spec.devices[0].attributes: Invalid value: "),
        ("{name: gpu, attributes: {v: {version: 1.2}}}", ".attributes.v"),
        (
            "{name: gpu, attributes: {v: {version: '1.2'}}}",
            "spec.devices[0].attributes[v].version: Invalid value: ",
        ),
        ("{name: gpu, capacity: {memory: lots}}", "quantities must match"),
        ("{name: gpu, taints: [{key: a, effect: Never}]}", "spec.devices[0].taints[0].effect: "),
        (
            "{name: gpu, capacity: {m: {value: 1, requestPolicy: {default: 1, min: 2}}}}",
            'unknown field "spec.devices[0].capacity.m.requestPolicy.min"',
        ),
        ("{name: gpu, partitions: [{name: p, uses: {m: 1}}]}", ".partitions: partitions share"),
        (
            "{name: gpu, counters: {m: 1}, partitions: [{name: p, uses: {n: 1}}]}",
            ".partitions[0].uses: the device has no counter n",
        ),
        (
            "{name: gpu, counters: {m: 1}, partitions: [{name: p, uses: {m: 1}, count: 0}]}",
            ".partitions[0].count: expected a number of parts, at least 1",
        ),
        ("{name: gpu, count: 2000}", ""),
    ],
)  # fmt: skip
def test_a_mistake_in_a_device_is_told_there(tmp_path: Path, text: str, said: str) -> None:
    whole = f"drivers:\n- name: a\n  pools:\n  - devices:\n    - {text}\n"
    answer = complaint(tmp_path, whole)
    assert answer.startswith(("devices.yaml:5:", "devices.yaml:4:"))
    assert said in answer


def test_devices_of_a_pool_have_names_of_their_own(tmp_path: Path) -> None:
    twice = "devices: [{name: gpu, count: 2}, {name: gpu-1}]"
    text = f"drivers:\n- name: a\n  pools: [{{{twice}}}]"
    assert "devices[1].name: there are two devices named 'gpu-1'" in complaint(tmp_path, text)
    pools = "- {nodes: [a], devices: [{name: gpu}]}\n  - {nodes: [b], devices: [{name: gpu}]}"
    assert read(tmp_path, f"drivers:\n- name: a\n  pools:\n  {pools}")


def test_there_are_limits(tmp_path: Path) -> None:
    many = "".join(f"- {{name: d{one}, {POOL}}}\n" for one in range(MOST_DRIVERS + 1))
    text = complaint(tmp_path, f"drivers:\n{many}")
    assert f"there may be at most {MOST_DRIVERS} drivers" in text
    many = "".join("  - {devices: [{name: gpu}]}\n" for _ in range(MOST_POOLS + 1))
    text = complaint(tmp_path, f"drivers:\n- name: a\n  pools:\n{many}")
    assert f"there may be at most {MOST_POOLS} pools" in text
    half = f"{{devices: [{{name: NAME, count: {MOST_DEVICES // 2 + 1}}}]}}"
    pools = f"[{half.replace('NAME', 'a')}, {half.replace('NAME', 'b')}]"
    text = complaint(tmp_path, f"drivers:\n- name: a\n  pools: {pools}")
    assert f"at most {MOST_DEVICES} devices on a node" in text
    assert f"these would be {MOST_DEVICES + 2}" in text
    text = complaint(tmp_path, "#" * (MOST_BYTES + 1))
    assert "use counts" in text


def test_a_file_must_be_readable(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_drivers(tmp_path / "none")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_drivers(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff")
    with pytest.raises(InputError, match="is not valid UTF-8"):
        read_drivers(tmp_path / "binary")


def test_a_file_of_nodes_may_have_drivers(tmp_path: Path) -> None:
    file = tmp_path / "nodes.yaml"
    file.write_text(f"nodes: [{{name: a}}]\ndrivers: [{{name: a, {POOL}}}]")
    assert [one.name for one in read_drivers(file, with_nodes=True)] == ["a"]


def test_a_driver_is_described_once() -> None:
    one = driver({"name": "gpu"})
    check_names([one])
    with pytest.raises(InputError, match=f"the driver {NAME} is described twice"):
        check_names([one, one])
