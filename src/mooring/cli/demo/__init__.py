"""``moor demo`` and what it is made of: a workload, the steps that run it, how that looks."""
