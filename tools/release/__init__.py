"""Checks before a release that need more than the tests have: `make release-check`.

They ask the package index for mooring's dependencies and use Prometheus from Debian.
"""
