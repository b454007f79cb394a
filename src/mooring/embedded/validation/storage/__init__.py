"""Checks of persistent volumes, their claims, and the kinds of storage.k8s.io."""
