"""Results for the published claims about functions, over all steps at once."""

from __future__ import annotations

import math

import numpy as np

from headatlas.checks.masking import Masks
from headatlas.checks.steps import Steps
from headatlas.stats.intervals import Change, mean_change
from headatlas.tasks.functions import HIGH_ORDER, LOW_ORDER


def pooled_masking(masked: dict[str, Masks], steps: Steps) -> Change:
    """Over all steps: how much more their own function's heads do than random ones."""
    own, variance, df = np.zeros(len(steps.rows)), 0.0, 0
    for name, masks in masked.items():
        at = steps.at(name)
        controls = masks.controls_change("logprob")[:, at]
        own[at] = (masks.chosen.logprob - masks.before.logprob)[at] - controls.mean(0)
        share = len(at) / len(own)
        variance += share**2 * controls.mean(1).var(ddof=1) / len(controls)
        df += len(controls) - 1
    return mean_change(own, steps.questions, math.sqrt(variance), df)


def pooled_specificity(masked: dict[str, Masks], steps: Steps) -> Change:
    """Over all steps: how much more their own function's heads do than the other functions'."""
    changes = {name: each.chosen.logprob - each.before.logprob for name, each in masked.items()}
    own = np.zeros(len(steps.rows))
    for number, function in enumerate(steps.functions):
        others = [each[number] for name, each in changes.items() if name != function]
        own[number] = changes[function][number] - float(np.mean(others))
    return mean_change(own, steps.questions)


def pooled_order(masked: dict[str, Masks], steps: Steps) -> Change | None:
    """Over all high-order steps: how much more low-order functions' heads do than random ones."""
    masks = [each for name, each in masked.items() if name in LOW_ORDER]
    at = steps.at(*HIGH_ORDER)
    if not masks or not at:
        return None
    controls = [each.controls_change("logprob")[:, at] for each in masks]
    values = np.mean(
        [
            (each.chosen.logprob - each.before.logprob)[at] - control.mean(0)
            for each, control in zip(masks, controls, strict=True)
        ],
        axis=0,
    )
    variance = sum(each.mean(1).var(ddof=1) / len(each) for each in controls) / len(masks) ** 2
    questions = [steps.questions[i] for i in at]
    return mean_change(values, questions, math.sqrt(variance), len(masks) * (len(controls[0]) - 1))
