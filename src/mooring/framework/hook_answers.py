"""What a hook's answer means, and whether it is legal at all.

A plugin may return anything. The runtime, the rules of a policy and who carries out bindings pass
every answer through here, so that nothing illegal reaches the state, the API server or the text of
an event. What is illegal becomes an `AnswerError`, which the caller turns into one that names the
plugin; texts of others are cut to a length that people read.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Final

import msgspec
import numpy as np

from mooring.errors import AnswerError
from mooring.framework import foreign
from mooring.framework.binding import Binding
from mooring.framework.hook import SKIP, PreFilterAnswer, Wait
from mooring.framework.verdict import ACCEPT, Verdict, Verdicts

#: Reasons go into events and conditions; what is longer is cut.
_MOST_REASON: Final = 1024
#: A verdict has at most so many reasons; further ones are left out.
_MOST_REASONS: Final = 100
_MOST_SHOWN: Final = 80
#: A key by which pods are sorted has at most so many parts that count.
_MOST_NUMBERS: Final = 100
#: The classes of truth values and of numbers, from which no foreign class can inherit unseen.
_FLAGS: Final = frozenset({bool, np.bool_})
_NUMBERS: Final = (int, float, np.integer, np.floating)


def is_yes(answer: object) -> bool | None:
    """Whether an answer accepts; None if it is neither a yes nor a no."""
    if answer is None:
        return True
    if isinstance(answer, Verdict):
        flag: object = answer.accepted
        return flag if type(flag) is bool else legal_verdict(answer).accepted
    if isinstance(answer, (bool, np.bool_)):
        return bool(answer)
    return False if isinstance(answer, str) else None


def rejection(answer: object, default: str, *, unresolvable: bool = False) -> Verdict:
    """The verdict of an answer that does not accept; the default is the reason of a bare no."""
    note = ""
    if isinstance(answer, Verdict):
        verdict = legal_verdict(answer)
        if verdict.reason and not (verdict.also or verdict.error or unresolvable):
            return verdict
        unresolvable = unresolvable or verdict.unresolvable
        answer, note = verdict.reason, verdict.note
    reason = shortened(answer) if isinstance(answer, str) and answer else default
    return Verdict(accepted=False, reason=reason, unresolvable=unresolvable, note=note)


def one_verdict(answer: object, name: str) -> Verdict:
    """The verdict that an answer about one thing means.

    Raises:
        AnswerError: it means none.
    """
    if answer is None or answer is True or answer is ACCEPT:
        return ACCEPT
    return foreign.call(_one_verdict, answer, name)


def _one_verdict(answer: object, name: str) -> Verdict:
    if isinstance(answer, Verdict):
        return legal_verdict(answer)
    yes = is_yes(answer)
    if yes is None:
        raise AnswerError(
            f"it returned {shown(answer)}; it must return a Verdict, a bool, None or a reason"
        )
    return ACCEPT if yes else rejection(answer, f"rejected by {name}")


def legal_verdict(verdict: Verdict) -> Verdict:
    """A verdict that a plugin made, with plain parts and reasons that can be shown.

    Raises:
        AnswerError: its flags are no truth values, or its reasons and note no texts.
    """
    if _is_plain(verdict):
        return verdict
    flags = (verdict.accepted, verdict.unresolvable, verdict.error)
    if not _FLAGS.issuperset(map(type, flags)):
        raise AnswerError(
            "it returned a Verdict with a value that is not a bool; accepted, unresolvable and "
            "error must be True or False"
        )
    said: tuple[object, ...] = (
        verdict.note,
        verdict.reason,
        *islice(verdict.also, _MOST_REASONS),
    )
    texts = [one for one in said if isinstance(one, str)]
    if len(texts) < len(said):
        raise AnswerError(
            f"it returned {shown(verdict)}; the reasons and the note of a Verdict must be strings"
        )
    note, reason, *also = map(shortened, texts)
    accepted, unresolvable, error = map(bool, flags)
    return Verdict(accepted, reason, unresolvable, tuple(also), error, note)


def _is_plain(verdict: Verdict) -> bool:
    """Whether it is as most are: of one short reason, no note. There may be one for each node."""
    flags: tuple[object, ...] = (verdict.accepted, verdict.unresolvable, verdict.error)
    reason: object = verdict.reason
    also: object = verdict.also
    note: object = verdict.note
    return (
        type(verdict) is Verdict
        and type(flags[0]) is type(flags[1]) is type(flags[2]) is bool
        and type(also) is tuple
        and not also
        and type(note) is str
        and not note
        and type(reason) is str
        and len(reason) <= _MOST_REASON
        and reason.isascii()
    )


def legal_verdicts(answers: Verdicts) -> Verdicts:
    """Verdicts that a plugin made, with nothing in them that breaks what follows.

    Raises:
        AnswerError: something would.
    """
    given: object = answers.choice
    choice = np.asarray(given) if isinstance(given, np.ndarray) else None
    table: list[object] = list(answers.table)
    verdicts = [legal_verdict(one) for one in table if isinstance(one, Verdict)]
    legal = (
        choice is not None
        and choice.ndim == 1
        and choice.dtype.kind in "iu"
        and 0 < len(verdicts) == len(table)
        and (not len(choice) or (choice.min() >= 0 and choice.max() < len(table)))
        and [one.accepted for one in verdicts] == [True] + [False] * (len(table) - 1)
    )
    if choice is None or not legal:
        raise AnswerError(
            "it returned invalid Verdicts: choice must hold an index into table for each node, "
            "and only the first verdict in table accepts"
        )
    return Verdicts(choice, tuple(verdicts))


def legal_pre_filter(answer: object) -> PreFilterAnswer:
    """What `pre_filter` returned.

    Raises:
        AnswerError: it is none of what it may return.
    """
    if answer is None or answer is SKIP:
        return None if answer is None else SKIP
    if isinstance(answer, Verdict):
        return legal_verdict(answer)
    if isinstance(answer, Collection) and not isinstance(answer, (str, bytes)):
        names = tuple(answer)  # it is foreign, and is looked at here alone
        if all(isinstance(one, str) for one in names):
            return frozenset(map(foreign.plain, names))
    raise AnswerError(
        f"it returned {shown(answer)}; it must return None, SKIP, a Verdict or names of nodes"
    )


def legal_wait(wait: Wait) -> float:
    """For how many seconds `permit` lets a pod wait; less than none is none.

    Raises:
        AnswerError: it is no number.
    """
    given: object = wait.seconds
    seconds = float(wait.seconds) if issubclass(type(given), _NUMBERS) else math.nan
    if math.isnan(seconds):
        raise AnswerError(f"it returned Wait({shown(given)}); it must be a number of seconds")
    return max(seconds, 0.0)


def legal_pre_bind_check(answer: object) -> None:
    """Look at what `pre_bind_check` returned instead of `SKIP`.

    Raises:
        AnswerError: it is not None.
    """
    # parity v1.36.4: framework/runtime/framework.go RunPreBindPreFlights
    if answer is not None:
        raise AnswerError(f"it returned {shown(answer)}; it must return None or SKIP")


def legal_binding(binding: Binding, answer: object, name: str) -> Binding | Verdict:
    """What a hook before a binding returned: the binding to make, or a rejection.

    Raises:
        AnswerError: it is neither.
    """
    if isinstance(answer, Verdict) and not answer and answer.reason:
        return legal_verdict(answer)
    yes = is_yes(answer)
    if yes is not None:
        # A rejection without a reason would look like success to kube-scheduler.
        return binding if yes else rejection(answer, f"rejected by {name}")
    if not isinstance(answer, Binding):
        raise AnswerError(
            f"it returned {shown(answer)}; it must return None, the binding or a rejection"
        )
    same = (answer.key, answer.uid, answer.node_name) == (
        binding.key,
        binding.uid,
        binding.node_name,
    )
    annotations: object = answer.annotations
    texts = isinstance(annotations, Mapping) and all(
        isinstance(text, str) for pair in annotations.items() for text in pair
    )
    if not same or not texts:
        what = "another pod or node" if not same else "annotations that are not strings"
        raise AnswerError(f"it returned a binding with {what}; it may only add annotations")
    plain = {foreign.plain(key): foreign.plain(text) for key, text in answer.annotations.items()}
    if plain == binding.annotations:
        return binding
    # Whatever else it has is not looked at: the pod and the node are those that were given.
    return msgspec.structs.replace(binding, annotations=plain)


def legal_sort_key(key: object) -> tuple[float, ...]:
    """What `sort_key` returned, made sure that any two can be compared.

    Raises:
        AnswerError: that is not possible.
    """
    if not isinstance(key, Iterable):
        raise AnswerError(f"it returned {shown(key)}; it must return a tuple of numbers")
    numbers = tuple(map(float, islice(key, _MOST_NUMBERS)))
    if any(map(math.isnan, numbers)):
        raise AnswerError(f"it returned {shown(key)}, which contains something other than a number")
    return numbers


#: What a signature is made of, and how deep.
_PLAIN_TYPES: Final = frozenset({str, bytes, int, float, bool, type(None)})
_MOST_DEEP: Final = 8


def shown(value: object) -> str:
    """Somebody else's value in a message, in few words."""
    text = foreign.text_of(value, repr)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."


def shortened(text: str) -> str:
    """Somebody else's text, no longer than people read, and one that can be sent."""
    text = foreign.plain(text)
    return text if len(text) <= _MOST_REASON else f"{text[:_MOST_REASON]}..."


def legal_signature(signature: object, deep: int = _MOST_DEEP) -> None:
    """Make sure that a signature is a plain value: comparing it runs no foreign code.

    Raises:
        AnswerError: it is not.
    """
    kind = type(signature)
    if kind in _PLAIN_TYPES:
        return
    if kind not in (tuple, frozenset) or not deep:
        raise AnswerError(
            f"it returned {shown(signature)}; a signature is made of text, bytes, numbers, None, "
            "tuples and frozensets"
        )
    for one in signature:  # type: ignore[attr-defined]
        legal_signature(one, deep - 1)
