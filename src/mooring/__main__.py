"""``python -m mooring``: the same as ``moor``."""

from mooring.cli.entry_point import main

main()
