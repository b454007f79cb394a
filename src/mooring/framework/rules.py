"""Rules: a policy's functions, called and checked.

A rule calls one function for the nodes of one question and turns what it returned into verdicts,
scores or victims. Whatever is illegal becomes a `PolicyError` that names the function and the node.
Called by `policy_calls`; must never decide anything itself.
"""

import inspect
from collections.abc import Callable, Sequence
from itertools import islice, repeat
from typing import Any, NoReturn, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from mooring.errors import AnswerError, EscapeError, PolicyError
from mooring.framework import foreign
from mooring.framework.arrays import Floats
from mooring.framework.binding import Binding
from mooring.framework.hook_answers import is_yes, legal_binding, rejection, shown
from mooring.framework.interruptions import why_interrupted
from mooring.framework.nodes import Nodes
from mooring.framework.verdict import ACCEPT, Verdict, Verdicts
from mooring.model.node import Node
from mooring.model.pod import Pod

T = TypeVar("T")

#: The kinds of array elements that are numbers: signed, unsigned, floating, truth values.
_NUMBERS = "iufb"
#: Scores are often quotients; so much beside the range, relative to it, is rounding.
_ROUNDING = 1e-9


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One function of a policy.

    Attributes:
        kind: which decorator or hook it came through, such as ``filter`` or ``score_nodes``.
        name: the name in routes, logs and metrics.
        function: what is called.
        doc: the first line of the function's docstring.
    """

    kind: str
    name: str
    function: Callable[..., Any]
    doc: str = ""

    @property
    def plural(self) -> bool:
        """Whether it decides all nodes at once."""
        return self.kind.endswith("_nodes")

    def ask_each(self, pod: Pod, nodes: Sequence[Node]) -> list[Any]:
        """Call the function for one node after the other."""
        answers: list[Any] = []
        try:
            foreign.call(answers.extend, map(self.function, repeat(pod), nodes))
        except Exception as error:  # noqa: BLE001 - a policy may raise anything
            self.fail(error, nodes[len(answers)].name, (len(answers) + 1, len(nodes)))
        if len(answers) < len(nodes):  # `map` takes a function's StopIteration for the end
            self.fail(StopIteration(), nodes[len(answers)].name)
        return answers

    def look(
        self,
        check: Callable[..., T],
        *args: Any,
        kind: str = "returned something invalid",
        node: str | None = None,
    ) -> T:
        """Check an answer, which may be foreign code itself: an iterator, a property, an array.

        Args:
            check: called with `args`.
            args: the answer, and whatever else is needed.
            kind: what an illegal one is called; see `wrong`.
            node: the node that the answer is about, if it is one.

        Raises:
            PolicyError: it is illegal, or cannot be looked at.
        """
        try:
            return foreign.call(check, *args)
        except Exception as error:
            # Ours are sentences; one of the answer's own kind is foreign code like itself.
            ours = foreign.tell(error).error is error
            if ours and type(error) is AnswerError:
                what = str(error).removeprefix("it ")
                raise self.wrong(what, kind, node) from None
            if ours and type(error) is PolicyError:
                raise
            self.fail(error)

    def fail(
        self, error: Exception, node: str | None = None, asked: tuple[int, int] = (1, 1)
    ) -> NoReturn:
        """Report that the function raised, or was interrupted.

        Args:
            error: what came out of it.
            node: the node it was asked about, if it was one.
            asked: the number of this node, and how many nodes there are.
        """
        where = f" on node {node}" if node else ""
        told = foreign.tell(error)
        failed = f"failed{where}: {told.text}"
        if why := why_interrupted(told.text):
            # All calls of one decision have one limit: this one need not have taken long.
            many = f" (it was called for {asked[0]} of {asked[1]} nodes)" if asked[1] > 1 else ""
            failed = f"was interrupted{where}: {why}{many}"
        raise PolicyError(
            f"{self.kind} {self.name!r} {failed}",
            function=self.name, node=node, kind=_raised(error),
        ) from told.error  # fmt: skip

    def wrong(self, what: str, kind: str, node: str | None = None) -> PolicyError:
        """The function returned something illegal.

        Args:
            what: what it did, for people.
            kind: the same in words that do not depend on pods, nodes and values.
            node: for which node.
        """
        text = f"{self.kind} {self.name!r} {what}"
        return PolicyError(text, function=self.name, node=node, kind=kind)


class FilterRule(Rule, frozen=True, kw_only=True):
    """A filter; `reason` is used if the function only returns False, `pure` as for a score."""

    reason: str = ""
    unresolvable: bool = False
    pure: bool = False

    def rejections(self, pod: Pod, nodes: Sequence[Node]) -> list[tuple[int, Verdict]]:
        """The rejected nodes by their position, each with its verdict."""
        if self.plural:
            return self._rejections_at_once(pod, nodes)
        return self.look(self._rejected, self.ask_each(pod, nodes), nodes)

    def _rejections_at_once(self, pod: Pod, nodes: Sequence[Node]) -> list[tuple[int, Verdict]]:
        try:
            every = nodes if isinstance(nodes, Nodes) else Nodes(nodes)
            answers = foreign.call(self.function, pod, every)
        except Exception as error:  # noqa: BLE001 - a policy may raise anything
            self.fail(error)
        return self.look(self.checked, answers, nodes)

    def checked(self, answers: object, nodes: Sequence[Node]) -> list[tuple[int, Verdict]]:
        """The rejected nodes among what a plural function returned; None accepts all of them."""
        if answers is None:
            return []
        if isinstance(answers, Verdicts):
            answers = list(answers)
        if isinstance(answers, np.ndarray):
            answers = np.asarray(answers)  # it may be of a class of its own, which computes
            if answers.shape != (len(nodes),) or answers.dtype != np.bool_:
                raise self.wrong(
                    f"returned an array of shape {answers.shape} and type {answers.dtype}; "
                    f"it must be one bool for each of the {len(nodes)} nodes",
                    "returned an array",
                )
            no = self._verdict(False, None)
            return [(int(index), no) for index in np.flatnonzero(~answers)]
        if isinstance(answers, str) or not isinstance(answers, Sequence):
            raise self.wrong(
                f"returned {shown(answers)}; "
                f"it must return a mask, one answer for each node, or None",
                _returned(answers),
            )
        if len(answers) != len(nodes):
            what = f"returned {len(answers)} answers for {len(nodes)} nodes"
            raise self.wrong(what, "returned a wrong number")
        listed = list(islice(answers, len(nodes)))
        if len(listed) < len(nodes):
            what = f"returned {len(listed)} answers for {len(nodes)} nodes"
            raise self.wrong(what, "returned a wrong number")
        return self._rejected(listed, nodes)

    def _rejected(
        self, answers: Sequence[object], nodes: Sequence[Node]
    ) -> list[tuple[int, Verdict]]:
        found = []
        seen: dict[object, Verdict] = {}  # many nodes are rejected for few reasons
        for index in [i for i, answer in enumerate(answers) if answer is not True]:
            answer = answers[index]
            plain = answer is False or answer.__class__ is str
            known = seen.get(answer) if plain else None
            if known is None:
                known = self._verdict(answer, nodes[index])
                if plain:
                    seen[answer] = known
            if not known.accepted:
                found.append((index, known))
        return found

    def _verdict(self, answer: object, node: Node | None) -> Verdict:
        yes = is_yes(answer)
        if yes:
            return ACCEPT
        if yes is not None:
            default = self.reason or f"rejected by {self.name}"
            return rejection(answer, default, unresolvable=self.unresolvable)
        name = node.name if node is not None else None
        raise self.wrong(
            f"returned {shown(answer)} for node {name}; "
            f"it must return a Verdict, a bool, None or a reason",
            _returned(answer),
            name,
        )


class ScoreRule(Rule, frozen=True, kw_only=True):
    """A score; `max_score` is the function's best number, `weight` how much it counts.

    `pure` says that the function reads nothing but its arguments.
    """

    weight: float = 1
    max_score: float = 100
    pure: bool = False

    def scores(self, pod: Pod, nodes: Sequence[Node]) -> Floats:
        """The nodes' scores, each from 0 to 100, in order."""
        if not self.plural:
            return self.look(self.checked, self.ask_each(pod, nodes), nodes)
        try:
            every = nodes if isinstance(nodes, Nodes) else Nodes(nodes)
            values = foreign.call(self.function, pod, every)
        except Exception as error:  # noqa: BLE001 - a policy may raise anything
            self.fail(error)
        return self.look(self.checked, values, nodes)

    def checked(self, values: Any, nodes: Sequence[Node]) -> Floats:
        """The scores among what a function returned, each from 0 to 100."""
        if isinstance(values, np.ndarray):
            found = np.asarray(values)  # it may be of a class of its own, which computes
            shape = found.shape
            if found.dtype.kind not in _NUMBERS:
                what = f"returned an array of type {found.dtype}; it must hold numbers"
                raise self.wrong(what, "returned an array")
        elif isinstance(values, Sequence) and not isinstance(values, str):
            found, shape = _array(values), (len(values),)
        else:
            what = f"returned {shown(values)}; it must return one number for each node"
            raise self.wrong(what, _returned(values))
        if shape != (len(nodes),):
            raise self.wrong(
                f"returned numbers of shape {shape} for {len(nodes)} nodes; "
                f"it must return one number for each node",
                "returned a wrong number",
            )
        if found.dtype.kind not in _NUMBERS or found.ndim != 1:
            self._find_wrong(values, nodes)
        scores = found.astype(np.float64)
        # One comparison finds NaN as well: it is in no range.
        if scores.size and not (scores.min() >= 0 and scores.max() <= self.max_score):
            self._find_wrong(scores, nodes)
            scores = scores.clip(0, self.max_score)
        return scores if self.max_score == 100 else scores * (100 / self.max_score)

    def _find_wrong(self, values: Sequence[Any] | Floats, nodes: Sequence[Node]) -> None:
        slack = self.max_score * _ROUNDING
        for node, value in zip(nodes, values, strict=True):
            number = isinstance(value, (int, float, np.integer, np.floating, np.bool_))
            if not number or not -slack <= value <= self.max_score + slack:
                what = _shown_number(value) if number else shown(value)
                kind = "returned nan" if what == "nan" else "returned a number out of range"
                raise self.wrong(
                    f"returned {what} for node {node.name}; "
                    f"it must return a number from 0 to {self.max_score:g}",
                    kind if number else _returned(value),
                    node.name,
                )


