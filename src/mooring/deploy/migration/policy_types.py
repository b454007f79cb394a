"""The fields of a scheduler ``Policy``, and reading one.

`policy` makes a profile of it. Plain data.
"""

# Looked up in Kubernetes v1.22: kube-scheduler/config/v1/types.go, validation/validation.go

from typing import Annotated, Any, Final

from msgspec import Meta

from mooring.config.strict_decoding import decode_or_raise
from mooring.config.types import ConfigStruct, Extender
from mooring.deploy.migration.notes import Notes
from mooring.deploy.migration.old_extenders import extender_of_v1

KIND: Final = "Policy"
API_VERSIONS: Final = ("v1", "kubescheduler.config.k8s.io/v1")
_MAX_WEIGHT: Final = (2**63 - 1) // 100

Weight = Annotated[int, Meta(ge=1, lt=_MAX_WEIGHT)]


class ServiceAffinity(ConfigStruct, frozen=True):
    """Pods of a service go to nodes with the same values of these labels."""

    labels: tuple[str, ...] = ()


class LabelsPresence(ConfigStruct, frozen=True):
    """Nodes must have these labels, or must not."""

    labels: tuple[str, ...] = ()
    presence: bool = False


class PredicateArgument(ConfigStruct, frozen=True):
    """What makes a predicate of one's own."""

    service_affinity: ServiceAffinity | None = None
    labels_presence: LabelsPresence | None = None


class Predicate(ConfigStruct, frozen=True):
    """A check that nodes have to pass."""

    name: str
    argument: PredicateArgument | None = None


class ServiceAntiAffinity(ConfigStruct, frozen=True):
    """Pods of a service are spread over the values of a label."""

    label: str = ""


class LabelPreference(ConfigStruct, frozen=True):
    """Nodes with a label are better, or those without."""

    label: str = ""
    presence: bool = False


class CapacityRatio(ConfigStruct, frozen=True):
    """How good a node is at how much of it in use."""

    shape: tuple[dict[str, Any], ...] = ()
    resources: tuple[dict[str, Any], ...] = ()


class PriorityArgument(ConfigStruct, frozen=True):
    """What makes a priority of one's own."""

    service_anti_affinity: ServiceAntiAffinity | None = None
    label_preference: LabelPreference | None = None
    requested_to_capacity_ratio_arguments: CapacityRatio | None = None


class Priority(ConfigStruct, frozen=True):
    """A preference for nodes."""

    name: str
    weight: Weight
    argument: PriorityArgument | None = None


class SchedulerPolicy(ConfigStruct, frozen=True):
    """The whole Policy; no list of predicates or priorities means the default ones."""

    api_version: str = "v1"
    kind: str = KIND
    predicates: tuple[Predicate, ...] | None = None
    priorities: tuple[Priority, ...] | None = None
    extenders: tuple[Extender, ...] = ()
    hard_pod_affinity_symmetric_weight: Annotated[int, Meta(ge=0, le=100)] = 0
    always_check_all_predicates: bool = False


def read_policy(data: dict[str, Any], notes: Notes) -> tuple[SchedulerPolicy, list[dict[str, Any]]]:
    """A Policy and its extenders as v1 writes them.

    Raises:
        InputError: something in it is wrong; lists the mistakes with their paths.
    """
    given = data.get("extenders")
    extenders = given if isinstance(given, list) else []
    written = [extender_of_v1(one, f"extenders[{at}]", notes) for at, one in enumerate(extenders)]
    checked = {**data, "extenders": written} if isinstance(given, list) else data
    return decode_or_raise(SchedulerPolicy, checked, ""), written
