"""Devices and claims to them (``resource.k8s.io``), as far as scheduling reads them."""
