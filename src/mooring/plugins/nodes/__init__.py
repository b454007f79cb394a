"""Plugins about what nodes are and have: names, labels, taints, ports, features, images."""
