"""``moor capacity``: the command and what it prints."""
