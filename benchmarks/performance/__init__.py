"""Everything that docs/performance.md shows, measured and written by one command.

Run by `make bench-all`, that is `python -m benchmarks.performance`. It measures nothing itself: it
runs the other benchmarks one after the other and makes pages of what they found.
"""
