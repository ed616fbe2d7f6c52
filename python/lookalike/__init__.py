"""Near-duplicate documents: which are roughly the same, which are roughly contained in another.

Two texts:

>>> import lookalike
>>> a = "a rose is a rose is a rose and nothing else than a rose"
>>> lookalike.compare(a, a + " at all", shingle=3)["resemblance"]["exact"]
0.8181818181818182

A table (Polars, DuckDB, pyarrow, pandas, or anything else with ``__arrow_c_stream__``):

>>> import polars as pl
>>> rows = pl.DataFrame({"id": [1, 2, 3], "text": [a, "quite another text", a + "!"]})
>>> lookalike.dedup(rows)["id"].to_list()
[1, 2]

More documents than fit in memory, and questions to them: :class:`Collection`. Figures are
those of the command ``lookalike``, bit for bit; exceptions (:class:`Error`) have its words.
"""

from . import errors
from ._collection import Collection
from ._lookalike import Sketch, Table, __version__
from ._tables import cluster, dedup
from ._texts import compare, sketch
from .errors import (
    ColumnError,
    DamagedError,
    EmptyError,
    Error,
    KindError,
    LockedError,
    MachineError,
    NotFoundError,
    RejectedError,
    RejectedWarning,
    UndatedWarning,
    UsageError,
)

__all__ = [
    "Collection",
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
    "Sketch",
    "Table",
    "UndatedWarning",
    "UsageError",
    "__version__",
    "cluster",
    "compare",
    "dedup",
    "errors",
    "sketch",
]
