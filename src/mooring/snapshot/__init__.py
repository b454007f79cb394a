"""A cluster as a file: reading it, and redacting it before it is shared.

Used by `explain`, ``moor snapshot`` and ``moor cluster --snapshot``. Opens no file. Import the
module you need; this one imports nothing.
"""
