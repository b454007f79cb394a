"""The scheduler's plugins: kube-scheduler's default ones under their own names, and a few more.

One module for each plugin, in families: `resources`, `devices`, `volumes`, `spread`, `affinity`,
`nodes`, `preemption`, `queueing`, `binding`. `in_tree` registers them all; `domain_sums`,
`score_arithmetic` and `pod_changes` are shared. The `requeue_hints` of a family say which cluster
events may help a pod that one of its plugins rejected.
"""
