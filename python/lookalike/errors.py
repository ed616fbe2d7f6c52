"""What goes wrong, in the words of the command line.

Every exception of this package is an :class:`Error`; besides, each is the exception that
a Python programmer would expect in its place. A call with arguments of the wrong type may be
a plain ``TypeError``.

>>> import lookalike
>>> try:
...     lookalike.sketch("... !")
... except lookalike.Error as error:
...     print(type(error).__name__, error)
EmptyError cannot use `text`: it holds no tokens
"""

__all__ = [
    "ColumnError",
    "DamagedError",
    "EmptyError",
    "Error",
    "KindError",
    "LockedError",
    "MachineError",
    "NotFoundError",
    "RejectedError",
    "RejectedWarning",
    "UndatedWarning",
    "UsageError",
]


class Error(Exception):
    """Something went wrong; ``hint`` says what to do about it, where that is known."""

    hint: str
    #: The exit status that the command line has for it.
    status: int = 2

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> "tuple[type[Error], tuple[str, str]]":
        return type(self), (self.message, self.hint)


class UsageError(Error, ValueError):
    """The arguments make no sense, or not together."""


class ColumnError(UsageError, KeyError):
    """There is no column of that name."""


class KindError(UsageError, TypeError):
    """An argument or a column holds something else than it should."""


class EmptyError(Error, ValueError):
    """There was nothing to work on; nothing was written."""

    status = 4


class NotFoundError(Error, LookupError):
    """What was asked for is not there."""

    status = 1


class RejectedError(Error, ValueError):
    """Some rows could not be used, and that was not to be passed over."""

    status = 3


class DamagedError(Error):
    """A file of ours that is damaged, or of another version."""

    status = 5


class MachineError(Error, OSError):
    """The machine refused: disk, memory, input or output."""

    status = 6

    def __init__(self, message: str, hint: str = "") -> None:
        Error.__init__(self, message, hint)


class LockedError(Error):
    """Another writer holds the collection."""

    status = 7


class RejectedWarning(UserWarning):
    """Some rows could not be used; all others were."""


class UndatedWarning(UserWarning):
    """The newest rows were asked for, and none has a date: the first were kept."""
