"""Readers: what people already have, as tasks.

A *container* gives records with their place (JSON lines, JSON, CSV, TSV, Parquet, the hub); a
*format* says what the records mean (columns, function vectors, BLiMP, GSM8K, CogQA, BIG-bench). Any
format can come in any container.
"""
