"""kube-scheduler and `moor run` in trouble, in turn on one real etcd and kube-apiserver.

Run by `make bench-faults`, that is `python -m benchmarks.faults`.
"""
