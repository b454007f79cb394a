"""Explaining decisions offline: a cluster from files, one pod, and what every plugin says.

The package sits above the framework and the plugins. It opens no files and talks to no cluster: the
command line reads, this package explains.
"""

from mooring.explain.explainer import Explainer, explain
from mooring.explain.snapshot import Skipped, Snapshot

__all__ = ["Explainer", "Skipped", "Snapshot", "explain"]
