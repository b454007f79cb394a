"""Checks of the kinds of apps and batch, and of ReplicationControllers."""