class PreemptRule(Rule, frozen=True, kw_only=True):
    """A say in preemption."""

    def remaining(self, pod: Pod, node: Node, victims: Sequence[Pod]) -> Sequence[Pod]:
        """The victims that remain on a node; none if the node is dropped."""
        try:
            answer = foreign.call(self.function, pod, node, victims)
        except Exception as error:  # noqa: BLE001 - a policy may raise anything
            self.fail(error, node.name)
        return self.look(self._kept, answer, node, victims)

    def _kept(self, answer: object, node: Node, victims: Sequence[Pod]) -> Sequence[Pod]:
        yes = is_yes(answer)
        if yes is not None:
            return victims if yes else ()
        if not isinstance(answer, Sequence) or not all(isinstance(one, Pod) for one in answer):
            raise self.wrong(
                f"returned {shown(answer)} for node {node.name}; it must return a Verdict, a bool, "
                f"None, a reason or the victims that remain",
                _returned(answer),
                node.name,
            )
        known = {id(victim) for victim in victims}
        invented = [one.key for one in answer if id(one) not in known]
        if invented:
            raise self.wrong(
                (
                    f"named {invented[0]} on node {node.name}, which is not one of the victims; it "
                    "may remove victims, but not add any"
                ),
                "named others",
                node.name,
            )
        kept = {id(one) for one in answer}
        return [victim for victim in victims if id(victim) in kept]


