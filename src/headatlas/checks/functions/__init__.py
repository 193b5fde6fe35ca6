"""Is a map of cognitive functions true? Masking, specificity, order, strengthening; and how much
its probe is worth compared with what needs no heads."""
