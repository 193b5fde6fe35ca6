"""The most important heads of a map, with intervals and p-values corrected for all heads.

| map | ranked by | interval of the score | p-value |
|---|---|---|---|
| ablation | fall of log P when the head is removed | over questions and seeds | t-test, Holm |
| patching | indirect effect | over questions and seeds | t-test, Holm |
| attribution | estimated fall of log P | over questions and seeds | t-test, Holm |
| writes | direct effect on the target's logit | over questions and seeds | t-test, Holm |
| attention | the score that its settings name | over questions and seeds | t-test, Holm |
| gating | mean facilitation over seeds | over seeds | consistency over seeds |
| contrast | 1 − mean gate over seeds | over seeds | consistency over seeds |
| probing | mean importance over seeds, per function | over seeds | labels shuffled |

Attention weights are above 0 for every head, so their t-test is against what a head would score
that attends evenly to all tokens, and one-sided: most heads attend less than evenly to most tokens.
(The entropy may differ from that of even attention either way.) P-values are corrected for all
heads, also for those that `Knockout` did not remove alone and has no p-value for: which heads it
removes depends on the same measurements. Intervals are Student's, but Wilson's over seeds of scores
between 0 and 1. "Consistency over seeds" shuffles the heads within every seed and layer: what a
head's mean over seeds has above the mean of its layer must exceed the largest such excess of any
shuffled head.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from headatlas.errors import MapError
from headatlas.maps.aggregate import between_seeds, mean_bounds, next_interval, score_bounds
from headatlas.maps.functions import ALPHA, function_names, ranked_heads
from headatlas.maps.importance import ATTENTION, Importance, importance_of
from headatlas.maps.order import Head, heads_by
from headatlas.maps.roles import SCORES, THRESHOLD, require_gating, roles
from headatlas.stats.intervals import welch_df
from headatlas.stats.multiple import holm, student_p
from headatlas.stats.permutation import consistency_p

if TYPE_CHECKING:
    from headatlas.maps.map import Map

STANDARD = ("function", "rank", "layer", "head", "score", "low", "high", "p", "significant")
"""The columns that every table begins with; `function` only where there are functions."""

WORDS = ("promoted", "suppressed")
"""Coordinates that hold tokens of every head, which tables show as columns."""


@dataclass(frozen=True)
class Ranking:
    """How a map ranks heads: what the score is, which tests its p-values are corrected for, and
    what helps if no head is significant."""

    score: str
    correction: str
    advice: str


def ranking_of(head_map: Map) -> Ranking:
    """How a map ranks heads."""
    importance = importance_of(head_map)
    values = head_map[importance.variable]
    exists = values.notnull().any([dim for dim in values.dims if dim not in ("layer", "head")])
    correction = f"{int(exists.sum())} heads"
    if "function" in values.dims:
        count = values.sizes["function"]
        within = importance.variable == "importance"
        correction += " within each function" if within else f" × {count} functions"
    if f"{importance.variable}_even" in head_map.data.coords:
        sides = "one" if _tests_greater(importance) else "two"
        correction += f"; {sides}-sided, against attending evenly to all tokens"
    return Ranking(importance.label, correction, importance.advice)


def ranked_table(head_map: Map, threshold: float = THRESHOLD) -> pd.DataFrame:
    """All heads, the most important first.

    Columns: `score` is what is ranked; `low` and `high` its 95 % interval (missing where there is
    only one seed or question); `p` is corrected for the number of heads; `significant` says whether
    it is at most 0.05. Further columns depend on the method.
    """
    table = _TABLES[importance_of(head_map).variable]
    rows = table(_with_seeds(head_map), threshold)
    if "unfinished" in head_map.provenance:
        rows["p"] = np.nan  # the heads that are missing would count in the correction
    rows["significant"] = rows["p"] <= ALPHA
    first = [name for name in STANDARD if name in rows]
    return rows[[*first, *(name for name in rows if name not in STANDARD)]]


def top_heads(head_map: Map, n: int = 10) -> pd.DataFrame:
    """The first `n` rows of the ranked table, per function where there are functions."""
    if not isinstance(n, int) or n < 1:
        raise MapError(f"the number of heads to show must be at least 1, not {n!r}.")
    table = ranked_table(head_map)
    further = ("role_always", "role_any", "before_elbow", "promoted")
    table = table[[name for name in table if name in (*STANDARD, *further)]]
    return table[table["rank"] <= n].reset_index(drop=True)


def _gating(head_map: Map, threshold: float) -> pd.DataFrame:
    require_gating(head_map, threshold)
    table = _over_seeds(head_map["facilitation"])
    for rule in ("always", "any"):
        table[f"role_{rule}"] = _at(roles(head_map, rule, threshold), table)
    for name in ("facilitation", "interference"):
        above = (head_map[name] >= threshold).sum("seed")
        table[f"seeds_{SCORES[name]}"] = _at(above, table).astype(int)
    aggregated = {rule: head_map.aggregate(rule) for rule in ("always", "any", "mean")}
    for name in SCORES:
        for rule, scores in aggregated.items():
            table[f"{name}_{rule}"] = _at(scores[name], table)
        table[f"{name}_low"], table[f"{name}_high"] = _bounds(score_bounds(head_map[name]), table)
    return table


def _contrast(head_map: Map, threshold: float) -> pd.DataFrame:
    table = _over_seeds(1 - head_map["gate"])
    table["gate_mean"] = 1 - table["score"]
    return table


def _effects(head_map: Map, threshold: float) -> pd.DataFrame:
    functions = function_names(head_map) if "function" in head_map.data.dims else [None]
    importance = importance_of(head_map)
    tables = [_effects_of(head_map.data, name, importance) for name in functions]
    rows = pd.concat(tables, ignore_index=True)
    tested = rows["p"].notna()
    # heads that were not tested count too: which ones were may depend on the same numbers
    rows["p"] = np.where(tested, holm(rows["p"].fillna(1.0).to_numpy()), np.nan)
    return rows


def _effects_of(data: xr.Dataset, function: str | None, importance: Importance) -> pd.DataFrame:
    """The table of one function, or of a map without functions; p-values are not yet corrected."""
    from scipy.stats import t

    own = data if function is None else data.sel(function=function)
    name, sign = importance.variable, importance.sign
    effect = own[name]
    table = _frame(heads_by(sign * effect.mean("seed")))
    table["score"] = sign * _at(effect.mean("seed"), table)
    se, df = np.full(len(table), np.nan), np.full(len(table), np.nan)
    if f"{name}_se" in own and "questions" in own.coords:
        within = (own[f"{name}_se"] ** 2).mean("seed")
        between = between_seeds(effect)
        seeds = effect.count("seed")
        counts = own.coords.get(f"{name}_questions", own["questions"])
        questions = int(counts.fillna(own["questions"]).min())  # missing where all have it
        se = _at((within + between) ** 0.5, table)
        df = welch_df(
            [(_at(within, table), questions - 1), (_at(between, table), _at(seeds, table) - 1)]
        )
    half_width = t.ppf(0.975, np.maximum(df, 1)) * se
    table["low"], table["high"] = table["score"] - half_width, table["score"] + half_width
    # what a head scores by chance, where that is not 0
    chance = float(own[f"{name}_even"].mean()) if f"{name}_even" in own.coords else 0.0
    greater = _tests_greater(importance)
    table["p"] = student_p(table["score"].to_numpy() - chance, se, df, greater=greater)
    if "alone" in own:  # what was measured beside other removed heads was chosen for being large
        alone = _at((own["alone"] == 1).all("seed"), table).astype(bool)
        table["p"] = np.where(alone, table["p"], np.nan)
    table[name], table[f"{name}_se"] = sign * table["score"], se
    table["seeds"] = _at(effect.count("seed"), table)
    for words in (name for name in WORDS if name in own.coords):
        table[words] = [
            _most_seeds(own[words], *head) for head in table[["layer", "head"]].to_numpy()
        ]
    if function is not None:
        table["function"] = function
    return table


def _tests_greater(importance: Importance) -> bool:
    """Whether only heads above chance count: those that attend to something more than evenly."""
    return importance.variable in ATTENTION and importance.variable != "entropy"


def _most_seeds(words: xr.DataArray, layer: int, head: int) -> str:
    """The words of a head that most seeds have, the first ones first where seeds agree."""
    by_seed = words.sel(layer=layer, head=head).transpose("seed", "token").to_numpy()
    counts = Counter(word for row in by_seed for word in row)
    return " ".join(repr(str(word)) for word, _ in counts.most_common(by_seed.shape[1]))


def _importance(head_map: Map, threshold: float) -> pd.DataFrame:
    importance = head_map["importance"]
    following = next_interval(importance)
    p = head_map["importance_p"].max("seed")
    tables = []
    for name, ranked in ranked_heads(head_map).items():
        table = _frame(list(ranked.heads))
        own = importance.sel(function=name)
        table["function"] = name
        table["score"] = _at(own.mean("seed"), table)
        table["low"], table["high"] = _bounds(mean_bounds(own), table)
        table["p"] = _at(p.sel(function=name), table)
        table["next_seed_low"], table["next_seed_high"] = (
            _at(following.sel(function=name, bound=bound), table) for bound in ("lower", "upper")
        )
        table["before_elbow"] = table["rank"] <= ranked.elbow
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


_TABLES: dict[str, Callable[[Map, float], pd.DataFrame]] = {
    "facilitation": _gating,
    "importance": _importance,
    "indirect_effect": _effects,
    "effect": _effects,
    "direct_logit": _effects,
    **dict.fromkeys(ATTENTION, _effects),
    "gate": _contrast,
}
"""How maps are ranked, by the variable that ranks their heads."""


def _with_seeds(head_map: Map) -> Map:
    """The map with a dimension `seed`, also if it is of one seed or already aggregated."""
    if "seed" in head_map.data.dims:
        return head_map
    return replace(head_map, data=head_map.data.expand_dims("seed"))


def _over_seeds(scores: xr.DataArray) -> pd.DataFrame:
    """Heads by their mean score over seeds; scores lie between 0 and 1."""
    table = _frame(heads_by(scores.mean("seed")))
    table["score"] = _at(scores.mean("seed"), table)
    table["low"], table["high"] = _bounds(score_bounds(scores), table)
    values = np.stack([_at(one, table) for one in scores.transpose("seed", ...)])  # seed head
    table["p"] = consistency_p(values, table["layer"].to_numpy())
    return table


def _bounds(bounds: xr.DataArray, table: pd.DataFrame) -> tuple[Any, Any]:
    return _at(bounds.sel(bound="lower"), table), _at(bounds.sel(bound="upper"), table)


def _frame(heads: list[Head]) -> pd.DataFrame:
    table = pd.DataFrame(heads, columns=["layer", "head"])
    table.insert(0, "rank", np.arange(1, len(heads) + 1))
    return table


def _at(values: xr.DataArray, table: pd.DataFrame) -> np.ndarray[Any, Any]:
    """The values (layer × head) of the heads of a table, in its order."""
    layers, heads = (xr.DataArray(table[dim].to_numpy(), dims="row") for dim in ("layer", "head"))
    return values.sel(layer=layers, head=heads).to_numpy()
