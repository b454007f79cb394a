"""What makes two failures of a policy's functions alike, so that the log has each kind in full.

Called by `app`, which counts those that are alike. A kind is a word of the code, never of a pod or
a node: there are few of them.
"""

from mooring.errors import EscapeError, PolicyError


def kind_of(error: PolicyError) -> str:
    """The class of what a function raised, or else what it did, with the name of what it returned.

    Args:
        error: its sentence has the function's name, and then what the function did.
    """
    cause = error.__cause__
    if cause is None:
        did, what, *_ = [*str(error).partition(f"{error.function!r} ")[2].split(" ", 2), "", ""]
        # A name such as nan or None; numbers, texts and objects are as many as there are pods.
        return f"{did} {what}" if did == "returned" and what.isalpha() else did
    while issubclass(type(cause), EscapeError) and cause.__cause__ is not None:
        cause = cause.__cause__
    if issubclass(type(cause), EscapeError):  # it stands for another, and begins with its class
        return str(cause).partition(":")[0]
    return type(cause).__name__
