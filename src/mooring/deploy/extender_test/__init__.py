"""Whether an extender, in whatever language, answers as kube-scheduler v1.36 expects.

``moor extender-test`` runs `conformance.run_conformance`; ``moor doctor`` calls the functions of
`probes`. Start with `checks`, the list of everything that is checked.
"""
