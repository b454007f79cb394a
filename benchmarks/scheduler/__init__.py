"""kube-scheduler against `moor run` on a real etcd and kube-apiserver.

Run by `make bench-scheduler`, that is `python -m benchmarks.scheduler`. The workloads are those of
Kubernetes' own scheduler_perf. For each workload a cluster is prepared once; each scheduler gets
its own copy of the data and the same pods.
"""
