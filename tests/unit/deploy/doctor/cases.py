"""Wrong files for each check that looks at files, written for these tests."""

from typing import Any, Final, NamedTuple

CONFIG: Final = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
profiles:
- schedulerName: packer
extenders:
- urlPrefix: http://packer-extender.sched.svc:8888
  filterVerb: filter
  prioritizeVerb: prioritize
  weight: 14
  nodeCacheCapable: true
"""
EXTENDER: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: packer-extender
  namespace: sched
spec:
  replicas: 2
  selector:
    matchLabels: {app: packer-extender}
  template:
    metadata:
      labels: {app: packer-extender}
    spec:
      serviceAccountName: packer
      containers:
      - name: extender
        image: example.com/mooring:0.1.0
        command: [moor, serve, /policy/policy.py]
---
apiVersion: v1
kind: Service
metadata:
  name: packer-extender
  namespace: sched
spec:
  selector:
    app: packer-extender
  ports:
  - port: 8888
"""
SCHEDULER: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: packer
  namespace: sched
spec:
  strategy:
    type: Recreate
  selector:
    matchLabels: {app: packer}
  template:
    metadata:
      labels: {app: packer}
    spec:
      serviceAccountName: packer
      containers:
      - name: kube-scheduler
        image: registry.k8s.io/kube-scheduler:v1.36.4
        command:
        - kube-scheduler
        - --config=/etc/packer/config.yaml
        livenessProbe:
          httpGet:
            path: /livez
            port: 10259
            scheme: HTTPS
        volumeMounts:
        - name: config
          mountPath: /etc/packer
      volumes:
      - name: config
        configMap:
          name: packer-config
"""
POD: Final = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
spec:
  schedulerName: packer
  containers:
  - name: main
    image: nginx
"""
STATIC_POD: Final = """\
apiVersion: v1
kind: Pod
metadata:
  name: kube-scheduler
  namespace: kube-system
spec:
  hostNetwork: true
  containers:
  - name: kube-scheduler
    image: registry.k8s.io/kube-scheduler:v1.36.4
    command:
    - kube-scheduler
    - --kubeconfig=/etc/kubernetes/scheduler.conf
    volumeMounts:
    - name: kubeconfig
      mountPath: /etc/kubernetes/scheduler.conf
  volumes:
  - name: kubeconfig
    hostPath:
      path: /etc/kubernetes/scheduler.conf
"""
STATIC: Final = "etc/kubernetes/manifests/kube-scheduler.yaml"


def config_map(config: str = CONFIG, name: str = "packer-config", key: str = "config.yaml") -> str:
    """A ConfigMap with a configuration."""
    lines = "".join(f"    {line}\n" for line in config.splitlines())
    return (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n"
        f"  name: {name}\n  namespace: sched\ndata:\n  {key}: |\n{lines}"
    )


def together(*documents: str) -> str:
    """Documents of one file."""
    return "---\n".join(documents)


#: Nothing is wrong with these.
RIGHT: Final = {
    "deploy.yaml": together(config_map(), SCHEDULER, EXTENDER),
    "pod.yaml": POD,
}


class Case(NamedTuple):
    """Files in which one check finds something.

    Attributes:
        check: the id.
        files: the files.
        says: a part of what is found.
        severity: how bad it is.
        follow: replacements in a file that follow the advice where it has no edits.
    """

    check: str
    files: dict[str, str]
    says: str
    severity: str = "error"
    follow: tuple[tuple[str, str, str], ...] = ()


def changed(old: str, new: str, **more: Any) -> dict[str, str]:
    """The right files with something replaced, which must be there."""
    files = {name: text.replace(old, new, 1) for name, text in RIGHT.items()}
    assert files != RIGHT, old
    return {**files, **more}


