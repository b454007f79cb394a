"""What an API server answers, as the types that the doctor expects.

`cluster_reading` and `access_reviews` call it, since whatever is at an address may answer anything.
"""

from typing import TypeVar

import msgspec

from mooring.errors import KubeError

Answer = TypeVar("Answer")


def decoded(body: bytes | msgspec.Raw, kind: type[Answer], path: str) -> Answer:
    """A response, or an object of one.

    Raises:
        KubeError: it is something else.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise KubeError(
            f"The response to {path} is not what Kubernetes answers: {error}."
        ) from error
