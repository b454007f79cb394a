"""Files of the five ways of deployment that people have published, with their mistakes.

They are part of the examples, which show what to do about them. `moor doctor`, `moor migrate` and
the real kube-scheduler are tested with the same ones.
"""

from pathlib import Path
from typing import Final

from mooring.cli.doctor.doctor import read_manifest_files

EXAMPLES: Final = Path(__file__).parents[3] / "examples"
DOCUMENTS: Final = {
    "000": EXAMPLES / "01-random" / "old-static-pod",
    "001": EXAMPLES / "01-random" / "old-configmap",
    "002": EXAMPLES / "02-always-true" / "old",
    "003": EXAMPLES / "07-allocatable" / "old",
    "004": EXAMPLES / "03-image-score" / "old",
}
#: What has to be decided by people, and is still there when everything safe was corrected.
LEFT: Final = {
    "000": {
        "image-version", "node-cache-scores", "scheduler-twice", "static-pod-references",
    },
    "001": {
        "configmap-name", "image-version", "node-cache-scores", "policy-say",
        "static-pod-references",
    },
    "002": {
        "image-version", "node-cache-scores", "rbac-wide", "scheduler-twice",
    },
    "003": {
        "image-version", "scheduler-twice", "scheduler-unused", "static-pod-backup",
        "static-pod-parses", "static-pod-references",
    },
    "004": {"configmap-name", "image-version", "scheduler-name"},
}  # fmt: skip


def texts_of(document: str) -> dict[str, str]:
    """The files of a document, as ``moor doctor --manifest`` reads them."""
    return {one.name: one.text for one in read_manifest_files(None, [DOCUMENTS[document]]).values()}


def files_of(document: str) -> list[tuple[str, str]]:
    """The same with paths below its folder, as ``moor migrate`` gets them there."""
    folder = DOCUMENTS[document]
    return [
        (str(Path(name).relative_to(folder)), text) for name, text in texts_of(document).items()
    ]