CASES: Final = (
    Case(
        "manifest-parses",
        changed("kind: Service\n", "kind: Service\nlabels: [}\n"),
        "The file cannot be read:",
        follow=(("deploy.yaml", "labels: [}\n", ""),),
    ),
    Case(
        "configmap-name",
        changed("          name: packer-config", "          name: packer-configuration"),
        "There is no ConfigMap sched/packer-configuration; ConfigMap sched/packer-config is there",
    ),
    Case(
        "configmap-name",
        changed("namespace: sched\ndata", "namespace: default\ndata"),
        "ConfigMap packer-config is in the namespace default, and the pod that mounts it is in "
        "sched.",
    ),
    Case(
        "configmap-name",
        {"config.yaml": CONFIG, "deploy.yaml": together(SCHEDULER, EXTENDER), "pod.yaml": POD},
        "The manifests have no ConfigMap sched/packer-config",
        "warning",
        # kubectl create configmap packer-config -n sched --from-file=config.yaml
        (("config.yaml", CONFIG, config_map()),),
    ),
    Case(
        "static-pod-parses",
        {STATIC: STATIC_POD.replace("  - name: kube-scheduler", "\t- name: kube-scheduler")},
        "The kubelet cannot read the file (found character",
        follow=((STATIC, "\t-", "  -"),),
    ),
    Case(
        "static-pod-parses",
        {STATIC: together(STATIC_POD, EXTENDER)},
        "The file has 3 documents, and the kubelet reads the first one alone.",
        follow=((STATIC, "---\n" + EXTENDER, ""),),
    ),
    Case(
        "static-pod-parses",
        {STATIC: STATIC_POD.replace("  name: kube-scheduler\n  namespace", "  namespace", 1)},
        "The kubelet rejects the file, since the Pod has no name.",
        follow=((STATIC, "metadata:\n", "metadata:\n  name: kube-scheduler\n"),),
    ),
    Case(
        "static-pod-references",
        {STATIC: STATIC_POD.replace("    hostPath:\n      path: /etc/kubernetes/scheduler.conf",
                                    "    configMap:\n      name: scheduler-conf")},
        "A static pod cannot use the configMap scheduler-conf: the kubelet rejects it.",
        follow=((STATIC, "    configMap:\n      name: scheduler-conf",
                 "    hostPath:\n      path: /etc/kubernetes/scheduler.conf"),),
    ),
    Case(
        "static-pod-backup",
        {STATIC: STATIC_POD, f"{STATIC}.bak": STATIC_POD},
        "The kubelet reads kube-scheduler.yaml.bak, too",
        follow=((f"{STATIC}.bak", "", "moved"),),
    ),
    Case(
        "rbac-wide",
        {
            **RIGHT,
            "rbac.yaml": "apiVersion: rbac.authorization.k8s.io/v1\n"
            "kind: ClusterRoleBinding\nmetadata: {name: packer}\nroleRef:\n"
            "  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n"
            "  name: cluster-admin\nsubjects:\n"
            "- {kind: ServiceAccount, name: packer, namespace: sched}\n",
        },
        "The service account sched/packer may do everything in the cluster.",
        "warning",
    ),
    Case(
        "config-version",
        changed("kubescheduler.config.k8s.io/v1\n", "kubescheduler.config.k8s.io/v1beta2\n"),
        "v1.27 was the last kube-scheduler to read it.",
    ),
    Case(
        "renamed-field",
        changed("  nodeCacheCapable", "  enableHttps: false\n      nodeCacheCapable"),
        "The field enableHttps is called enableHTTPS in kubescheduler.config.k8s.io/v1.",
    ),
    Case(
        "renamed-field",
        changed("profiles:", "hardPodAffinitySymmetricWeight: 10\n    profiles:"),
        "kubescheduler.config.k8s.io/v1 has no field hardPodAffinitySymmetricWeight here",
    ),
    Case(
        "renamed-field",
        changed("profiles:", "healthzBindAddress: 0.0.0.0:10251\n    profiles:"),
        "kubescheduler.config.k8s.io/v1 has no field healthzBindAddress here",
    ),
    Case(
        "renamed-field",
        changed("profiles:", "algorithmSource: {provider: DefaultProvider}\n    profiles:"),
        "has no field algorithmSource; kubescheduler.config.k8s.io/v1alpha1 has",
    ),
    Case(
        "config-invalid",
        changed("weight: 14", "weight: 0"),
        "extenders[0].weight: 0 is not a valid weight for prioritizeVerb",
        follow=(("deploy.yaml", "weight: 0", "weight: 1"),),
    ),
    Case(
        "plugin-unknown",
        changed("- schedulerName: packer\n", "- schedulerName: packer\n      plugins:\n"
                "        score:\n          enabled:\n          - name: NodeResourceFit\n"),
        "Neither kube-scheduler nor the policy has a plugin NodeResourceFit.",
    ),
    Case(
        "removed-flag",
        changed("        - --config", "        - --port=10251\n        - --config"),
        "kube-scheduler has no argument --port any more and ends at once.",
    ),
    Case(
        "scheduler-kubeconfig",
        changed("        - --config", "        - --kubeconfig=/etc/own.conf\n        - --config"),
        "The configuration names no kubeconfig, and --kubeconfig is ignored beside --config.",
    ),
    Case(
        "scheduler-kubeconfig",
        {STATIC: STATIC_POD.replace("    - --kubeconfig=/etc/kubernetes/scheduler.conf\n", "")},
        "The static pod has no --kubeconfig",
        follow=((STATIC, "    - kube-scheduler\n",
                 "    - kube-scheduler\n    - --kubeconfig=/etc/kubernetes/scheduler.conf\n"),),
    ),
    Case(
        "config-path",
        changed("--config=/etc/packer/config.yaml", "--config=/etc/packer/packer.yaml"),
        "ConfigMap packer-config has no key packer.yaml, so there is no file "
        "/etc/packer/packer.yaml.",
    ),
    Case(
        "config-path",
        changed("mountPath: /etc/packer", "mountPath: /config"),
        "The container has no volume at /etc/packer/config.yaml, which --config names.",
        "warning",
        follow=(("deploy.yaml", "mountPath: /config", "mountPath: /etc/packer"),),
    ),
    Case(
        "probe-port",
        changed("            port: 10259\n            scheme: HTTPS", "            port: 10251"),
        "The livenessProbe asks port 10251, where kube-scheduler serves nothing since v1.23.",
    ),
    Case(
        "probe-port",
        changed("scheme: HTTPS", "scheme: HTTP"),
        "The livenessProbe asks over HTTP",
    ),
    Case(
        "image-version",
        changed("registry.k8s.io/kube-scheduler:v1.36.4", "k8s.gcr.io/kube-scheduler:v1.15.0"),
        "kube-scheduler v1.15 does not read kubescheduler.config.k8s.io/v1",
    ),
    Case(
        "image-version",
        changed("registry.k8s.io/kube-scheduler:v1.36.4", "k8s.gcr.io/kube-scheduler:v1.26.0"),
        "The registry k8s.gcr.io gets no new images",
        "warning",
    ),
    Case(
        "scheduler-name",
        changed("schedulerName: packer\n  containers", "schedulerName: paker\n  containers"),
        "schedulerName is paker, and no scheduler that is known serves it",
    ),
    Case(
        "scheduler-unused",
        changed("  schedulerName: packer\n  containers", "  containers"),
        "No pod has schedulerName packer, so this scheduler places nothing.",
        "warning",
    ),
    Case(
        "scheduler-twice",
        changed("  strategy:\n    type: Recreate\n", "  replicas: 3\n"),
        "Leader election is off, and 3 replicas schedule the same pods without election",
    ),
    Case(
        "scheduler-twice",
        changed("  strategy:\n    type: Recreate\n", ""),
        "an update runs the old scheduler and the new one at the same time",
        "warning",
    ),
    Case(
        "scheduler-twice",
        {name: text.replace("schedulerName: packer", "schedulerName: default-scheduler")
         for name, text in RIGHT.items()},
        "the cluster's own kube-scheduler serves default-scheduler, too",
    ),
    Case(
        "scheduler-twice",
        {**RIGHT, "second.yaml": SCHEDULER.replace("name: packer\n", "name: packer-2\n", 1)},
        "serves packer, too, and there is no common election",
    ),
    Case(
        "lease-shared",
        changed("leaderElect: false", "leaderElect: true"),
        "The scheduler packer waits for the Lease kube-system/kube-scheduler",
    ),
    Case(
        "lease-shared",
        changed("    leaderElection:\n      leaderElect: false\n", ""),
        "it never starts to work",
    ),
    Case(
        "extender-address",
        changed("packer-extender.sched.svc:8888", "localhost:8888"),
        "http://localhost:8888 is the scheduler's own pod, in which nothing else runs.",
    ),
    Case(
        "extender-address",
        changed("      serviceAccountName: packer\n      containers:\n      - name: kube",
                "      hostNetwork: true\n      containers:\n      - name: kube"),
        "the host's DNS, which does not know packer-extender.sched.svc",
    ),
    Case(
        "extender-service",
        changed("svc:8888", "svc:80"),
        "Service sched/packer-extender has no port 80",
    ),
    Case(
        "extender-service",
        changed("    app: packer-extender\n  ports", "    app: extender\n  ports"),
        "The selector of Service sched/packer-extender (app=extender) fits no pod",
    ),
    Case(
        "extender-service",
        {
            "config.yaml": CONFIG.replace("packer-extender.sched.svc:8888", "localhost:30036"),
            "deploy.yaml": EXTENDER.replace("  - port: 8888", "  - {port: 80, nodePort: 30063}"),
        },
        "No Service has the nodePort 30036",
    ),
    Case(
        "extender-own-pod",
        changed("      labels: {app: packer-extender}\n    spec:\n",
                "      labels: {app: packer-extender}\n    spec:\n      schedulerName: packer\n"),
        "Deployment sched/packer-extender runs the extender, and packer asks the extender where",
    ),
    Case(
        "extender-single",
        changed("  replicas: 2\n", ""),
        "The extender has one replica and is not ignorable",
        "warning",
    ),
    Case(
        "extender-trust",
        {
            name: text.replace("http://packer", "https://packer").replace(
                "nodeCacheCapable", "enableHTTPS: true\n      nodeCacheCapable"
            )
            for name, text in RIGHT.items()
        },
        "The certificate of the extender is not verified",
        "warning",
    ),
    Case(
        "node-cache-scores",
        changed("nodeCacheCapable: true", "nodeCacheCapable: false"),
        "kube-scheduler's scores see nodes without any pods on them",
        "warning",
    ),
    Case(
        "policy-say",
        changed("weight: 14", "weight: 1"),
        "The extender can decide 7% of a node's total score (weight 1 of 15)",
        "warning",
    ),
)  # fmt: skip
