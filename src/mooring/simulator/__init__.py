"""Questions about a cluster that is not touched: what would be if, how much more fits.

The scheduler's own core decides, on a fork of the state. Nothing here does I/O or reads a clock.
"""
