"""``moor migrate``: its files, and what it says."""
