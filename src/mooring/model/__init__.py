"""Frozen, typed Kubernetes objects with only the fields scheduling reads.

Every other package builds on this one; it imports nothing of mooring but `mooring.errors`, does no
I/O and knows no arrays.
"""
