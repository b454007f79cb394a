"""The profile that does what a scheduler ``Policy`` did.

Predicates and priorities become plugins as Kubernetes v1.19 to v1.22 read them. A Policy decides
about the plugins that existed then; what came later, such as scheduling gates, stays on.
"""

# Looked up in Kubernetes v1.22: pkg/scheduler/factory.go createFromPolicy, legacy_registry.go

from typing import Final

from mooring.config.strict_decoding import FieldProblem, raise_problems
from mooring.deploy.migration import kubernetes_names as names
from mooring.deploy.migration.notes import Notes
from mooring.deploy.migration.policy_types import (
    Predicate,
    Priority,
    PriorityArgument,
    SchedulerPolicy,
)
from mooring.deploy.migration.profile_writer import MULTI_POINT, ProfileWriter
from mooring.deploy.migration.scoring import ResourceScoring, add_node_labels, spread_by_list
from mooring.plugins.in_tree import DEFAULT_PLUGINS, default_registry

_SCORING: Final = ("preScore", "score")


class PolicyTranslation:
    """Makes a profile of a Policy.

    Args:
        policy: the Policy.
        profile: gets the plugins and their arguments.
        notes: gets what there is to say.
        hard_pod_affinity_weight: what else says so if the Policy does not; None for the default.
    """

    def __init__(
        self,
        policy: SchedulerPolicy,
        profile: ProfileWriter,
        notes: Notes,
        hard_pod_affinity_weight: int | None = None,
    ) -> None:
        self._policy = policy
        self._profile = profile
        self._notes = notes
        self._hard_weight = policy.hard_pod_affinity_symmetric_weight or hard_pod_affinity_weight
        self._filters: set[str] = set(names.MANDATORY)
        self._scores: dict[str, int] = {}
        self._label_predicates: list[str] = []
        self._label_weight = 0
        self._problems: list[FieldProblem] = []

    def translate(self) -> None:
        """Fill the profile.

        Raises:
            InputError: a predicate or a priority does not exist.
        """
        self._predicates()
        self._priorities()
        raise_problems(self._problems)
        self._hard_pod_affinity()
        if self._policy.always_check_all_predicates:
            self._notes.ask(
                "alwaysCheckAllPredicates",
                "no equivalent: kube-scheduler stops at the first filter that rejects a node; "
                "moor explain POD shows the answer of every filter",
            )
        self._write()

    def _predicates(self) -> None:
        if self._policy.predicates is None:
            self._filters |= set(names.FILTERS)
            return
        for at, one in enumerate(self._policy.predicates):
            field = f"predicates[{at}]"
            if one.name in names.PREDICATES:
                self._filters |= set(names.PREDICATES[one.name])
            elif not self._own_predicate(one, field):
                text = f"{one.name!r} is not a predicate of Kubernetes; correct or remove it"
                self._problems.append(FieldProblem(f"{field}.name", text))
        if self._label_predicates:
            if names.NODE_AFFINITY not in self._filters:
                self._notes.ask(
                    ", ".join(self._label_predicates),
                    "NodeAffinity also checks nodeSelector and nodeAffinity of pods, which the "
                    "Policy did not without MatchNodeSelector or GeneralPredicates; see whether "
                    "pods have any that they should not",
                )
            self._filters.add(names.NODE_AFFINITY)
        off = [one for one in names.FILTERS if one not in self._filters]
        if names.FIT in off:
            self._notes.ask(
                "predicates",
                "without PodFitsResources or GeneralPredicates, pods are placed on full nodes, "
                "whose kubelets reject them; to have all checks, delete the plugins under "
                "multiPoint.disabled and filter.disabled that you need",
            )
        if names.VOLUME_BINDING in off:
            self._notes.ask(
                "predicates",
                "without CheckVolumeBinding, volumes that wait for their first consumer are never "
                "bound and their pods never start; if pods use such volumes, delete VolumeBinding "
                "from multiPoint.disabled",
            )

    def _own_predicate(self, predicate: Predicate, field: str) -> bool:
        argument = predicate.argument
        if argument is None:
            return False
        if argument.service_affinity is not None:
            self._notes.ask(
                f"{field} {predicate.name}", names.REMOVED_PLUGINS[names.SERVICE_AFFINITY]
            )
        if argument.labels_presence is not None:
            labels = argument.labels_presence
            self._label_predicates.append(predicate.name)
            add_node_labels(
                self._profile,
                present=labels.labels if labels.presence else (),
                absent=() if labels.presence else labels.labels,
            )
            self._notes.say(
                f"{field} {predicate.name}",
                "is now the addedAffinity of NodeAffinity, which rejects the same nodes",
            )
        return argument.service_affinity is not None or argument.labels_presence is not None

    def _priorities(self) -> None:
        if self._policy.priorities is None:
            given = [Priority(name, weight) for name, weight in names.DEFAULT_PRIORITIES.items()]
            self._notes.say(
                "priorities",
                f"the weights of {', '.join(names.OLD_DEFAULT_WEIGHTS)} are those that a Policy "
                "had by default; delete them to take those of v1, which are higher",
            )
        else:
            given = list(self._policy.priorities)
        scoring = ResourceScoring(self._profile, self._notes)
        spread: dict[str, int] = {}
        for at, one in enumerate(given):
            field = f"priorities[{at}] {one.name}"
            if one.name == names.EQUAL_PRIORITY:
                self._notes.say(field, "dropped, because it never changed a decision")
            elif one.name in names.REMOVED_PRIORITIES:
                self._notes.ask(field, names.REMOVED_PRIORITIES[one.name])
            elif one.name in names.SELECTOR_SPREAD_PRIORITIES:
                spread[names.SELECTOR_SPREAD_PRIORITIES[0]] = one.weight
            elif one.name == names.EVEN_SPREAD_PRIORITY:
                spread[one.name] = one.weight
            elif one.name in names.PRIORITIES:
                self._scores[names.PRIORITIES[one.name]] = one.weight
            elif not self._own_priority(one, field, scoring):
                strategy = names.STRATEGY_PRIORITIES.get(one.name)
                if strategy is None:
                    text = f"{one.name!r} is not a priority of Kubernetes; correct or remove it"
                    self._problems.append(FieldProblem(f"priorities[{at}].name", text))
                else:
                    scoring.add(field, strategy, one.weight)
        if self._label_weight:
            weight = self._scores.get(names.NODE_AFFINITY, 0)
            self._scores[names.NODE_AFFINITY] = max(weight, self._label_weight)
        self._scores.update(scoring.write())
        self._spread(spread)

    def _spread(self, spread: dict[str, int]) -> None:
        if not spread:
            return
        even, selector = names.EVEN_SPREAD_PRIORITY, names.SELECTOR_SPREAD_PRIORITIES[0]
        self._scores[names.SPREAD] = spread.get(even, spread.get(selector, 0))
        if selector not in spread:
            spread_by_list(self._profile)
        elif even in spread and spread[even] < spread[selector]:
            self._notes.ask(
                "priorities",
                f"{even} and {selector} are one plugin now, with the weight of {even}, "
                f"{spread[even]}; raise it if spreading has to count more",
            )

    def _own_priority(self, one: Priority, field: str, scoring: ResourceScoring) -> bool:
        argument = one.argument
        if argument is None:
            return False
        if argument.service_anti_affinity is not None:
            label = argument.service_anti_affinity.label
            self._notes.ask(
                field,
                f"removed; to spread pods over {label or 'a label'}, give the pods "
                "topologySpreadConstraints with that topologyKey, or PodTopologySpread "
                "defaultConstraints in pluginConfig",
            )
        if argument.label_preference is not None:
            preference = argument.label_preference
            count = add_node_labels(
                self._profile,
                preferred_present=(preference.label,) if preference.presence else (),
                preferred_absent=() if preference.presence else (preference.label,),
            )
            self._label_weight = max(self._label_weight, one.weight * count)
            self._notes.ask(
                field,
                "is now a preference in the addedAffinity of NodeAffinity, which scores nodes "
                "relative to the best one and together with the pods' own preferences; see whether "
                "its weight is still right",
            )
        ratio = argument.requested_to_capacity_ratio_arguments
        if ratio is not None:
            scoring.add(
                field, names.CAPACITY_RATIO, one.weight, list(ratio.resources), list(ratio.shape)
            )
        return argument != PriorityArgument()

    def _hard_pod_affinity(self) -> None:
        if not self._hard_weight:
            return
        if names.INTER_POD_AFFINITY in self._scores:
            args = self._profile.args(names.INTER_POD_AFFINITY)
            args["hardPodAffinityWeight"] = self._hard_weight
        else:
            self._notes.say(
                "hardPodAffinitySymmetricWeight",
                "dropped, because without InterPodAffinityPriority it never had an effect",
            )

    def _write(self) -> None:
        registry = default_registry()
        defaults = {one.name: one.weight for one in DEFAULT_PLUGINS}
        for plugin, default in defaults.items():
            if plugin not in names.FILTERS and plugin not in names.SCORES:
                continue
            filters, weight = plugin in self._filters, self._scores.get(plugin, 0)
            if not filters and not weight:
                self._profile.disable(MULTI_POINT, plugin)
                continue
            points = registry.points(plugin)
            if not filters and plugin in names.FILTERS:
                for point in points:
                    if point not in _SCORING:
                        self._profile.disable(point, plugin)
            if not weight and plugin in names.SCORES:
                for point in points:
                    if point in _SCORING:
                        self._profile.disable(point, plugin)
            if weight and weight != default:
                self._profile.enable("score", plugin, weight)
