"""Whether an extender, in whatever language, answers as kube-scheduler v1.36 wants it.

``moor extender-test`` runs `conformance.run_conformance`; ``moor doctor`` calls the functions of
`probes`. Start with `checks`, the list of everything that is checked.
"""

from mooring.deploy.extender_test.probes import (
    Probe,
    probe_latency,
    probe_reachable,
    probe_verb,
)

__all__ = ["Probe", "probe_latency", "probe_reachable", "probe_verb"]
