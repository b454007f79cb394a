"""Small controllers: what kube-controller-manager does for a cluster, as far as demos need it.

Each family has a folder; what all of them share is here, with the garbage collector and the
controller of namespaces. Each is a `controller.Controller`: it says which objects to reconcile
after a change, and brings one of them at a time nearer to what its spec says. `workqueue.WorkQueue`
calls them. They write through `Api` as any client does, read no clock and do no I/O.
"""
