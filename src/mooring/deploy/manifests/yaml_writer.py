"""Manifests as one YAML stream with comments, for ``kubectl apply -f -``."""

from collections.abc import Iterable

from mooring.deploy.manifests.manifest import Manifest
from mooring.deploy.manifests.yaml_text import comment_lines, yaml_text


def yaml_stream(manifests: Iterable[Manifest], heading: str = "") -> str:
    """All objects, one after the other.

    Args:
        manifests: the objects.
        heading: a comment at the top.
    """
    documents = [comment_lines(one.comment) + yaml_text(one.object) for one in manifests]
    return comment_lines(heading) + "---\n".join(documents)
