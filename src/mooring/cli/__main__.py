"""``python -m mooring.cli``: the same as ``moor``."""

from mooring.cli.main import main

main()
