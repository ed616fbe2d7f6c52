"""Tables: one of each group, and the groups."""

from __future__ import annotations

import os
import warnings
from typing import Any, Callable, MutableMapping, Union

from . import _lookalike
from .errors import RejectedError, RejectedWarning, UndatedWarning, UsageError

Progress = Callable[[str, int, Union[int, None]], object]


def told(report: dict[str, Any], on_reject: str) -> None:
    """Says what was rejected: nothing is lost in silence."""
    if not report["rejected"] or on_reject == "ignore":
        return
    reasons = ", ".join(f"{count} {reason}" for reason, count in report["rejected"].items())
    number = sum(report["rejected"].values())
    message = f"{number} of {report['read']} rows were rejected: {reasons}"
    if on_reject == "raise":
        raise RejectedError(message, 'on_reject="warn" goes on without them')
    warnings.warn(message, RejectedWarning, stacklevel=4)


def checked(on_reject: str) -> str:
    """What is to be done about rejected rows."""
    if on_reject not in ("warn", "raise", "ignore"):
        raise UsageError(f"unknown on_reject `{on_reject}`; there are warn, raise and ignore")
    return on_reject


def library(table: object) -> str:
    """Whose table it is, without an import of what is not there."""
    kind = type(table)
    return f"{kind.__module__.split('.')[0]}.{kind.__name__}"


def like(table: object, result: _lookalike.Table) -> Any:
    """A result as the library has tables that the argument came from."""
    name = library(table)
    if name == "polars.DataFrame":
        import polars

        return polars.DataFrame(result)
    if name in ("pyarrow.Table", "pyarrow.RecordBatch"):
        import pyarrow

        return pyarrow.table(result)
    if name == "pandas.DataFrame":
        import pyarrow

        return pyarrow.table(result).to_pandas()
    return result


def filtered(table: Any, decided: _lookalike.Decided) -> Any:
    """The rows that stay, in the order and with the columns they have."""
    name = library(table)
    if name == "polars.DataFrame":
        import polars

        return table.filter(polars.DataFrame(decided.mask_table())["keep"])
    if name in ("pyarrow.Table", "pyarrow.RecordBatch"):
        import pyarrow

        # Its own filter does not know all kinds of strings.
        return pyarrow.table(decided.filtered())
    if name == "pandas.DataFrame":
        import numpy

        return table[numpy.frombuffer(decided.mask(), dtype=bool)]
    return decided.filtered()


def annotated(table: Any, decided: _lookalike.Decided) -> Any:
    """All rows, with marks."""
    name = library(table)
    if name == "polars.DataFrame":
        import polars

        return table.hstack(polars.DataFrame(decided.marks()))
    if name == "pyarrow.RecordBatch":
        import pyarrow

        return pyarrow.table(decided.annotated())
    if name == "pyarrow.Table":
        import pyarrow

        marks = pyarrow.table(decided.marks())
        for column in marks.column_names:
            table = table.append_column(column, marks[column])
        return table
    if name == "pandas.DataFrame":
        import pyarrow

        marks = pyarrow.table(decided.marks()).to_pandas().set_axis(table.index)
        return table.assign(**{column: marks[column] for column in marks.columns})
    return decided.annotated()


