"""Words in sentences for people, for all parts of mooring."""


def counted(number: float, what: str) -> str:
    """A number and what it counts, such as ``1 pod``, ``3 pods`` or ``0.5 seconds``."""
    shown = str(number) if isinstance(number, int) else f"{round(number, 3):g}"
    return f"{shown} {what}" if shown == "1" else f"{shown} {what}s"


def are(number: int) -> str:
    """The verb that follows `counted`."""
    return "is" if number == 1 else "are"
