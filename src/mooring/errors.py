"""Every exception mooring raises on purpose.

    MooringError
    ├── InputError           the user's file, option or object is wrong (exit code 2)
    │   ├── PolicyFileError  a policy cannot be loaded
    │   └── QuantityError    a string is not a valid quantity
    ├── PolicyError          a policy's function raised or returned something illegal
    ├── PluginError          a plugin failed while a pod was being scheduled
    ├── AllocationError      devices cannot be allocated because of an error in an object
    ├── EscapeError          foreign code was interrupted, or tried to end the process
    ├── AnswerError          a hook returned something illegal
    ├── NotAvailable         a value was read that this mode of running does not have
    └── KubeError            the API server cannot be used
        ├── ConfigError      kubeconfig or in-cluster configuration is unusable
        └── ApiError         the API server answered with an error status

A "no" from a policy is a `Verdict`, never an exception.
"""

from collections.abc import Iterable


class MooringError(Exception):
    """Base of all errors that mooring raises on purpose; the message is one sentence for users."""


class InputError(MooringError):
    """The user's input is invalid; the message says what is wrong, where, and what to do."""


class PolicyFileError(InputError):
    """A policy could not be loaded; fix the file or the name and load it again.

    Attributes:
        problems: all problems that were found, one sentence each; the message is the first one.
    """

    def __init__(self, message: str, *, problems: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems) or (message,)


class QuantityError(InputError, ValueError):
    """A string is not a valid quantity; use for example ``500m``, ``1.5`` or ``2Gi``."""


class PolicyError(MooringError):
    """A policy's function raised an exception or returned something invalid.

    Attributes:
        function: the function's name.
        node: the node it was called for, if any.
        kind: what identifies failures of the same kind, such as ``KeyError`` or ``returned str``;
            the same for every pod and node.
        pod: the pod it was called for, as ``namespace/name``; empty if unknown.
    """

    def __init__(
        self,
        message: str,
        *,
        function: str,
        node: str | None = None,
        kind: str = "",
        pod: str = "",
    ) -> None:
        super().__init__(message)
        self.function = function
        self.node = node
        self.kind = kind
        self.pod = pod


class PluginError(MooringError):
    """A plugin failed while a pod was being scheduled; the pod is not scheduled in this attempt.

    Attributes:
        plugin: the plugin's name.
        hook: the hook it failed in.
        pod: the pod, as ``namespace/name``.
    """

    def __init__(self, message: str, *, plugin: str, hook: str, pod: str) -> None:
        super().__init__(message)
        self.plugin = plugin
        self.hook = hook
        self.pod = pod


class AllocationError(MooringError):
    """Devices cannot be allocated because something is wrong, not because too few are free.

    Attributes:
        only_this_node: whether other nodes may be fine; otherwise the pod cannot be scheduled.
    """

    def __init__(self, message: str, *, only_this_node: bool = False) -> None:
        super().__init__(message)
        self.only_this_node = only_this_node


class EscapeError(MooringError):
    """A policy or a plugin was interrupted, or raised what would have ended the process."""


class AnswerError(MooringError):
    """A hook returned something illegal; the text begins with "it returned"."""


class NotAvailable(MooringError):  # noqa: N818 - reads as the sentence it is raised with
    """A value was read that is not available in this mode, such as usage without a cluster."""


class KubeError(MooringError):
    """The API server cannot be used; the message says why and what to check."""


class ConfigError(KubeError, InputError):
    """The kubeconfig or the in-cluster configuration is unusable."""


class ApiError(KubeError):
    """The API server returned an error status.

    Attributes:
        status: the HTTP status.
        reason: the Kubernetes reason, such as ``NotFound`` or ``Conflict``; may be empty.
        said: the API server's own words; empty if it sent none.
    """

    def __init__(self, message: str, *, status: int, reason: str = "", said: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.said = said
