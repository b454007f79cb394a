"""Kubernetes' own end-to-end specs, run on an embedded cluster: ``make conformance``."""
