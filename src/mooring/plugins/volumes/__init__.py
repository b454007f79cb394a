"""Plugins about volumes: claims, zones, limits of CSI drivers, disks that cannot be shared."""
