"""The scheduler in virtual time: scenarios, what becomes of them, and questions about clusters.

The simulation reads no clock and draws no numbers of its own; whoever runs and measures it stands
outside.
"""
