"""The ownerReferences of objects: which other object controls them."""

from mooring.embedded.resources import Obj


def controller_ref(obj: Obj) -> Obj:
    """The entry of ownerReferences that makes an object controlled by this one."""
    metadata = obj["metadata"]
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controller_of(obj: Obj) -> Obj | None:
    """The entry of ownerReferences of the object that controls this one; None if none does."""
    for owner in obj["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            found: Obj = owner
            return found
    return None


def controller_uid(obj: Obj) -> str:
    """The id of the object that controls this one; empty if none does."""
    owner = controller_of(obj)
    return str(owner.get("uid", "")) if owner is not None else ""
