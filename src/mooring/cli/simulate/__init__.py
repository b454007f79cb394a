"""``moor simulate`` and ``moor scenario``."""
