"""Plugins about devices: claims, and extended resources that device classes provide."""
