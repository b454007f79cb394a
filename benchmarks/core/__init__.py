"""Decisions in process, without I/O: how many pods one core places a second, and what costs time.

Run by `make bench-core`, that is `python -m benchmarks.core`. The default configuration, all nodes
scored. Three parts, for each of the `workloads`:

- `speed`: pods a second at 100, 1,000 and 5,000 nodes;
- `by_plugin`: where the microseconds of a decision go;
- `growth`: what a decision costs when 1,000, 5,000 and 20,000 pods are on the cluster already.
"""
