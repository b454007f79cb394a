"""All mutable cluster state.

`Cluster` takes changes and answers what is on which node. It does no I/O, reads no clock and is
owned by one thread; shells feed it.
"""
