"""Plugins about amounts of resources: what fits, and how full or even a node would be."""
