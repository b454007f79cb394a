"""Small parts of sentences: one thing, two things. Called wherever something is told to people."""


def count(number: int, what: str) -> str:
    """How many there are: ``1 node``, ``2 nodes``; `what` is the word for one."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def are(number: int) -> str:
    """The verb that follows `count`."""
    return "is" if number == 1 else "are"
