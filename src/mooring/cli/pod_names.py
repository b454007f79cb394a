"""Pods as people name them on the command line: as kubectl takes them, or with a namespace before.

Commands about one pod call it. It knows names alone, no cluster.
"""

from typing import Final

from mooring.errors import InputError

#: What may stand before a pod's name, as with kubectl.
POD_WORDS: Final = ("pod", "pods", "po")


def read_pod_name(text: str, namespace: str | None, usual: str) -> tuple[str, str]:
    """Namespace and name of a pod.

    Args:
        text: ``NAME``, ``pod/NAME`` or ``NAMESPACE/NAME``.
        namespace: what ``--namespace`` says.
        usual: the namespace if nothing says any.

    Raises:
        InputError: it is none of these, or says two namespaces.
    """
    before, slash, name = text.rpartition("/")
    own = before if slash and before not in POD_WORDS else None
    if not name or own == "" or "/" in (own or ""):
        raise InputError(f"{text!r} is not the name of a pod; use NAME, pod/NAME or NAMESPACE/NAME")
    if own is not None and namespace and own != namespace:
        raise InputError(
            f"the pod {text} is not in the namespace given with --namespace {namespace}; use "
            "one of them"
        )
    return own or namespace or usual, name
