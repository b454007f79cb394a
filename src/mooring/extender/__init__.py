"""The scheduler extender: a policy served over HTTP to an unmodified kube-scheduler.

`wire` and `bodies` read and write the protocol, `answers` asks the policy, `app` is the ASGI
application, `server` runs it with TLS, workers and signals, `cluster_feed` keeps the node cache.
"""
