"""``moor whatif``: the command and what it prints."""
