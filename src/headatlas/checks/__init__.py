"""Checks: is a map true? Controls and causal tests of maps, each of which can say no.

That an edit does what it claims on a model is checked in `headatlas.models.heads.verify`.
"""