class BindRule(Rule, frozen=True, kw_only=True):
    """What is done before a pod is bound."""

    @property
    def is_async(self) -> bool:
        """Whether the function waits for the outside world."""
        return inspect.iscoroutinefunction(self.function)

    def prepare(self, binding: Binding) -> Binding | Verdict:
        """Call a plain function: the binding to make, or a rejection."""
        try:
            answer = foreign.call(self.function, binding)
        except Exception as error:  # noqa: BLE001 - a policy may raise anything
            self.fail(error, binding.node_name)
        return self._checked(binding, answer)

    async def prepare_async(self, binding: Binding) -> Binding | Verdict:
        """Call an ``async`` function: the binding to make, or a rejection."""
        try:
            answer = await foreign.wait(self.function, binding)
        except Exception as error:  # noqa: BLE001 - a policy may raise anything
            self.fail(error, binding.node_name)
        return self._checked(binding, answer)

    def _checked(self, binding: Binding, answer: object) -> Binding | Verdict:
        kind = _returned(answer)
        return self.look(
            legal_binding, binding, answer, self.name, kind=kind, node=binding.node_name
        )


def _raised(error: BaseException) -> str:
    """The class of what a function raised; it may be in the cause of one of ours."""
    cause = error.__cause__ if type(error) is EscapeError else None
    return foreign.class_name(type(error if cause is None else cause))


def _returned(answer: object) -> str:
    return f"returned {foreign.class_name(type(answer))}"


def _array(values: Sequence[Any]) -> npt.NDArray[Any]:
    try:
        return np.array(values)
    except (ValueError, OverflowError):  # of several shapes, or beyond all numbers
        return np.array(values, dtype=object)


def _shown_number(value: float) -> str:
    try:
        return f"{float(value):g}"
    except OverflowError:
        return "a number that is too large for a float"
