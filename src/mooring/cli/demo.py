"""``moor demo``: watch a policy place pods, with nothing else installed."""


def demo() -> None:
    """Show a policy at work: an extender, a few nodes, a few pods."""
