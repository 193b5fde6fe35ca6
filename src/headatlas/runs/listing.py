"""What there is: available models, methods, figures.

Each function imports what it lists: naming the figures does not load torch.
"""

from __future__ import annotations


def list_models() -> dict[str, str]:
    """The available models by name, with where they are.

    >>> list_models()["smollm2-135m"]
    'the embedded default'
    """
    from headatlas.models.load.cache import cache_folder
    from headatlas.models.load.embedded import EMBEDDED

    models = {EMBEDDED: "the embedded default"}
    for config in sorted((cache_folder() / "models").glob("*/config.json")):
        if not config.parent.name.startswith((".", EMBEDDED)):
            models[str(config.parent)] = "in the cache"
    return models


def list_methods() -> dict[str, str]:
    """The methods by name, with what each does.

    >>> sorted(list_methods())
    ['ablation', 'attribution', 'contrast', 'gating', 'knockout', 'patching', 'probing']
    """
    from headatlas.methods import METHODS

    return {name: _first_line(method) for name, method in METHODS.items()}


def list_figures() -> dict[str, str]:
    """The figures by name, with what each shows.

    >>> "always-any" in list_figures()
    True
    """
    from headatlas.plots import FIGURES

    return {name: _first_line(drawing.function) for name, drawing in FIGURES.items()}


def _first_line(thing: object) -> str:
    return (thing.__doc__ or "").strip().splitlines()[0]
