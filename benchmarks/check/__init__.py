"""Has a decision become dearer? Run by `make bench-check`, that is `python -m benchmarks.check`.

Two ways to see it on a machine that others use as well: instructions of a decision, counted by
valgrind and compared with recorded counts, and CPU time of two source trees, measured in turns.
"""
