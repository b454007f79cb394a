"""The hooks a plugin class can inherit; see `mooring.framework.hook` for each of them."""

from mooring.framework.hook import (
    Bind,
    BindAnswer,
    Filter,
    FilterAnswer,
    FilterAnswers,
    FilterNodes,
    Hook,
    Preempt,
    PreemptAnswer,
    Score,
    ScoreNodes,
)

__all__ = [
    "Bind",
    "BindAnswer",
    "Filter",
    "FilterAnswer",
    "FilterAnswers",
    "FilterNodes",
    "Hook",
    "Preempt",
    "PreemptAnswer",
    "Score",
    "ScoreNodes",
]
