"""Tasks: prompts with targets.

>>> load_task("singular-plural").name
'singular-plural'
"""

from __future__ import annotations

from headatlas.tasks.check import check_file
from headatlas.tasks.example import Example
from headatlas.tasks.files.report import FileReport
from headatlas.tasks.forms import Form
from headatlas.tasks.functions import FUNCTIONS
from headatlas.tasks.load import BUILT_IN, list_tasks, load_task, open_sources
from headatlas.tasks.splits import SPLITS
from headatlas.tasks.task import Task
from headatlas.tasks.text_baseline import VIEWS, bag_of_words, predict_from_text

__all__ = [
    "BUILT_IN",
    "FUNCTIONS",
    "SPLITS",
    "VIEWS",
    "Example",
    "FileReport",
    "Form",
    "Task",
    "bag_of_words",
    "check_file",
    "list_tasks",
    "load_task",
    "open_sources",
    "predict_from_text",
]
