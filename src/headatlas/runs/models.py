"""The models of an atlas: that for new maps, and that of the stored map used last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas.models.heads.verify import require_verified
from headatlas.runs.progress import Callback, tracked

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.runs.reload import ModelSource


class Models:
    """Loads and verifies models when they are first used; `loaded` is one that is there already."""

    def __init__(
        self, source: ModelSource, progress: Callback | None, loaded: Model | None
    ) -> None:
        self.source = source
        self._progress = progress
        self._new = loaded
        self._stored: Model | None = None  # the model of the stored map that was used last

    @property
    def current(self) -> Model:
        """The model for new maps."""
        if self._new is None:
            words = self.source.name or "the embedded model"
            with tracked(self._progress, f"loading {words}"):
                self._new = self.source.load()
                _ = self._new.fingerprint  # hashing large weights takes a while: show it
        return self._verified(self._new)

    def of(self, head_map: Map) -> Model:
        """The model that a stored map was made from; raises if it differs."""
        for loaded in (self._new, self._stored):
            if loaded is not None and loaded.fingerprint == head_map.provenance["model_hash"]:
                return self._verified(loaded)
        with tracked(self._progress, f"loading {head_map.provenance['model']}"):
            self._stored = self.source.load_for(head_map)
        return self._verified(self._stored)

    def _verified(self, model: Model) -> Model:
        if "checks" not in vars(model):
            with tracked(self._progress, f"verifying the heads of {model.spec.name}"):
                require_verified(model)
        require_verified(model)
        return model
