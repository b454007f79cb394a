from mooring.model.meta import KubeObject
from mooring.model.selectors import LabelSelector
from mooring.model.workloads import (
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)


def test_kinds_without_a_namespace_have_their_name_as_key() -> None:
    metadata = {"metadata": {"name": "a"}}
    kinds: list[type[KubeObject]] = [Namespace, PriorityClass]
    assert [kind.from_dict(metadata).key for kind in kinds] == ["a", "a"]
    kinds = [Service, ReplicaSet, StatefulSet, ReplicationController, PodDisruptionBudget]
    assert {kind.from_dict(metadata).key for kind in kinds} == {"default/a"}


def test_services_and_replication_controllers_select_by_a_plain_map() -> None:
    spec = {"spec": {"selector": {"app": "web"}, "ports": [{"port": 80}], "replicas": 2}}
    assert Service.from_dict(spec).spec.selector == {"app": "web"}
    assert ReplicationController.from_dict(spec).spec.selector == {"app": "web"}
    assert Service().spec.selector is None


def test_sets_and_budgets_select_by_a_label_selector() -> None:
    spec = {"spec": {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": "50%"}}
    for kind in (ReplicaSet, StatefulSet, PodDisruptionBudget):
        assert kind.from_dict(spec).spec.selector == LabelSelector(match_labels={"app": "web"})
        assert kind().spec.selector is None


def test_a_budget_says_what_may_be_disrupted_and_what_is() -> None:
    status = {"disruptionsAllowed": 1, "disruptedPods": {"a": "2026-01-01T00:00:00Z", "b": None}}
    budget = PodDisruptionBudget.from_dict({"status": status})
    assert budget.status.disruptions_allowed == 1
    assert set(budget.status.disrupted_pods or ()) == {"a", "b"}
    assert PodDisruptionBudget().status.disruptions_allowed == 0


def test_a_priority_class_has_its_fields_at_the_top() -> None:
    found = PriorityClass.from_dict(
        {"value": -7, "globalDefault": True, "preemptionPolicy": "Never", "description": "x"}
    )
    assert (found.value, found.global_default, found.preemption_policy) == (-7, True, "Never")
