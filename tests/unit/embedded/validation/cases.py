"""Objects in which something is wrong, for the tests of validation with and without kube-apiserver.

What kube-apiserver says of each is in causes.json; see test_embedded_validation.
"""

import copy
import re

from tests.unit.embedded.validation.builders import Change, Obj
from tests.unit.embedded.validation.changed_objects import CHANGED_KINDS
from tests.unit.embedded.validation.devices import CHANGED_DEVICES, NEW_DEVICES
from tests.unit.embedded.validation.network_policies import (
    CHANGED_NETWORK_POLICIES,
    NEW_NETWORK_POLICIES,
)
from tests.unit.embedded.validation.new_kinds import NEW_KINDS
from tests.unit.embedded.validation.new_pod_scheduling import NEW_PLACEMENTS
from tests.unit.embedded.validation.new_pods import NEW_PODS

__all__ = ["CHANGED", "NEW", "Obj", "changed", "plain"]

#: New objects, by what is wrong with them.
NEW: dict[str, Obj] = {
    **NEW_PODS, **NEW_PLACEMENTS, **NEW_KINDS, **NEW_NETWORK_POLICIES, **NEW_DEVICES
}  # fmt: skip
#: Objects, how they are changed, and by which subresource.
CHANGED: dict[str, tuple[Obj, Change, str]] = {
    **CHANGED_KINDS, **CHANGED_NETWORK_POLICIES, **CHANGED_DEVICES
}  # fmt: skip


def changed(name: str, stored: Obj) -> Obj:
    """The stored object with the change of a case."""
    wanted = copy.deepcopy(stored)
    CHANGED[name][1](wanted)
    return wanted


_BY_CHANCE = re.compile(
    "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<=Web-)[0-9a-z]{5}"
)


def plain(message: str) -> str:
    """A message without ids and generated names, and without the differences that Go prints."""
    return _BY_CHANCE.sub("...", message.partition("\n")[0])
