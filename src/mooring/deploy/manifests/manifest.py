"""One object to be deployed, with what people and charts have to know about it."""

import msgspec

from mooring.deploy.manifests.installation import Installation
from mooring.deploy.manifests.nodes import Tree
from mooring.deploy.manifests.object_names import full_name, namespace_of


class Manifest(msgspec.Struct, frozen=True):
    """An object.

    Attributes:
        file: the name of the file it is in, without ending, where there are several.
        object: what the API server gets, and notes and settings.
        comment: what it is for.
        toggle: the chart's value that turns it off or on, such as ``networkPolicy.enabled``.
        off: a plain manifest does not have it; a chart has, turned off.
    """

    file: str
    object: dict[str, Tree]
    comment: str = ""
    toggle: str = ""
    off: bool = False

    @property
    def kind(self) -> str:
        """The object's kind."""
        kind: str = self.object["kind"]
        return kind


def labels(installation: Installation) -> dict[str, Tree]:
    """The labels of all objects."""
    return {
        "app.kubernetes.io/name": full_name(installation),
        "app.kubernetes.io/part-of": "mooring",
    }


def selector(installation: Installation) -> dict[str, Tree]:
    """The labels that its pods are found by."""
    return {"app.kubernetes.io/name": full_name(installation)}


def metadata(
    installation: Installation, ending: str = "", *, namespaced: bool = True
) -> dict[str, Tree]:
    """The metadata of an object, under the installation's name with an ending."""
    made: dict[str, Tree] = {"name": full_name(installation, ending)}
    if namespaced:
        made["namespace"] = namespace_of(installation)
    return made | {"labels": labels(installation)}
