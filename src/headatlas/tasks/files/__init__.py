"""Readers: tasks from files.

A *container* yields records with their place (JSON lines, JSON, CSV, TSV, Parquet, the hub); a
*format* says what the records mean (columns, function vectors, BLiMP, GSM8K, CogQA, BIG-bench).
Every format can come in every container.
"""
