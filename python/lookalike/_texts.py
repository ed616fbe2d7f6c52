"""One text, and two."""

from __future__ import annotations

from typing import Any, Iterable, Union

from . import _lookalike

Text = Union[str, bytes, Iterable[Union[str, int]]]


def sketch(
    text: Text,
    *,
    shingle: int | None = None,
    samples: int | None = None,
    token: str = "word",
    labelled: bool = False,
    keep_case: bool = False,
    sketch: str | None = None,
    seed: int | None = None,
    key: bytes | None = None,
    format: str = "auto",
) -> _lookalike.Sketch:
    """The little that has to be kept of a text to compare it with others later.

    ``text`` is a string, the bytes of a file (whatever its charset, HTML too), or with
    ``token="feature"`` a list of strings and integers.

    ``token`` is word, char, line, byte or feature; ``shingle`` how many of them are taken
    together (10, features 1); ``labelled`` makes repetitions count, ``keep_case`` capitals.
    ``samples`` (256) is how many fingerprints are kept at most; ``sketch`` names another way
    to choose them: ``"mod:25"``, ``"min:100"``, ``"perm:84"``. ``seed`` or a secret ``key``
    is where the random choices come from. Only sketches of one recipe can be compared.

    >>> import lookalike
    >>> one = lookalike.sketch("a rose is a rose is a rose", shingle=3)
    >>> two = lookalike.sketch("A ROSE IS A ROSE", shingle=3)
    >>> len(one), one.tokens
    (3, 8)
    >>> one.resemblance(two)["value"]
    1.0
    >>> one.resemblance(lookalike.sketch("a rose", samples=64))
    Traceback (most recent call last):
    lookalike.errors.UsageError: sketches of two recipes cannot be compared: 54ffd7f88be6fc48 and 4774f8ceccc2b38b
    """
    return _lookalike.sketch(
        text,
        shingle=shingle,
        samples=samples,
        token=token,
        labelled=labelled,
        keep_case=keep_case,
        sketch=sketch,
        seed=seed,
        key=key,
        format=format,
    )


def compare(
    a: Text,
    b: Text,
    *,
    passages: bool = True,
    shingle: int | None = None,
    samples: int | None = None,
    token: str = "word",
    labelled: bool = False,
    keep_case: bool = False,
    sketch: str | None = None,
    seed: int | None = None,
    key: bytes | None = None,
    format: str = "auto",
) -> dict[str, Any]:
    """Compares two texts: what ``lookalike compare --json`` tells, as a dictionary.

    Places of passages are characters where a string was given, bytes where bytes were, and
    members of a list of features. The other options are those of :func:`sketch`.

    >>> import lookalike
    >>> a = "Möwen: a rose is a rose is a rose, I say"
    >>> found = lookalike.compare(a, "a rose is a rose is", shingle=3)
    >>> found["b_in_a"]["exact"]
    1.0
    >>> start, end = found["passages"][0]["a"]
    >>> a[start:end]
    'a rose is a rose is'
    """
    return _lookalike.compare(
        a,
        b,
        passages=passages,
        shingle=shingle,
        samples=samples,
        token=token,
        labelled=labelled,
        keep_case=keep_case,
        sketch=sketch,
        seed=seed,
        key=key,
        format=format,
    )
