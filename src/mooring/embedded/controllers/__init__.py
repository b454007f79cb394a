"""Small controllers: what kube-controller-manager does for a cluster, as far as demos need it.

Each is a `work.Controller`: it hears of changes, names the objects that have to be looked at, and
brings one of them at a time nearer to what its spec says. `work.Work` calls them. They write
through `Api` as any client does, read no clock and do no I/O.
"""
