"""``moor doctor``: named checks for what goes wrong between a policy and a cluster.

Gathering and judging are apart: `gathering` and `probing` read files, the cluster and extenders and
make an `Evidence` of it; `checks` judge evidence and do no I/O; `registry` lists them.
"""
