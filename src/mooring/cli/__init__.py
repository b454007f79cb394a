"""The ``moor`` command: thin, a file for each command."""
