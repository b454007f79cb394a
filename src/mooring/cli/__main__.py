"""``python -m mooring.cli``: the same as ``moor``."""

from mooring.cli.entry_point import main

main()
