"""Which pod is meant: ``NAME``, ``pod/NAME``, ``NAMESPACE/NAME``, or the file of a manifest.

Called by ``moor explain`` with what was typed. What is not there is an error that names something
near.
"""

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mooring.cli.pod_names import POD_WORDS, read_pod_name
from mooring.errors import InputError
from mooring.wording import counted

if TYPE_CHECKING:
    from mooring.explaining.explainer import Explainer
    from mooring.model.pod import Pod

#: So many names are compared with one that is not there.
_COMPARED: Final = 20_000


def pod_keys(typed: str, namespace: str, default: str) -> list[str]:
    """The ``namespace/name`` that may be meant, the likeliest first; none if only a file can be.

    Args:
        typed: what was typed.
        namespace: the namespace that was given as an option; empty if none.
        default: the namespace of pods that are named without one.

    Raises:
        InputError: two namespaces are given, or none of the forms.
    """
    try:
        key = "/".join(read_pod_name(typed, namespace, default))
    except InputError:
        if Path(typed).is_file():
            return []
        raise
    # A namespace may be called pod, too.
    return [key, typed] if typed.partition("/")[0] in POD_WORDS and "/" in typed else [key]


def find_pod(
    explainer: "Explainer", typed: str, keys: Sequence[str], where: str
) -> "tuple[Pod, bool]":
    """The pod that is meant, and whether it counts nowhere: it finished, or its node is not there.

    Args:
        explainer: knows the pods.
        typed: what was typed; may be a file.
        keys: what may be meant.
        where: what to call the place, ``snapshot`` or ``cluster``.

    Raises:
        InputError: there is no such pod, or the file holds none.
    """
    from mooring.cli.input_files import read_pod
    from mooring.model.pod import Pod

    for key in keys:
        namespace, _, name = key.partition("/")
        found = explainer.cluster.pod(namespace, name)
        if found is not None:
            return found, False
    if Path(typed).is_file():
        return read_pod(Path(typed)), False
    pods = {pod.key: pod for pod in explainer.snapshot.all(Pod)}
    for key in keys:
        if key in pods:
            # If it is wrong, that is said when it is explained.
            return explainer.pod(pods[key]), True
    key = keys[0]
    same_name = [one for one in pods if one.rpartition("/")[2] == key.rpartition("/")[2]]
    if same_name:
        raise InputError(f"there is no pod {key} in the {where}; did you mean {same_name[0]}?")
    skipped = explainer.snapshot.skipped
    unused = counted(len(skipped), "object")
    also = f"; {unused} could not be used: {skipped[0].problem}" if skipped else ""
    raise InputError(f"{unknown('pod', key, list(pods), where)}{also}")


def unknown(what: str, name: str, known: Sequence[str], where: str) -> str:
    """The sentence about something that is not there."""
    near = difflib.get_close_matches(name, known[:_COMPARED], n=1)
    hint = f"; did you mean {near[0]}?" if near else f", which has {counted(len(known), what)}"
    return f"there is no {what} {name} in the {where}{hint}"
