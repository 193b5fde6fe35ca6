"""Tasks: prompts with targets.

>>> load_task("singular-plural").name
'singular-plural'
"""

from __future__ import annotations

from headatlas.tasks.example import Example
from headatlas.tasks.forms import Form
from headatlas.tasks.functions import FUNCTIONS
from headatlas.tasks.load import BUILT_IN, load_task, open_sources
from headatlas.tasks.splits import SPLITS
from headatlas.tasks.task import Task

__all__ = [
    "BUILT_IN",
    "FUNCTIONS",
    "SPLITS",
    "Example",
    "Form",
    "Task",
    "load_task",
    "open_sources",
]
