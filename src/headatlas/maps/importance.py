"""Which variable of a map says how important a head is, and how to read it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headatlas.errors import MapError

if TYPE_CHECKING:
    from headatlas.maps.map import Map


@dataclass(frozen=True)
class Importance:
    """A variable that ranks heads: the sign that makes larger mean more important, what the ranked
    score is, and what helps if no head is significant."""

    variable: str
    sign: int
    label: str
    advice: str


ATTENTION = {
    "induction": "attention to what followed earlier occurrences of a token",
    "previous_token": "attention to the previous token",
    "duplicate_token": "attention to earlier occurrences of a token",
    "first_token": "attention to the first token",
    "target_token": "attention to the target's first token in the prompt",
    "entropy": "entropy of attention (nats)",
}
"""Scores of attention patterns; a map has all and is ranked by the one that its settings name."""

IMPORTANCE = (
    Importance("facilitation", 1, "mean facilitation over seeds", "use more seeds"),
    Importance("importance", 1, "mean importance over seeds", "use more examples"),
    Importance("indirect_effect", 1, "indirect effect", "use more examples"),
    Importance("effect", -1, "fall when removed", "use more examples"),
    Importance("direct_logit", 1, "direct effect on the target's logit", "use more examples"),
    *(Importance(name, 1, label, "use more examples") for name, label in ATTENTION.items()),
    Importance("gate", -1, "1 − mean gate over seeds", "use more seeds"),
)
"""The first whose variable a map has ranks its heads, unless its settings name a `score`."""


def ranks_heads(head_map: Map) -> bool:
    """Whether a map says how important heads are."""
    return any(importance.variable in head_map.variables for importance in IMPORTANCE)


def importance_of(head_map: Map) -> Importance:
    """What ranks the heads of a map."""
    named = dict(head_map.provenance.get("settings", {})).get("score")
    for importance in sorted(IMPORTANCE, key=lambda one: one.variable != named):
        if importance.variable in head_map.variables:
            return _with_measure(importance, head_map)
    have = ", ".join(head_map.variables)
    raise MapError(f"this map says nothing about the importance of heads: it has {have}.")


_FALL = {
    "logprob": "fall of log P when removed (nats per token)",
    "difference": "fall of the log P difference when removed (nats)",
    "probability": "fall of P(target) when removed",
    "accuracy": "fall of accuracy when removed",
}
_DIRECT = {
    "logit": "direct effect on the target's logit, above the mean logit",
    "difference": "direct effect on the target's logit, above those of other answers",
}
_CARRIED = {
    "logprob": "indirect effect on log P (nats per token)",
    "difference": "indirect effect on the log P difference (nats)",
    "probability": "indirect effect on P(target)",
    "accuracy": "indirect effect on accuracy",
}


def _with_measure(importance: Importance, head_map: Map) -> Importance:
    """Say what an effect is an effect on, and of what."""
    all_labels = {"effect": _FALL, "indirect_effect": _CARRIED, "direct_logit": _DIRECT}
    labels = all_labels.get(importance.variable)
    if labels is None:
        return importance
    facts = head_map.provenance
    measure = dict(facts.get("settings", {})).get("measure", "logprob")
    label = labels.get(str(measure), importance.label)
    if importance.variable == "effect" and facts.get("method") == "patching":
        label = label.replace("when removed", "when corrupted")
    if facts.get("method") == "knockout":
        return replace(importance, label=label, advice="use more examples or more evaluations")
    if facts.get("method") == "attribution":
        steps = int(dict(facts.get("settings", {})).get("steps", 1))
        if steps > 1:
            label = f"share of the {label.replace('when removed', 'when all heads are removed')}"
        else:
            label = f"estimated {label}"
    return replace(importance, label=label)
