"""The scheduler extender: a policy served over HTTP to an unmodified kube-scheduler.

`wire` and `bodies` read and write the protocol, `answers` asks the policy, `app` is the ASGI
application, `service` has the decision thread and the node cache, `server` runs it all.
"""
