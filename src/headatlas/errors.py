"""Every exception that Head Atlas raises on purpose.

Each message is one sentence in the shape *what is wrong, what was found, what to do*. The command
line prints it and ends with exit code 2; nobody should see a traceback for a mistake in the input.
"""


class HeadAtlasError(Exception):
    """A mistake in what the user gave, or a limit of the machine that the user can act on.

    >>> import headatlas as ha
    >>> try:
    ...     ha.load_task("singular-plurals")
    ... except ha.HeadAtlasError as error:
    ...     print(str(error)[:59])
    no task 'singular-plurals'. Did you mean 'singular-plural'?
    """


class ModelError(HeadAtlasError):
    """A model cannot be found, read, or used for work on single heads."""


class VerificationError(ModelError):
    """A model loaded, but an edit of its heads does not do what it should."""


class EditError(HeadAtlasError):
    """An edit does not fit the model: a head out of range, a wrong shape."""


class TaskError(HeadAtlasError):
    """A task is unknown, or its file or its examples cannot be used.

    >>> import headatlas as ha
    >>> try:
    ...     ha.Task.of("mine", [])
    ... except ha.TaskError as error:
    ...     print("TaskError")
    TaskError
    """


class MapError(HeadAtlasError):
    """A map cannot be read, or two maps do not fit together."""


class NotJudgedError(MapError):
    """A map cannot be judged: it was measured on test questions, or lacks heads.

    >>> atlas.check(few_heads, kind="faithfulness")  # doctest: +SKIP
    Traceback (most recent call last):
    headatlas.errors.NotJudgedError: … has 3 of 270 heads: a curve needs all. ...
    """


class StoreError(HeadAtlasError):
    """A folder or file cannot be written or read."""


class PlotError(HeadAtlasError):
    """A figure is unknown, or cannot be drawn from what was given."""


class DivergedError(HeadAtlasError):
    """The loss of a fit diverged; other seeds are unaffected.

    >>> ha.Gating(learning_rate=(90.0, 90.0)).run(model, task)  # doctest: +SKIP
    Traceback (most recent call last):
    headatlas.errors.DivergedError: seed 0, fit of G: the loss rose from 2.1 to 9.4 nats ...
    """
