"""Measurements of mooring, run by hand or by the `make` targets whose names begin with `bench-`.

No part of the package. What they share is here: the machine, programs under test, tables, plots
and the command line.
"""
