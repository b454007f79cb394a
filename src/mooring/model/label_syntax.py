"""The syntax of label keys and values, as Kubernetes validates them; resource names share it.

Called where selectors, configurations and arguments of plugins are checked, and where resource
names are told apart.
"""

import re
from typing import Final

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_DNS_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_MAX_NAME: Final = 63
_MAX_SUBDOMAIN: Final = 253


def is_label_key(text: str) -> bool:
    """Whether a text is a name with an optional DNS prefix, such as ``example.com/rack``."""
    # parity v1.36.4: apimachinery/pkg/api/validate/content/kube.go IsLabelKey
    prefix, slash, name = text.rpartition("/")
    if slash and not (len(prefix) <= _MAX_SUBDOMAIN and _SUBDOMAIN.fullmatch(prefix)):
        return False
    return len(name) <= _MAX_NAME and _NAME.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """Whether a text can be the value of a label; an empty one can."""
    return not text or (len(text) <= _MAX_NAME and _NAME.fullmatch(text) is not None)
