"""Measurements of mooring, run by hand or by `make bench-extender`; no part of the package."""
