"""Fake kubelets: bound pods run, finish and end."""
