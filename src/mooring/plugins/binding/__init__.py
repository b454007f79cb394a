"""Plugins that act when a pod is bound."""
