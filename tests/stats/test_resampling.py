"""Resamples of questions after few-shot prefixes: intervals hold what they say."""

from __future__ import annotations

import numpy as np
import pytest

from headatlas.stats.intervals import change_of, p_of
from headatlas.stats.resampling import bootstrap_change, bootstrap_variance, resampled_weights

PREFIXES, PER_PREFIX = 6, 4
SAMPLES = 3000


def test_resamples_draw_prefixes_with_all_their_questions():
    weights = resampled_weights([0, 0, 0, 1, 1, 1], draws=400)
    assert np.allclose(weights.sum(1), 1)
    assert (weights[:, :3].sum(1) == 0).mean() == pytest.approx(0.25, abs=0.07)
    assert (weights[:, :3] == weights[:, :1]).all()
    assert np.array_equal(weights, resampled_weights([0, 0, 0, 1, 1, 1], draws=400))


@pytest.mark.parametrize("correlation", [0.0, 0.06, 0.3, 1.0])
def test_intervals_cover_the_mean_however_alike_the_questions_of_a_prefix_are(correlation):
    """24 questions after 6 prefixes: 95 % of intervals hold the truth (Monte Carlo error 0.4 %),
    and the standard error is the true one (error 2 % of it, and 2 % of that of 1000 resamples)."""
    rng = np.random.default_rng(0)
    prefixes = np.repeat(range(PREFIXES), PER_PREFIX)
    shared = rng.normal(size=(SAMPLES, PREFIXES))[:, prefixes]
    own = rng.normal(size=(SAMPLES, len(prefixes)))
    values = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    resampled = resampled_weights(prefixes) @ values.T  # draw sample
    covered, variances = 0, []
    for mean, draws in zip(values.mean(1), resampled.T, strict=True):
        change = bootstrap_change(mean, draws, PREFIXES)
        covered += change.low <= 0 <= change.high
        variances.append(bootstrap_variance(draws, PREFIXES)[0])
    assert covered / SAMPLES == pytest.approx(0.95, abs=0.015)
    truth = correlation / PREFIXES + (1 - correlation) / len(prefixes)
    assert np.sqrt(np.mean(variances) / truth) == pytest.approx(1.0, abs=0.08)


def test_a_p_value_is_5_percent_where_the_interval_touches_0():
    parts = [(0.04, 5.0), (0.01, 3.0)]
    half_width = change_of(0.0, parts).high
    assert p_of(half_width, parts) == pytest.approx(0.05)
    assert p_of(-half_width, parts) == pytest.approx(0.05)
    assert np.isnan(p_of(1.0, [(0.0, 5.0)]))
