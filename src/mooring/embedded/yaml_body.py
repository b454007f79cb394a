"""YAML that clients send, within limits: a short text must not stand for a huge object.

`request_bodies` and `patch` call it.
"""

from typing import Final

from mooring.embedded.status_errors import bad_request
from mooring.yaml_text import ExcessiveAliasing, YamlProblem, parse

#: No object has more parts; aliases can stand for any number of them.
_MOST_PARTS: Final = 200_000
_TOO_MUCH: Final = "error converting YAML to JSON: yaml: document contains excessive aliasing"


def read_yaml(body: bytes) -> object:
    """A body in YAML as plain data.

    Raises:
        StatusError: it is not YAML, or stands for more than anybody should send.
    """
    try:
        found: object = parse(body.decode())
    except UnicodeDecodeError as error:
        raise bad_request(f"error converting YAML to JSON: {error}") from error
    except ExcessiveAliasing as problem:
        raise bad_request(_TOO_MUCH) from problem
    except YamlProblem as problem:
        raise bad_request(f"error converting YAML to JSON: yaml: {problem}") from problem
    _check_size(found)
    return found


def _check_size(whole: object) -> None:
    """Reject what is small only because its parts are shared."""
    parts = 0
    waiting = [whole]
    while waiting:
        one = waiting.pop()
        parts += 1
        if parts > _MOST_PARTS:
            raise bad_request(_TOO_MUCH)
        if isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
