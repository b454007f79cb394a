"""Whether a plan that a plugin made is legal, and whether the answers of its functions are.

Whatever is wrong with a plan is found when it is made, in `reserve`, and not when half of it is
written. Called by `binding_hooks` and by who carries out plans, through the border to foreign code;
what is illegal becomes an `AnswerError`, which the caller turns into one that names the plugin.
"""

import json
import math
import re
from typing import Final, cast

import msgspec

from mooring.errors import AnswerError
from mooring.framework import foreign
from mooring.framework.hook_answers import is_yes, legal_verdict, rejection, shortened, shown
from mooring.framework.plans.plan import ObjectKey, Plan, Step, WaitingEvent, Write
from mooring.framework.verdict import Verdict
from mooring.model.kinds import BY_NAME

#: A plan has at most so many writes, and waits for changes of so many objects.
MOST_WRITES: Final = 1000
MOST_OBJECTS: Final = 1000
#: No plan is waited for longer, in seconds: three years.
_LONGEST: Final = 1e8
_VERBS: Final = ("create", "patch", "delete")
_PATCH_TYPES: Final = ("merge", "strategic")
#: What the API server takes as the reason of an event, in the form that Kubernetes' own have.
_REASON: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,127}")
_NUMBERS: Final = (int, float)


def legal_plan(plan: Plan) -> Plan:
    """A plan that a plugin made, with plain parts.

    Raises:
        AnswerError: it is none.
    """
    objects: object = plan.objects
    ready: object = plan.ready
    writes, undo = _legal_steps(plan.writes, "writes"), _legal_steps(plan.undo, "undo")
    if not (type(objects) is tuple and len(objects) <= MOST_OBJECTS):
        raise AnswerError(
            f"it returned a Plan whose objects must be a tuple of at most {MOST_OBJECTS}"
        )
    if ready is not None and not callable(ready):
        raise AnswerError(f"it returned a Plan with ready={shown(ready)}, which is not a function")
    return Plan(
        doing=_text(plan.doing, "doing"),
        writes=writes,
        ready=plan.ready,
        objects=tuple(_legal_key(one) for one in objects),
        seconds=_legal_seconds(plan.seconds),
        too_late=_text(plan.too_late, "too_late"),
        event=_legal_event(plan.event),
        undo=undo,
    )


def legal_write(answer: object) -> Write | Verdict | None:
    """What a step of a plan, or a write's `on_conflict`, returned.

    Raises:
        AnswerError: it is none of what it may return.
    """
    if answer is None:
        return None
    if type(answer) is Write:
        return _legal_write(answer)
    verdict = _no(answer)
    if verdict is None:
        raise AnswerError(
            f"it returned {shown(answer)}; it must return a Write, None or a rejection"
        )
    return verdict


def legal_ready(answer: object) -> bool | Verdict:
    """What a plan's `ready` returned.

    Raises:
        AnswerError: it is none of what it may return.
    """
    if answer is True or answer is False:
        return answer
    verdict = _no(answer)
    if verdict is None:
        raise AnswerError(f"it returned {shown(answer)}; it must return True, False or a rejection")
    return verdict


def _no(answer: object) -> Verdict | None:
    """The rejection that an answer is; None if it is none."""
    if isinstance(answer, Verdict):
        verdict = legal_verdict(answer)
        return verdict if not verdict.accepted else None
    if is_yes(answer) is False and isinstance(answer, str) and answer:
        return rejection(answer, "")
    return None


def _legal_steps(steps: object, what: str) -> tuple[Step, ...]:
    if not (type(steps) is tuple and len(steps) <= MOST_WRITES):
        raise AnswerError(
            f"it returned a Plan whose {what} must be a tuple of at most {MOST_WRITES}"
        )
    return tuple(_legal_step(one, what) for one in steps)


def _legal_step(step: object, what: str) -> Step:
    if type(step) is Write:
        return _legal_write(step)
    if not callable(step):
        raise AnswerError(
            f"it returned a Plan with {shown(step)} among its {what}; each must be a Write or "
            "a function that returns one"
        )
    return cast("Step", step)


def _legal_event(event: object) -> WaitingEvent | None:
    if event is None:
        return None
    if type(event) is not WaitingEvent:
        raise AnswerError(
            f"it returned a Plan with event={shown(event)}; it must be a WaitingEvent"
        )
    reason, note = _text(event.reason, "reason"), _text(event.note, "note")
    if _REASON.fullmatch(reason) is None:
        raise AnswerError(
            f"it returned a Plan with an event whose reason is {shown(reason)}; it must be in "
            "CamelCase"
        )
    return WaitingEvent(reason=reason, note=note)


def _legal_write(write: Write) -> Write:
    verb: object = write.verb
    if type(verb) is not str or verb not in _VERBS:
        raise AnswerError(
            f"it returned a Write with the verb {shown(verb)}; it must be create, patch or delete"
        )
    patch_type: object = write.patch_type
    if type(patch_type) is not str or patch_type not in _PATCH_TYPES:
        raise AnswerError(
            f"it returned a Write with the patch type {shown(patch_type)}; it must be merge or "
            "strategic"
        )
    on_conflict: object = write.on_conflict
    if on_conflict is not None and not callable(on_conflict):
        raise AnswerError("it returned a Write whose on_conflict is not a function")
    # The API server may name what is created, but then nobody can look at what is there instead.
    named = verb != "create" or write.subresource != "" or on_conflict is not None
    kind, key = _legal_key((write.kind, write.key), named=named)
    return Write(
        verb=write.verb,
        kind=kind,
        key=key,
        body=_legal_body(write.body),
        subresource=_text(write.subresource, "subresource"),
        patch_type=write.patch_type,
        doing=_text(write.doing, "doing"),
        on_conflict=write.on_conflict,
    )


def _legal_key(key: object, *, named: bool = True) -> ObjectKey:
    if type(key) is tuple and len(key) == 2:
        kind, text = key
        if _is_known(kind) and issubclass(type(text), str):
            plain = foreign.plain(text)
            *namespace, name = plain.split("/")
            if len(namespace) == kind.namespaced and all(namespace) and (name or not named):
                return kind, plain
    raise AnswerError(
        f"it returned {shown(key)} for an object; that must be a class of mooring.kinds with the "
        "object's namespace/name, or its name if the kind has no namespaces"
    )


def _is_known(kind: object) -> bool:
    """Whether it is a class of objects that mooring knows; without a question to it."""
    return any(kind is one.type for one in BY_NAME.values())


def _legal_body(body: object) -> dict[str, object]:
    """A copy that nobody else has, of plain parts."""
    try:
        # What is no number would be sent as null, which takes a field away in a patch.
        text = json.dumps(msgspec.to_builtins(body, str_keys=True), allow_nan=False)
        return msgspec.json.decode(text, type=dict[str, object])
    except Exception as error:
        raise AnswerError(
            f"it returned a Write whose body cannot be sent: {shown(body)}"
        ) from error


def _legal_seconds(seconds: object) -> float:
    given = float(cast("float", seconds)) if issubclass(type(seconds), _NUMBERS) else math.nan
    if math.isnan(given):
        raise AnswerError(
            f"it returned a Plan with {shown(seconds)} seconds; it must be a number of seconds"
        )
    return min(max(given, 0.0), _LONGEST)


def _text(text: object, what: str) -> str:
    if not issubclass(type(text), str):
        raise AnswerError(
            f"it returned something whose {what} is {shown(text)}, which is not a string"
        )
    return shortened(cast("str", text))
