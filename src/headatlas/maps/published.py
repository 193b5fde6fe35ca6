"""Published shares of facilitating and interfering heads, to compare with.

Percent of heads with F, and with N, of at least 0.5, always and any over 10 seeds: Nam et al.,
Causal Head Gating, arXiv 2505.13737, table 2.
"""

from __future__ import annotations

PUBLISHED: dict[tuple[str, str, str], tuple[float, float]] = {
    ("Llama-3.2-1B", "syntax", "always"): (1.2, 0.2),
    ("Llama-3.2-1B", "syntax", "any"): (72.1, 57.2),
    ("Llama-3.2-1B", "commonsense", "always"): (3.9, 0.0),
    ("Llama-3.2-1B", "commonsense", "any"): (56.6, 41.0),
    ("Llama-3.2-1B", "math", "always"): (38.3, 0.4),
    ("Llama-3.2-1B", "math", "any"): (81.1, 26.0),
    ("Llama-3.2-3B", "syntax", "always"): (1.5, 0.1),
    ("Llama-3.2-3B", "syntax", "any"): (67.9, 51.3),
    ("Llama-3.2-3B", "commonsense", "always"): (4.5, 0.0),
    ("Llama-3.2-3B", "commonsense", "any"): (75.4, 52.4),
    ("Llama-3.2-3B", "math", "always"): (24.6, 1.3),
    ("Llama-3.2-3B", "math", "any"): (75.1, 13.8),
    ("Llama-3.2-3B-Instruct", "syntax", "always"): (0.7, 0.0),
    ("Llama-3.2-3B-Instruct", "syntax", "any"): (72.8, 56.1),
    ("Llama-3.2-3B-Instruct", "commonsense", "always"): (3.0, 0.0),
    ("Llama-3.2-3B-Instruct", "commonsense", "any"): (68.2, 55.7),
    ("Llama-3.2-3B-Instruct", "math", "always"): (18.3, 0.1),
    ("Llama-3.2-3B-Instruct", "math", "any"): (74.4, 47.2),
    ("Llama-3.1-8B", "syntax", "always"): (1.4, 0.0),
    ("Llama-3.1-8B", "syntax", "any"): (68.5, 59.2),
    ("Llama-3.1-8B", "commonsense", "always"): (18.7, 0.6),
    ("Llama-3.1-8B", "commonsense", "any"): (60.3, 22.2),
    ("Llama-3.1-8B", "math", "always"): (25.3, 1.0),
    ("Llama-3.1-8B", "math", "any"): (75.0, 21.2),
}
