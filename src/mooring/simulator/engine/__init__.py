"""The simulation itself: virtual time, the scheduler's shell, pods, nodes, and what is recorded."""
