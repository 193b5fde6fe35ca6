"""Every public name exists, says what it is, and has an example that runs."""

from __future__ import annotations

import doctest
import inspect

import pytest

import headatlas


def test_public_names_exist_and_are_listed():
    assert sorted(headatlas.__all__) == list(headatlas.__all__)
    assert set(headatlas.__all__) <= set(dir(headatlas))
    assert set(headatlas._HOMES) < set(headatlas.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        headatlas.nothing  # noqa: B018


def examples_of(name):
    """The examples of a public name, as one test that knows the names of its module."""
    thing = getattr(headatlas, name)
    known = {"ha": headatlas, **vars(inspect.getmodule(thing))}
    finder = doctest.DocTestFinder(recurse=False)
    (test,) = finder.find(thing, name, globs=known)
    return test


@pytest.mark.parametrize("name", headatlas.__all__)
def test_every_public_name_has_an_example_that_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    test = examples_of(name)
    assert test.examples, f"{name} has no example"
    if test.globs["__name__"].startswith("headatlas.models."):
        return  # tests/models runs all examples of that room
    failures = []
    result = doctest.DocTestRunner().run(test, out=failures.append)
    assert result.failed == 0, "".join(failures)
