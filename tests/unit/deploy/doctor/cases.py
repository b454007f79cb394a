"""Wrong files for each check that looks at files, written for these tests."""

from typing import Any, Final, NamedTuple

from tests.unit.deploy.doctor.roles import LEASE_ROLE, ROLES, bound

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


ITS_LEASE: Final = "resourceName: packer, resourceNamespace: sched"


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
        advice: what to do about it.
        severity: how bad it is.
        follow: replacements in a file that follow the advice, beyond the edits of the finding and
            the rules that it shows.
    """

    check: str
    files: dict[str, str]
    says: str
    advice: str
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
        "Correct the line, or leave the file out.",
        follow=(("deploy.yaml", "labels: [}\n", ""),),
    ),
    Case(
        "configmap-name",
        changed("          name: packer-config", "          name: packer-configuration"),
        "There is no ConfigMap sched/packer-configuration; ConfigMap sched/packer-config is there",
        "Write name: packer-config.",
    ),
    Case(
        "configmap-name",
        changed(
            "        configMap:\n          name: packer-config\n",
            "        projected:\n          sources:\n          - configMap:\n"
            "              name: packer-configuration\n",
        ),
        "There is no ConfigMap sched/packer-configuration; ConfigMap sched/packer-config is there",
        "Write name: packer-config.",
    ),
    Case(
        "configmap-name",
        changed("namespace: sched\ndata", "namespace: default\ndata"),
        "ConfigMap packer-config is in the namespace default, and the pod that mounts it is in "
        "sched.",
        "Write namespace: sched in the ConfigMap.",
    ),
    Case(
        "configmap-name",
        {"config.yaml": CONFIG, "deploy.yaml": together(SCHEDULER, EXTENDER), "pod.yaml": POD},
        "The manifests have no ConfigMap sched/packer-config",
        "Run kubectl create configmap packer-config -n sched --from-file=FILE.",
        "warning",
        (("config.yaml", CONFIG, config_map()),),
    ),
    Case(
        "static-pod-parses",
        {STATIC: STATIC_POD.replace("  - name: kube-scheduler", "\t- name: kube-scheduler")},
        "The kubelet cannot read the file (found character",
        "Correct the file outside of the folder, and move it there when it is right.",
        follow=((STATIC, "\t-", "  -"),),
    ),
    Case(
        "static-pod-parses",
        {STATIC: together(STATIC_POD, EXTENDER)},
        "The file has 3 documents, and the kubelet reads the first one alone.",
        "Leave only the Pod in the file, and apply the others with kubectl apply.",
        follow=((STATIC, "---\n" + EXTENDER, ""),),
    ),
    Case(
        "static-pod-parses",
        {STATIC: STATIC_POD.replace("  name: kube-scheduler\n  namespace", "  namespace", 1)},
        "The kubelet rejects the file, since the Pod has no name.",
        "Correct the file outside of the folder, and move it there when it is right.",
        follow=((STATIC, "metadata:\n", "metadata:\n  name: kube-scheduler\n"),),
    ),
    Case(
        "static-pod-references",
        {STATIC: STATIC_POD.replace("    hostPath:\n      path: /etc/kubernetes/scheduler.conf",
                                    "    configMap:\n      name: scheduler-conf")},
        "A static pod cannot use the configMap scheduler-conf: the kubelet rejects it.",
        "Put the file on the host and mount it with hostPath.",
        follow=((STATIC, "    configMap:\n      name: scheduler-conf",
                 "    hostPath:\n      path: /etc/kubernetes/scheduler.conf"),),
    ),
    Case(
        "static-pod-backup",
        {STATIC: STATIC_POD, f"{STATIC}.bak": STATIC_POD},
        "The kubelet reads kube-scheduler.yaml.bak, too",
        "Move it out of the folder, or run mv "
        "etc/kubernetes/manifests/kube-scheduler.yaml.bak "
        "etc/kubernetes/manifests/.kube-scheduler.yaml.bak.",
        follow=((f"{STATIC}.bak", "", "moved"),),
    ),
    Case(
        "rbac-wide",
        {
            **RIGHT,
            "rbac.yaml": bound("packer", "cluster-admin"),
        },
        "The service account sched/packer may do everything in the cluster.",
        "Bind to it the ClusterRoles system:kube-scheduler and system:volume-scheduler with"
        " new ClusterRoleBindings, and delete ClusterRoleBinding packer; its roleRef cannot"
        " be changed.",
        "warning",
        follow=(("rbac.yaml", bound("packer", "cluster-admin"),
                 bound("packer-pods", "system:kube-scheduler") + "---\n"
                 + bound("packer-volumes", "system:volume-scheduler")),),
    ),
    Case(
        "rbac-missing",
        {**RIGHT, "rbac.yaml": ROLES.replace("[pods/binding]", "[bindings]")},
        "The roles of the service account sched/packer lack 1 permission that kube-scheduler "
        "needs: create pods/binding.",
        'Add to the rules of ClusterRole packer: {apiGroups: [""], resources: '
        "[pods/binding], verbs: [create]}.",
    ),
    Case(
        "rbac-missing",
        {**RIGHT, "rbac.yaml": ROLES.replace("nodes, pods,", "pods,")},
        "that moor serve needs: list, watch nodes.",
        'Add to the rules of ClusterRole packer: {apiGroups: [""], resources: [nodes], '
        "verbs: [list, watch]}.",
    ),
    Case(
        "rbac-missing",
        {
            "deploy.yaml": EXTENDER,
            "rbac.yaml": "apiVersion: v1\nkind: ServiceAccount\n"
            "metadata: {name: packer, namespace: sched}\n",
        },
        "lack 2 permissions that moor serve needs: list, watch nodes.",
        'Bind to it a ClusterRole with the rules {apiGroups: [""], resources: [nodes], '
        "verbs: [list, watch]}.",
        "warning",
    ),
    Case(
        "rbac-missing",
        {
            name: text.replace("leaderElect: false", "resourceName: packer")
            for name, text in {**RIGHT, "rbac.yaml": ROLES}.items()
        },
        "that kube-scheduler needs: create leases.coordination.k8s.io in kube-system; get, "
        "update leases.coordination.k8s.io packer in kube-system.",
        "Bind to it a Role in kube-system with the rules {apiGroups: [coordination.k8s.io],"
        " resources: [leases], verbs: [create]}; {apiGroups: [coordination.k8s.io], "
        "resources: [leases], resourceNames: [packer], verbs: [get, update]}.",
    ),
    Case(
        "config-version",
        changed("kubescheduler.config.k8s.io/v1\n", "kubescheduler.config.k8s.io/v1beta2\n"),
        "v1.27 was the last kube-scheduler to read it.",
        "Run moor migrate --in-place deploy.yaml, which writes "
        "kubescheduler.config.k8s.io/v1.",
    ),
    Case(
        "renamed-field",
        changed("  nodeCacheCapable", "  enableHttps: false\n      nodeCacheCapable"),
        "The field enableHttps is called enableHTTPS in kubescheduler.config.k8s.io/v1.",
        "Write enableHTTPS.",
    ),
    Case(
        "renamed-field",
        changed("  nodeCacheCapable",
                "  enableHttps: true\n      enableHTTPS: false\n      nodeCacheCapable"),
        "The field enableHttps is called enableHTTPS in kubescheduler.config.k8s.io/v1.",
        "Take enableHttps out; enableHTTPS is there as well.",
        follow=(("deploy.yaml", "  enableHttps: true\n    ", ""),),
    ),
    Case(
        "renamed-field",
        changed("profiles:", "hardPodAffinitySymmetricWeight: 10\n    profiles:"),
        "kubescheduler.config.k8s.io/v1 has no field hardPodAffinitySymmetricWeight here",
        "Take it out, and write pluginConfig of InterPodAffinity: "
        "args.hardPodAffinityWeight.",
    ),
    Case(
        "renamed-field",
        changed("profiles:", "healthzBindAddress: 0.0.0.0:10251\n    profiles:"),
        "kubescheduler.config.k8s.io/v1 has no field healthzBindAddress here",
        "Take it out.",
    ),
    Case(
        "renamed-field",
        changed("profiles:", "algorithmSource: {provider: DefaultProvider}\n    profiles:"),
        "has no field algorithmSource; kubescheduler.config.k8s.io/v1alpha1 has",
        "Take it out, and write the plugins that it means in profiles[].plugins; for "
        "DefaultProvider, these are none.",
    ),
    Case(
        "renamed-field",
        {"config.yaml": CONFIG.partition("profiles:")[0] + "algorithmSource:\n"
         "  provider: ClusterAutoscalerProvider\n"},
        "has no field algorithmSource; kubescheduler.config.k8s.io/v1alpha1 has",
        "Write apiVersion: kubescheduler.config.k8s.io/v1alpha1, and run moor migrate --in-place "
        "config.yaml.",
    ),
    Case(
        "config-invalid",
        changed("weight: 14", "weight: 0"),
        "extenders[0].weight: 0 is not a valid weight for prioritizeVerb",
        "Correct the field.",
        follow=(("deploy.yaml", "weight: 0", "weight: 14"),),
    ),
    Case(
        "config-invalid",
        changed("profiles:", "parallelism: 3\n    parallelism: 4\n    profiles:"),
        "kube-scheduler rejects the configuration: parallelism is there twice.",
        "Keep the parallelism that is right and take the other one out.",
        follow=(("deploy.yaml", "parallelism: 3\n    ", ""),),
    ),
    Case(
        "plugin-unknown",
        changed("- schedulerName: packer\n", "- schedulerName: packer\n      plugins:\n"
                "        score:\n          enabled:\n          - name: NodeResourceFit\n"),
        "Neither kube-scheduler nor the policy has a plugin NodeResourceFit.",
        "Write NodeResourcesFit.",
    ),
    Case(
        "removed-flag",
        changed("        - --config", "        - --port=10251\n        - --config"),
        "kube-scheduler has no argument --port any more and ends at once.",
        "Take it out.",
    ),
    Case(
        "removed-flag",
        changed("        - --config",
                "        - --leader-elect-resource-lock=endpoints\n        - --config"),
        "kube-scheduler has no lock endpoints any more and ends at once.",
        "Write --leader-elect-resource-lock=leases, and stop schedulers that hold the old lock "
        "before you start this one.",
    ),
    Case(
        "scheduler-kubeconfig",
        changed("        - --config", "        - --kubeconfig=/etc/own.conf\n        - --config"),
        "The configuration names no kubeconfig, and --kubeconfig is ignored beside --config.",
        "Write clientConnection.kubeconfig: /etc/own.conf in the configuration.",
    ),
    Case(
        "scheduler-kubeconfig",
        {STATIC: STATIC_POD.replace("    - --kubeconfig=/etc/kubernetes/scheduler.conf\n", "")},
        "The static pod has no --kubeconfig",
        "Write --kubeconfig=/etc/kubernetes/scheduler.conf, and mount that file with "
        "hostPath.",
        follow=((STATIC, "    - kube-scheduler\n",
                 "    - kube-scheduler\n    - --kubeconfig=/etc/kubernetes/scheduler.conf\n"),),
    ),
    Case(
        "config-path",
        changed("--config=/etc/packer/config.yaml", "--config=/etc/packer/packer.yaml"),
        "ConfigMap packer-config has no key packer.yaml, so there is no file "
        "/etc/packer/packer.yaml.",
        "Write --config=/etc/packer/config.yaml.",
    ),
    Case(
        "config-path",
        changed("mountPath: /etc/packer", "mountPath: /config"),
        "The container has no volume at /etc/packer/config.yaml, which --config names.",
        "Mount the ConfigMap, or the host's folder, that has the file.",
        "warning",
        follow=(("deploy.yaml", "mountPath: /config", "mountPath: /etc/packer"),),
    ),
    Case(
        "probe-port",
        changed("            port: 10259\n            scheme: HTTPS", "            port: 10251"),
        "The livenessProbe asks port 10251, where kube-scheduler serves nothing since v1.23.",
        "Write port: 10259 and scheme: HTTPS.",
    ),
    Case(
        "probe-port",
        changed("scheme: HTTPS", "scheme: HTTP"),
        "The livenessProbe asks over HTTP",
        "Write port: 10259 and scheme: HTTPS.",
    ),
    Case(
        "image-version",
        changed("registry.k8s.io/kube-scheduler:v1.36.4", "k8s.gcr.io/kube-scheduler:v1.15.0"),
        "kube-scheduler v1.15 does not read kubescheduler.config.k8s.io/v1",
        "Write image: registry.k8s.io/kube-scheduler:v1.36.4, with the version of your API "
        "server if that is older.",
    ),
    Case(
        "image-version",
        changed("registry.k8s.io/kube-scheduler:v1.36.4", "k8s.gcr.io/kube-scheduler:v1.26.0"),
        "The registry k8s.gcr.io gets no new images",
        "Write image: registry.k8s.io/kube-scheduler:v1.26.0.",
        "warning",
    ),
    Case(
        "scheduler-name",
        changed("schedulerName: packer\n  containers", "schedulerName: paker\n  containers"),
        "schedulerName is paker, and no scheduler that is known serves it",
        "Write schedulerName: packer.",
    ),
    Case(
        "scheduler-unused",
        changed("  schedulerName: packer\n  containers", "  containers"),
        "No pod has schedulerName packer, so this scheduler places nothing.",
        "Write schedulerName: packer in the spec of the pods that it should place; those "
        "without one are placed by default-scheduler.",
        "warning",
    ),
    Case(
        "scheduler-twice",
        changed("  strategy:\n    type: Recreate\n", "  replicas: 3\n"),
        "Leader election is off, and 3 replicas schedule the same pods: more than one may bind",
        f"Write leaderElection: {{leaderElect: true, {ITS_LEASE}}} in the configuration, and "
        "allow the scheduler to create, get and update its Lease.",
    ),
    Case(
        "scheduler-twice",
        changed("  strategy:\n    type: Recreate\n", ""),
        "an update runs the old scheduler and the new one at the same time",
        "Write strategy: {type: Recreate} in the spec of the Deployment.",
        "warning",
    ),
    Case(
        "scheduler-twice",
        {name: text.replace("schedulerName: packer", "schedulerName: default-scheduler")
         for name, text in RIGHT.items()},
        "the cluster's own kube-scheduler serves default-scheduler, too",
        "Write leaderElection.leaderElect: true in the configuration, and allow the "
        "scheduler to create, get and update its Lease. Or give this scheduler another "
        "schedulerName.",
    ),
    Case(
        "scheduler-twice",
        {**RIGHT, "second.yaml": SCHEDULER.replace("name: packer\n", "name: packer-2\n", 1)},
        "Leader election is off, and Deployment sched/packer-2 serves packer, too",
        f"Write leaderElection: {{leaderElect: true, {ITS_LEASE}}} in the configuration, and "
        "allow the scheduler to create, get and update its Lease. Or give this scheduler another "
        "schedulerName.",
    ),
    Case(
        "scheduler-twice",
        {**changed("  strategy:\n    type: Recreate\n", "  replicas: 3\n"), "rbac.yaml": ROLES},
        "Leader election is off, and 3 replicas schedule the same pods",
        f"Write leaderElection: {{leaderElect: true, {ITS_LEASE}}} in the configuration, and "
        "allow the scheduler to create, get and update its Lease.",
        follow=(("rbac.yaml", ROLES, together(ROLES, LEASE_ROLE)),),
    ),
    Case(
        "scheduler-twice",
        {name: text.replace("schedulerName: packer", "schedulerName: default-scheduler")
         .replace("leaderElect: false", "resourceName: packer")
         for name, text in RIGHT.items()},
        "The leader is elected with the Lease kube-system/packer, and the cluster's own "
        "kube-scheduler serves default-scheduler, too",
        "Write leaderElection.resourceName: kube-scheduler in the configuration, and allow the "
        "scheduler to create, get and update its Lease. Or give this scheduler another "
        "schedulerName.",
    ),
    Case(
        "scheduler-twice",
        {name: text.replace("- schedulerName: packer", "- schedulerName: packer\n"
                            "    - schedulerName: default-scheduler")
         .replace("leaderElect: false", "resourceName: packer\n      resourceNamespace: sched")
         for name, text in RIGHT.items()},
        "The leader is elected with the Lease sched/packer, and the cluster's own kube-scheduler "
        "serves default-scheduler, too",
        "Write leaderElection: {resourceName: kube-scheduler, resourceNamespace: kube-system} in "
        "the configuration, and allow the scheduler to create, get and update its Lease. Or give "
        "this scheduler another schedulerName.",
    ),
    Case(
        "scheduler-twice",
        {
            **changed("leaderElect: false", "resourceName: packer"),
            "second.yaml": together(
                SCHEDULER.replace("name: packer\n", "name: packer-2\n", 1)
                .replace("packer-config", "second-config"),
                config_map(name="second-config"),
            ),
        },
        "Leader election is off, and Deployment sched/packer serves packer, too",
        "Write leaderElection: {leaderElect: true, resourceName: packer} in the configuration, "
        "and allow the scheduler to create, get and update its Lease. Or give this scheduler "
        "another schedulerName.",
    ),
    Case(
        "scheduler-twice",
        {"deploy.yaml": SCHEDULER.replace("        - --config=/etc/packer/config.yaml\n",
                                          "        - --leader-elect=false\n"
                                          "        - --leader-elect-resource-name=packer\n")},
        "Leader election is off, and the cluster's own kube-scheduler serves default-scheduler",
        "Write --leader-elect=true and --leader-elect-resource-name=kube-scheduler, and allow the "
        "scheduler to create, get and update its Lease. Or give this scheduler another "
        "schedulerName.",
    ),
    Case(
        "scheduler-twice",
        {
            "deploy.yaml": together(config_map(), SCHEDULER).replace(
                "        - kube-scheduler\n", "        - moor\n        - run\n"
                "        - --no-leader-elect\n"
            ).replace("  strategy:\n    type: Recreate\n", "  replicas: 2\n"),
        },
        "Leader election is off, and 2 replicas schedule the same pods",
        "Write --leader-elect, and allow the scheduler to create, get and update its Lease.",
    ),
    Case(
        "lease-shared",
        changed("leaderElect: false", "leaderElect: true"),
        "The scheduler packer waits for the Lease kube-system/kube-scheduler",
        "Write leaderElection.resourceName: packer in the configuration, and allow the "
        "scheduler to create, get and update its Lease.",
    ),
    Case(
        "lease-shared",
        changed("    leaderElection:\n      leaderElect: false\n", ""),
        "it never starts to work",
        "Write leaderElection.resourceName: packer in the configuration, and allow the "
        "scheduler to create, get and update its Lease.",
    ),
    Case(
        "extender-address",
        changed("packer-extender.sched.svc:8888", "localhost:8888"),
        "http://localhost:8888 is the scheduler's own pod, in which nothing else runs.",
        "Write the extender's Service, such as urlPrefix: "
        "http://packer-extender.sched.svc:8888, or run the extender in the scheduler's pod.",
    ),
    Case(
        "extender-address",
        changed("      serviceAccountName: packer\n      containers:\n      - name: kube",
                "      hostNetwork: true\n      containers:\n      - name: kube"),
        "the host's DNS, which does not know packer-extender.sched.svc",
        "Write dnsPolicy: ClusterFirstWithHostNet in the spec of the pod, or the Service's "
        "clusterIP in urlPrefix.",
    ),
    Case(
        "extender-service",
        changed("svc:8888", "svc:80"),
        "Service sched/packer-extender has no port 80",
        "Write port 8888 in urlPrefix.",
    ),
    Case(
        "extender-service",
        changed("    app: packer-extender\n  ports", "    app: extender\n  ports"),
        "The selector of Service sched/packer-extender (app=extender) fits no pod",
        "Write the labels of the extender's pods in the selector of the Service.",
    ),
    Case(
        "extender-service",
        {
            "config.yaml": CONFIG.replace("packer-extender.sched.svc:8888", "localhost:30036"),
            "deploy.yaml": EXTENDER.replace("  - port: 8888", "  - {port: 80, nodePort: 30063}"),
        },
        "No Service has the nodePort 30036",
        "Write port 30063, which is that of Service sched/packer-extender.",
    ),
    Case(
        "extender-own-pod",
        changed("      labels: {app: packer-extender}\n    spec:\n",
                "      labels: {app: packer-extender}\n    spec:\n      schedulerName: packer\n"),
        "Deployment sched/packer-extender runs the extender, and packer asks the extender where",
        "Write ignorable: true in the extender's entry, or let another scheduler place its "
        "pods.",
    ),
    Case(
        "extender-single",
        changed("  replicas: 2\n", ""),
        "The extender has one replica and is not ignorable",
        "Write replicas: 2 in Deployment sched/packer-extender, or ignorable: true in its "
        "entry.",
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
        "Write tlsConfig: {caFile: FILE} with the certificate authority of the extender.",
        "warning",
    ),
    Case(
        "node-cache-scores",
        changed("nodeCacheCapable: true", "nodeCacheCapable: false"),
        "kube-scheduler's scores see nodes without any pods on them",
        "Write nodeCacheCapable: true, and let the extender watch nodes itself, as moor "
        "serve --node-cache does.",
        "warning",
    ),
    Case(
        "policy-say",
        changed("weight: 14", "weight: 1"),
        "The extender can decide 7% of a node's total score (weight 1 of 15)",
        "Write weight: 14, which gives it half the say.",
        "warning",
    ),
)  # fmt: skip
