"""Every exception mooring raises on purpose.

    MooringError
    ├── InputError           the user's file, option or object is wrong (exit code 2)
    │   ├── PolicyFileError  a policy cannot be loaded
    │   └── QuantityError    a text is no Kubernetes quantity
    ├── PolicyError          a policy's function raised or returned something illegal
    ├── PluginError          a plugin failed while a pod was being scheduled
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
    """Base of all errors mooring raises on purpose; its text is one sentence for the user."""


class InputError(MooringError):
    """Something the user wrote is wrong; the text says what, where and what to do."""


class PolicyFileError(InputError):
    """A policy could not be loaded; correct the file or the name and load again.

    Attributes:
        problems: everything that is wrong with it, one sentence each; the text is the first one.
    """

    def __init__(self, message: str, *, problems: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems) or (message,)


class QuantityError(InputError, ValueError):
    """A text is no Kubernetes quantity; write for example ``500m``, ``1.5`` or ``2Gi``."""


class PolicyError(MooringError):
    """A policy's function raised or returned something illegal.

    Attributes:
        function: the function's name.
        node: the node it was asked about, if it was asked about one.
        kind: what makes two failures of the function alike, such as ``KeyError`` or ``returned
            str``; the same for every pod and node.
        pod: the pod it was asked about, as ``namespace/name``; empty if that is not known.
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
    """A plugin failed while a pod was being scheduled; the pod is not scheduled now.

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


class EscapeError(MooringError):
    """A policy or a plugin was interrupted, or raised what would have ended the process."""


class AnswerError(MooringError):
    """A hook returned something illegal; the text begins with "it returned"."""


class NotAvailable(MooringError):  # noqa: N818 - reads as the sentence it is raised with
    """A value was read that this mode of running does not have, such as usage without a cluster."""


class KubeError(MooringError):
    """The API server cannot be used; the text says why and what to check."""


class ConfigError(KubeError, InputError):
    """The kubeconfig or the in-cluster configuration is unusable."""


class ApiError(KubeError):
    """The API server answered with an error status.

    Attributes:
        status: the HTTP status.
        reason: the Kubernetes reason, such as ``NotFound`` or ``Conflict``; may be empty.
    """

    def __init__(self, message: str, *, status: int, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
