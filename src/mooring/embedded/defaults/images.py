"""When a container's image is pulled if nobody says so.

`pod` and `volumes` call it.
"""

import functools
import re
from typing import Final

_LABEL: Final = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST: Final = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_COMPONENT: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_DIGEST: Final = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
# parity: github.com/distribution/reference, as far as it decides between tag, digest and nonsense
_IMAGE: Final = re.compile(
    rf"(?:{_HOST}/)?{_COMPONENT}(?:/{_COMPONENT})*(?::(?P<tag>\w[\w.-]{{0,127}}))?"
    rf"(?:@(?P<digest>{_DIGEST}))?",
    re.ASCII,
)


@functools.lru_cache(maxsize=4096)
def pull_policy(image: str) -> str:
    """``Always`` for the tag ``latest``, said or meant, otherwise ``IfNotPresent``."""
    # parity v1.36.4: pkg/apis/core/v1/defaults.go SetDefaults_Container
    match = _IMAGE.fullmatch(image)
    if match is None:
        return "IfNotPresent"
    tag = match["tag"] or ("" if match["digest"] else "latest")
    return "Always" if tag == "latest" else "IfNotPresent"
