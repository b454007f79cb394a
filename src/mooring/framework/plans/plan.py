"""What has to be written, and waited for, before a pod is bound: data that any shell carries out.

A plugin returns a `Plan` from `reserve`; the core hands it on with the `Bind` effect. A shell sends
the writes and waits, on a live cluster or in virtual time; nothing here talks to anybody.

    reserve ──Plan──> core ──Bind──> shell: send the writes, one after the other
                                       │
                                       └─> ready? ── yes ──> pre_bind, then the binding
                                             │ ^                          │
                                  not yet    └─┘   when one of `objects`  │ not bound
                                             │     changes                v
                                             └── never, too late ───────> undo: send those writes;
                                                                          the pod is tried again
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from mooring.framework.verdict import Verdict
from mooring.model.meta import KubeObject
from mooring.state.cluster import Cluster

#: Which object: its class and its key, ``namespace/name``, or the name for kinds in no namespace.
ObjectKey = tuple[type[KubeObject], str]
#: Whether a plan is done: yes, not yet, or a rejection that says why it never will be.
ReadyAnswer = bool | Verdict
#: What is to be written instead: that, nothing any more, or a rejection that says why not.
WriteAnswer: TypeAlias = "Write | Verdict | None"

#: A write that meets a conflict is sent again with what is known then, so often at most.
# parity v1.36.4: client-go/util/retry DefaultRetry
MOST_TRIES: Final = 5
#: What an error says of a plan that took too long, in words that people search for.
TOO_LATE: Final = "context deadline exceeded"


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """One request that changes an object.

    Attributes:
        verb: ``create``, ``patch``, or ``delete``, which has no answer.
        kind: the class of the object.
        key: ``namespace/name``, or the name for cluster-scoped kinds. To create an object, only the
        namespace is used; the name is in the body, which may have a ``generateName`` instead. With
        a subresource or `on_conflict`, the key also needs the name.
        body: the object to create, the patch, or options for deleting. A patch with a
        ``metadata.resourceVersion`` is applied only if the object has not changed since.
        subresource: such as ``status``; empty for the object itself.
        patch_type: ``merge`` for a JSON merge patch, ``strategic`` for a strategic merge patch,
        which can change one entry of a list without knowing the others.
        doing: what it does, for errors, such as "add finalizer to claim default/gpu".
        on_conflict: called with the current object if it has changed or already exists; returns the
        write to send instead, None if nothing is left to do, or a rejection. Without it, a conflict
        is an error.
    """

    verb: Literal["create", "patch", "delete"]
    kind: type[KubeObject]
    key: str
    body: Mapping[str, object] = {}
    subresource: str = ""
    patch_type: Literal["merge", "strategic"] = "merge"
    doing: str = ""
    on_conflict: Callable[[KubeObject], WriteAnswer] | None = None


#: A write, or a function that makes it of what the API server answered the plan's writes before
#: with; None and a rejection mean what they mean in `Write.on_conflict`.
Step = Write | Callable[[tuple[KubeObject, ...]], WriteAnswer]


class WaitingEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A Kubernetes event that says what a pod waits for.

    Attributes:
        reason: its reason, in CamelCase.
        note: its text.
    """

    reason: str
    note: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be done before a pod is bound.

    Its functions read only their arguments and return immediately: they have the time limit of any
    hook, and simulations call them as well.

    Attributes:
        doing: what it does, for errors, such as "binding volumes".
        writes: sent one after the other.
        ready: called with the cluster's state after the writes, and whenever one of `objects`
        changes; without it, the plan is complete when everything is written.
        objects: the objects whose changes trigger `ready`. The pod is always one of them.
        seconds: how long to wait for `ready` after the writes.
        too_late: what an error says when they are over; the default is kube-scheduler's text.
        event: recorded about the pod when the wait for `ready` begins.
        undo: writes that take back what should not stay if the pod is not bound after all, because
        a plan, a hook or the binding itself failed. They are sent one after the other before the
        pod is tried again; those that are functions are called with the answers to `writes`, as far
        as these were sent, and to the undo before. One that fails is logged, and the others
        follow. Nothing is undone when the process ends.
    """

    doing: str = ""
    writes: tuple[Step, ...] = ()
    ready: Callable[[Cluster], ReadyAnswer] | None = None
    objects: tuple[ObjectKey, ...] = ()
    seconds: float = 600.0
    too_late: str = TOO_LATE
    event: WaitingEvent | None = None
    undo: tuple[Step, ...] = ()


class PluginPlan(NamedTuple):
    """A plan, and the name of the plugin that made it."""

    plugin: str
    plan: Plan
