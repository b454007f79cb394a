"""Plugins of the scheduling queue: its order, and who may not enter it."""
