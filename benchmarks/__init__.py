"""Measurements of mooring, run by hand or by `make bench-extender` and `make bench-core`.

No part of the package. What the two share is here: the machine, tables, plots and the command line.
"""