def dedup(
    table: Any,
    *,
    text: str = "text",
    id: str = "id",
    url: str = "url",
    date: str = "date",
    resemblance: float | None = None,
    containment: float | None = None,
    link: str = "chain",
    verify: str = "auto",
    keep: str = "first",
    annotate: bool = False,
    against: str | os.PathLike[str] | None = None,
    on_reject: str = "warn",
    progress: Progress | None = None,
    report: MutableMapping[str, Any] | None = None,
    shingle: int | None = None,
    samples: int | None = None,
    token: str = "word",
    labelled: bool = False,
    keep_case: bool = False,
    sketch: str | None = None,
    seed: int | None = None,
    key: bytes | None = None,
    format: str = "auto",
    max_document: int | None = None,
    threads: int | None = None,
    memory: int | None = None,
    scratch: str | os.PathLike[str] | None = None,
) -> Any:
    """One of each group of near-duplicates: the rows that stay, as they are and in order.

    ``table`` is anything with the Arrow C stream. A Polars, pyarrow or pandas table comes
    back as one; of anything else, a :class:`Table` that speaks the stream too. The text is
    not copied, and other Python threads run meanwhile; ctrl-C ends it.

    Two rows are joined at ``resemblance`` (0.5) or ``containment``; of each group the
    ``first``, the ``longest`` or the ``newest`` row is kept. ``annotate=True`` keeps all and
    adds the columns ``lookalike_cluster``, ``lookalike_is_duplicate`` and
    ``lookalike_representative``. Without any date the newest is the first, and an
    :class:`UndatedWarning` says so. ``against`` is a collection or its
    folder: what it has goes too.

    Rows without text are rejected and not in the result, as on the command line:
    ``on_reject`` is warn, raise or ignore; rows with nothing to compare in them are
    skipped. ``report`` is a dictionary that receives the numbers. ``progress`` is called
    with a phase, how much of it is done, and of how much.

    >>> import lookalike, polars as pl
    >>> text = "The quick brown fox jumps over the lazy dog, and the dog does not mind at all."
    >>> frame = pl.DataFrame({"n": [1, 2, 3], "body": [text, "Something else.", text.upper()]})
    >>> report = {}
    >>> lookalike.dedup(frame, text="body", report=report)["n"].to_list()
    [1, 2]
    >>> report["removed"]
    1
    >>> lookalike.dedup(frame)
    Traceback (most recent call last):
    lookalike.errors.ColumnError: it has no column `text`, only n, body
    """
    checked(on_reject)
    decided = _lookalike.dedup(
        table,
        progress,
        keep,
        annotate,
        against,
        text=text,
        id=id,
        url=url,
        date=date,
        resemblance=resemblance,
        containment=containment,
        link=link,
        verify=verify,
        shingle=shingle,
        samples=samples,
        token=None if token == "word" else token,
        labelled=labelled or None,
        keep_case=keep_case or None,
        sketch=sketch,
        seed=seed,
        key=key,
        format=format,
        max_document=max_document,
        threads=threads,
        memory=memory,
        scratch=scratch,
    )
    if report is not None:
        report.update(decided.report)
    told(decided.report, on_reject)
    if decided.report.get("undated"):
        message = f'keep="newest", but no row has a date in `{date}`: the first were kept'
        warnings.warn(message, UndatedWarning, stacklevel=2)
    return annotated(table, decided) if annotate else filtered(table, decided)


def cluster(
    table: Any,
    *,
    text: str = "text",
    id: str = "id",
    url: str = "url",
    date: str = "date",
    resemblance: float | None = None,
    containment: float | None = None,
    link: str = "chain",
    verify: str = "auto",
    on_reject: str = "warn",
    progress: Progress | None = None,
    report: MutableMapping[str, Any] | None = None,
    shingle: int | None = None,
    samples: int | None = None,
    token: str = "word",
    labelled: bool = False,
    keep_case: bool = False,
    sketch: str | None = None,
    seed: int | None = None,
    key: bytes | None = None,
    format: str = "auto",
    max_document: int | None = None,
    threads: int | None = None,
    memory: int | None = None,
    scratch: str | os.PathLike[str] | None = None,
) -> Any:
    """The groups of near-duplicates: one row a document, with its cluster.

    The table is that of ``lookalike add`` and ``lookalike cluster -o``; ``offset`` is the
    number of the row. The options are those of :func:`dedup`.

    >>> import lookalike, polars as pl
    >>> text = "The quick brown fox jumps over the lazy dog, and the dog does not mind at all."
    >>> frame = pl.DataFrame({"id": ["a", "b", "c"], "text": [text, "Something else.", text + "!"]})
    >>> lookalike.cluster(frame).select("id", "cluster", "cluster_size", "grade").rows()
    [('a', 0, 2, None), ('b', 1, 1, None), ('c', 0, 2, 'lexical')]
    """
    checked(on_reject)
    found, numbers = _lookalike.cluster(
        table,
        progress,
        text=text,
        id=id,
        url=url,
        date=date,
        resemblance=resemblance,
        containment=containment,
        link=link,
        verify=verify,
        shingle=shingle,
        samples=samples,
        token=token,
        labelled=labelled,
        keep_case=keep_case,
        sketch=sketch,
        seed=seed,
        key=key,
        format=format,
        max_document=max_document,
        threads=threads,
        memory=memory,
        scratch=scratch,
    )
    if report is not None:
        report.update(numbers)
    told(numbers, on_reject)
    return like(table, found)
