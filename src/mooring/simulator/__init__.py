"""The scheduler in virtual time: scenarios, what becomes of them, and questions about clusters.

The scheduler's own core decides, in a simulation or on a fork of the state. Nothing here does I/O,
reads a clock or draws numbers of its own; whoever runs and measures it stands outside.
"""
