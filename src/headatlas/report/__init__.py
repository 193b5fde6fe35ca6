"""Report: the atlas as one HTML file, made from stored maps."""
