"""The flags of kube-scheduler that Kubernetes removed, and the fields that say the same today.

Read by `scheduler_args` and by the doctor. Plain data.
"""

import re
from typing import Final

#: Removed flags that say where a Policy is or what else decides.
POLICY_FILE: Final = "policy-config-file"
POLICY_CONFIG_MAP: Final = "policy-configmap"
POLICY_NAMESPACE: Final = "policy-configmap-namespace"
LEGACY_POLICY: Final = "use-legacy-policy-config"
PROVIDER: Final = "algorithm-provider"
CONFIG: Final = "config"
POLICY_FLAGS: Final = (POLICY_FILE, POLICY_CONFIG_MAP, POLICY_NAMESPACE, LEGACY_POLICY, PROVIDER)
#: Removed flags by the field of v1alpha1 that says the same.
FLAG_FIELDS: Final = {
    "scheduler-name": ("schedulerName",),
    "hard-pod-affinity-symmetric-weight": ("hardPodAffinitySymmetricWeight",),
    "failure-domains": ("failureDomains",),
    "lock-object-name": ("leaderElection", "lockObjectName"),
    "lock-object-namespace": ("leaderElection", "lockObjectNamespace"),
}
#: Flags that kube-scheduler still has and ignores if it gets a configuration file.
IGNORED_WITH_FILE: Final = {
    "kubeconfig": ("clientConnection", "kubeconfig"),
    "kube-api-content-type": ("clientConnection", "contentType"),
    "kube-api-qps": ("clientConnection", "qps"),
    "kube-api-burst": ("clientConnection", "burst"),
    "profiling": ("enableProfiling",),
    "contention-profiling": ("enableContentionProfiling",),
}
#: The lock of the leader, and those that Kubernetes removed until v1.27.
LOCK: Final = "leader-elect-resource-lock"
OLD_LOCKS: Final = ("configmaps", "configmapsleases", "endpoints", "endpointsleases")
FEATURE_GATES: Final = "feature-gates"
LISTENING_FLAGS: Final = ("address", "port")
#: Flags of the log library that Kubernetes removed in v1.26.
LOGGING_FLAGS: Final = (
    "add-dir-header",
    "alsologtostderr",
    "log-backtrace-at",
    "log-dir",
    "log-file",
    "log-file-max-size",
    "logtostderr",
    "one-output",
    "skip-headers",
    "skip-log-headers",
    "stderrthreshold",
)
#: All that kube-scheduler does not know any more.
REMOVED_FLAGS: Final = frozenset((*POLICY_FLAGS, *FLAG_FIELDS, *LISTENING_FLAGS, *LOGGING_FLAGS))
REMOVED_IN_TEXT: Final = re.compile(rf"--?({'|'.join(sorted(REMOVED_FLAGS, reverse=True))})\b")
