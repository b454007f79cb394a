"""The ``moor`` command: thin, a file or a folder for each command."""
