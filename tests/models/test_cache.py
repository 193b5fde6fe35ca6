"""The cache folder is where the user, or the system, wants it."""

from __future__ import annotations

import pytest
from platformdirs import user_cache_path

from headatlas.errors import StoreError
from headatlas.models.load.cache import cache_folder, made_once


def test_the_users_choice_comes_before_the_systems(monkeypatch, tmp_path):
    monkeypatch.delenv("HEADATLAS_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "system"))
    assert cache_folder() == user_cache_path("headatlas", appauthor=False)
    monkeypatch.setenv("HEADATLAS_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    folder = tmp_path / "made"
    with pytest.raises(RuntimeError, match="on purpose"), made_once(folder) as temporary:
        (temporary / "half").write_text("…")
        assert not folder.exists()
        raise RuntimeError("on purpose")
    assert not folder.exists()
    assert not list(tmp_path.glob("*.part-*"))
    with made_once(folder) as temporary:
        (temporary / "whole").write_text("…")
    assert [path.name for path in folder.iterdir()] == ["whole"]
    with made_once(folder) as temporary:
        assert temporary is None


def test_a_full_disk_is_one_sentence(tmp_path):
    with (
        pytest.raises(StoreError, match=r"is full \(.* GB needed\): free some space, or set"),
        made_once(tmp_path / "made", needed_bytes=10**18),
    ):
        pass
