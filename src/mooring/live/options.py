"""What ``moor run`` is given: its options, and what they change in the configuration.

`cli` makes `RunOptions`; `read_settings` turns them and the configuration into everything that is
known before a cluster is asked. Only here the two meet: options go first.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from mooring.config.configuration import KubeSchedulerConfiguration, read_configuration
from mooring.config.lease_name import default_lease_name
from mooring.config.policy_say import policy_say
from mooring.config.profiles import Profile
from mooring.config.registry import Registry
from mooring.config.runtimes import build_profiles
from mooring.errors import InputError
from mooring.framework.loading import load
from mooring.framework.policy import Policy
from mooring.http.tls import Certificates
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.config import find_config, unasked_file
from mooring.kube.lease import LeaseSettings
from mooring.plugins.in_tree import IN_TREE, default_registry

#: kube-scheduler's port.
DEFAULT_PORT: Final = 10259


class HookLimits(msgspec.Struct, frozen=True):
    """How long plugins may take, in seconds.

    Attributes:
        decision_seconds: for one decision, one change or one step of a hook that waits; nothing
            else is done meanwhile, not even the Lease renewed.
        binding_seconds: for a whole hook around a binding, which waits beside other work.
    """

    decision_seconds: float = 5.0
    binding_seconds: float = 600.0


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to run a scheduler.

    Attributes:
        policy: a policy whose plugins take part, or where it is, as `load` takes it; None for
            none.
        config: the parsed ``KubeSchedulerConfiguration``; None is the default one.
        config_name: where that came from, for messages.
        kubeconfig: the cluster; None takes what the configuration or the environment says.
        context: the kubeconfig's context; None takes its current one. Naming one takes
            ``~/.kube/config``, too, which is left alone otherwise.
        scheduler_name: the only profile's name; empty leaves it as configured.
        leader_elect: whether to take part in leader election; None leaves it as configured.
        host: where health and metrics are served.
        port: the port for it; 0 takes a free one.
        allow_hosts: further names for `OwnOrigin`.
        tls_cert: the certificate chain; TLS is on if it is given.
        tls_key: its key.
        drain: how long bindings under way are waited for at the end, in seconds.
        hook_limits: how long plugins may take.
        reload: load the policy again when its file changes.
        seed: breaks ties; None breaks them at random.
    """

    policy: Policy | str | None = None
    config: Mapping[str, Any] | None = None
    config_name: str = "the configuration"
    kubeconfig: Path | None = None
    context: str | None = None
    scheduler_name: str = ""
    leader_elect: bool | None = None
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    allow_hosts: frozenset[str] = frozenset()
    tls_cert: Path | None = None
    tls_key: Path | None = None
    drain: float = 20.0
    hook_limits: HookLimits = HookLimits()
    reload: bool = False
    seed: int | None = None

    def certificates(self) -> Certificates | None:
        """The certificates, if TLS is on.

        Raises:
            InputError: only one of them is given, or a file is unusable.
        """
        if self.tls_cert is None or self.tls_key is None:
            if self.tls_cert or self.tls_key:
                raise InputError("TLS needs both --tls-cert and --tls-key")
            return None
        return Certificates(self.tls_cert, self.tls_key)


class RateLimit(msgspec.Struct, frozen=True):
    """So many requests to the API server are sent a second, and so many at once after a pause."""

    qps: float
    burst: int


class SchedulerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is known before the cluster is asked.

    Attributes:
        configuration: complete with defaults and with what the options change.
        profiles: by scheduler name.
        registry: makes the profiles' plugins, the policy's among them.
        policies: the policies that take part.
        policy_source: where the policy was loaded from, as `load` takes it; empty if it was not.
        reload: load it again when its file changes.
        raw: the configuration as it was written, with what the options change.
        cluster: where the API server is.
        lease: what replicas agree with on who works; None without leader election.
        rate: the limit of requests; None for none. kube-scheduler's default limit is not applied:
            only what the configuration says counts.
        whole_objects: whether policies, plugins of others or extenders may read fields that
            scheduling does not.
        whole_victims: whether that goes for pods on nodes too.
        hook_limits: how long plugins may take.
        seed: breaks ties; None breaks them at random.
    """

    configuration: KubeSchedulerConfiguration
    profiles: Mapping[str, Profile]
    registry: Registry
    policies: tuple[Policy, ...] = ()
    policy_source: str = ""
    reload: bool = False
    raw: Mapping[str, Any] = {}
    cluster: ClusterConfig
    lease: LeaseSettings | None = None
    rate: RateLimit | None = None
    whole_objects: bool = False
    whole_victims: bool = False
    hook_limits: HookLimits = HookLimits()
    seed: int | None = None

    def says(self) -> list[str]:
        """How much say each policy has: a sentence, or one for each profile if they differ."""
        found = []
        for policy in self.policies:
            by_profile = {
                name: policy_say(policy, profile, self.configuration.extenders)
                for name, profile in self.profiles.items()
            }
            if len(set(by_profile.values())) == 1:
                found += [f"{say}" for say in list(by_profile.values())[:1] if say]
            else:
                found += [f"{say} in profile {name}" for name, say in by_profile.items() if say]
        return found


def read_settings(options: RunOptions) -> SchedulerSettings:
    """Read what is configured.

    Raises:
        InputError: the configuration, the policy or the kubeconfig cannot be used, or they
            contradict each other.
    """
    source = options.policy if isinstance(options.policy, str) else ""
    if options.reload and not source:
        raise InputError("--reload needs a policy file; specify the policy")
    policy = load(options.policy) if isinstance(options.policy, str) else options.policy
    policies = (policy,) if policy is not None else ()
    registry = default_registry()
    try:
        raw = _overridden(options)
        configuration = read_configuration(raw)
        profiles = build_profiles(raw, registry, policies)
    except InputError as error:
        if options.config is None:
            raise
        raise InputError(f"{options.config_name}: {error}") from error
    own = {plugin.name for plugin in IN_TREE}
    foreign = any(name not in own for one in profiles.values() for name in one.plugins)
    extenders = configuration.extenders
    return SchedulerSettings(
        configuration=configuration,
        profiles=profiles,
        registry=registry,
        policies=policies,
        policy_source=source,
        reload=options.reload,
        raw=raw,
        cluster=_cluster(options, configuration),
        lease=_lease(configuration, raw),
        rate=_rate(configuration, raw),
        whole_objects=foreign or bool(extenders) or options.reload,
        whole_victims=any(one.preempt_verb and not one.node_cache_capable for one in extenders),
        hook_limits=options.hook_limits,
        seed=options.seed,
    )


def with_policy(settings: SchedulerSettings, policy: Policy) -> SchedulerSettings:
    """The same settings with another policy; neither is changed.

    Raises:
        InputError: the policy does not fit the configuration.
    """
    registry = default_registry()
    profiles = build_profiles(settings.raw, registry, (policy,))
    return msgspec.structs.replace(
        settings, profiles=profiles, registry=registry, policies=(policy,)
    )


def _overridden(options: RunOptions) -> dict[str, Any]:
    """The configuration as it was written, with what the options change."""
    raw = dict(options.config or {})
    if options.scheduler_name or options.leader_elect is not None:
        read_configuration(raw)  # what is changed below has the right form
    if options.scheduler_name:
        profiles = raw.get("profiles") or [{}]
        if len(profiles) > 1:
            raise InputError(
                f"--scheduler-name {options.scheduler_name} is for a single profile, and there "
                f"are {len(profiles)}; set their schedulerName instead"
            )
        raw["profiles"] = [{**profiles[0], "schedulerName": options.scheduler_name}]
    if options.leader_elect is not None:
        election = raw.get("leaderElection") or {}
        raw["leaderElection"] = {**election, "leaderElect": options.leader_elect}
    return raw


def _cluster(options: RunOptions, configuration: KubeSchedulerConfiguration) -> ClusterConfig:
    named = configuration.client_connection.kubeconfig
    kubeconfig = options.kubeconfig or (Path(named) if named else None)
    # A kubeconfig in the home folder is used only when asked for: it may be any cluster.
    context = options.context
    config = find_config(kubeconfig, default_file=bool(context), context=context)
    if config is None:
        raise InputError(
            f"a scheduler needs a cluster, and none is configured: use --kubeconfig FILE, "
            f"set KUBECONFIG, or run inside the cluster{unasked_file()}"
        )
    return config


def _lease(
    configuration: KubeSchedulerConfiguration, raw: Mapping[str, Any]
) -> LeaseSettings | None:
    election = configuration.leader_election
    if not election.leader_elect:
        return None
    written = (raw.get("leaderElection") or {}).get("resourceName")
    profiles = [one.scheduler_name for one in configuration.profiles]
    return LeaseSettings(
        namespace=election.resource_namespace,
        name=election.resource_name if written else default_lease_name(profiles),
        lease_seconds=election.lease_duration.seconds,
        renew_seconds=election.renew_deadline.seconds,
        retry_seconds=election.retry_period.seconds,
    )


def _rate(configuration: KubeSchedulerConfiguration, raw: Mapping[str, Any]) -> RateLimit | None:
    written = raw.get("clientConnection") or {}
    connection = configuration.client_connection
    if not (written.get("qps") or written.get("burst")) or connection.qps < 0:
        return None
    return RateLimit(connection.qps, connection.burst)
