"""Statistics of maps and answers: intervals, agreement, permutation. Never imports torch."""
