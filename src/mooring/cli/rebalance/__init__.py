"""``moor rebalance``: the command and what it prints."""
