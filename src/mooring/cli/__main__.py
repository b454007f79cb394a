"""``python -m mooring.cli``: the same as ``moor``."""

from mooring.cli.start import main

main()
