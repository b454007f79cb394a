"""Explaining decisions offline: a cluster from objects, one pod, and what every plugin says.

Sits above the framework and the plugins, beside the extender. It opens no files, talks to no
cluster and reads no clock: the command line reads, this package explains. It is not called
``explain``, because that is the function `mooring.explain`.
"""
