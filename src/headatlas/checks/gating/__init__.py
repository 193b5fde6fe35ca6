"""Is a gating map true? Held-out loss under the learned gates, and ordered toggling."""
