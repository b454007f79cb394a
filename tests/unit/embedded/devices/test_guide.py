"""The file with devices in the guide is one that can be used."""

import re
from pathlib import Path

from mooring.embedded.devices.device_pools import device_count, node_slices
from tests.unit.embedded.devices.device_files import read

GUIDE = Path(__file__).parents[4] / "docs" / "guide" / "cluster.md"


def test_the_file_in_the_guide(tmp_path: Path) -> None:
    (text,) = re.findall(r"```yaml\n(drivers:\n.*?)```", GUIDE.read_text(), re.DOTALL)
    gpu, nic = read(tmp_path, text)
    assert device_count(gpu.pools[0].devices[0]) == 32
    (counters, devices) = node_slices(gpu, {"metadata": {"name": "gpu-7"}})
    assert len(counters["spec"]["sharedCounters"]) == 4
    assert devices["spec"]["devices"][-1]["name"] == "gpu-3-1g-6"
    assert node_slices(nic, {"metadata": {"name": "gpu-7"}}) == []
