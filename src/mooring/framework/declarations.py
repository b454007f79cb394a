"""What a plugin declares about itself, read and checked.

The declarations are attributes of `hook.Hook`. They may be foreign, so everybody reads them here:
who makes a plugin checks them all at once, who asks its filters or watches objects for it reads one
of them. Nothing here asks a plugin about a pod.
"""

from itertools import islice
from typing import Any, Final

from mooring.errors import InputError
from mooring.framework import foreign
from mooring.framework.cluster_events import hints_of
from mooring.framework.hook import Hook, Requeues
from mooring.framework.hook_answers import shown
from mooring.framework.scope import Scope
from mooring.model.kinds import KINDS
from mooring.model.meta import KubeObject

_FILTER: Final = "filter_scope"
_SCORE: Final = "score_scope"
_READS: Final = "reads"
_READS_IF_WATCHED: Final = "reads_if_watched"
_SCOPES: Final = ", ".join(f"hook.Scope.{one.name}" for one in Scope)
_KINDS: Final = ", ".join(one.name for one in KINDS)
#: Longer lists of kinds are cut: no plugin reads one kind twice.
_MOST_KINDS: Final = 100


def check_declarations(plugin: Hook) -> None:
    """Make sure that everything a plugin declares about itself can be used.

    Raises:
        InputError: something cannot.
    """
    filter_scope(plugin)
    score_scope(plugin)
    _declared_kinds(plugin, _READS)
    kinds_if_watched(plugin)
    kinds_to_patch(plugin)
    kinds_to_create(plugin)


def filter_scope(plugin: Hook) -> Scope:
    """What the plugin's filter depends on.

    Raises:
        InputError: it is no `Scope`.
    """
    return _scope(plugin, _FILTER)


def score_scope(plugin: Hook) -> Scope:
    """What the plugin's score depends on.

    Raises:
        InputError: it is no `Scope`.
    """
    return _scope(plugin, _SCORE)


def kinds_to_watch(plugin: Hook) -> set[type[KubeObject]]:
    """The kinds of objects that are watched for a plugin.

    Raises:
        InputError: the plugin names something else.
    """
    declared = _declared_kinds(plugin, _READS)
    if declared is not None:
        return declared
    return {hint.kind for hint in hints_of(plugin)} if isinstance(plugin, Requeues) else set()


def kinds_if_watched(plugin: Hook) -> set[type[KubeObject]]:
    """The kinds of objects that a plugin reads if somebody else has them watched.

    Raises:
        InputError: the plugin names something else.
    """
    return _declared_kinds(plugin, _READS_IF_WATCHED) or set()


def kinds_to_patch(plugin: Hook) -> set[type[KubeObject]]:
    """The kinds of objects that a plugin's plans patch.

    Raises:
        InputError: the plugin names something else.
    """
    return _declared_kinds(plugin, "patches") or set()


def kinds_to_create(plugin: Hook) -> set[type[KubeObject]]:
    """The kinds of objects that a plugin's plans create.

    Raises:
        InputError: the plugin names something else.
    """
    return _declared_kinds(plugin, "creates") or set()


def _scope(plugin: Hook, declaration: str) -> Scope:
    said = _read(plugin, declaration)
    if type(said) is Scope:
        return said
    raise _wrong(plugin, declaration, f"is {shown(said)}: use one of {_SCOPES}")


def _declared_kinds(plugin: Hook, declaration: str) -> set[type[KubeObject]] | None:
    said = _read(plugin, declaration)
    if said is None and declaration == _READS:
        return None
    try:
        given = foreign.call(_first, said)
    except Exception as error:
        what = f"is {shown(said)}: must be a tuple of classes such as StorageClass"
        raise _wrong(plugin, declaration, what) from error
    known = {id(one.type): one.type for one in KINDS}
    for one in given:
        if id(one) not in known:
            # Its class counts, and not what it says its class is.
            what = foreign.class_name(one) if issubclass(type(one), type) else shown(one)  # type: ignore[arg-type]
            raise _wrong(plugin, declaration, f"names {what}: mooring watches {_KINDS}")
    return {known[id(one)] for one in given}


def _first(kinds: Any) -> list[object]:
    listed = iter(kinds)
    if listed is kinds:
        raise TypeError("it can be read only once")  # and who watches reads it after who checks
    return list(islice(listed, _MOST_KINDS))


def _read(plugin: Hook, declaration: str) -> object:
    try:
        return foreign.call(getattr, plugin, declaration)
    except Exception as error:
        said = " ".join(foreign.tell(error).text.split())
        raise _wrong(plugin, declaration, f"cannot be read: {said}") from error


def _wrong(plugin: Hook, declaration: str, what: str) -> InputError:
    name = plugin.name or foreign.class_name(type(plugin))
    return InputError(f"{declaration} of plugin {name} {what}")
