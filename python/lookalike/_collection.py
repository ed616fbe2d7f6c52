"""Collections: documents in a folder, sketched, clustered, and ready to be asked."""

from __future__ import annotations

import os
import pathlib
from typing import Any, Iterable, Mapping, Union

from . import _lookalike
from ._tables import Progress, checked, told
from ._texts import Text
from .errors import KindError, UsageError

Path = Union[str, "os.PathLike[str]"]


class Collection:
    """A folder with the sketches of documents, their pairs and their clusters.

    It is the folder that the command ``lookalike add`` makes, and either may use the
    other's. One writer at a time; any number of readers, who see one whole generation.

    >>> import lookalike, tempfile, os
    >>> folder = os.path.join(tempfile.mkdtemp(), "pages.lk")
    >>> text = "the quick brown fox jumps over the lazy dog and runs into the dark wood"
    >>> pages = lookalike.Collection.create(folder, shingle=4)
    >>> report = pages.add([
    ...     {"id": "fox", "url": "http://a.example/fox", "text": text},
    ...     {"id": "other", "text": "nothing of the kind is said in this text"},
    ... ])
    >>> report["added"], len(pages)
    (2, 2)
    >>> found = pages.find(text + " again")[0]
    >>> found["id"], round(found["resemblance"]["value"], 2)
    ('fox', 0.92)
    >>> pages.where("http://a.example/fox")["status"]
    'present'
    >>> lookalike.Collection.open(folder).documents().column_names[:3]
    ['doc', 'id', 'url']
    """

    def __init__(self, inner: _lookalike.Collection) -> None:
        if not isinstance(inner, _lookalike.Collection):
            message = "a collection is opened by Collection.open(path), and begun by Collection.create(path)"
            raise KindError(message)
        self._inner = inner

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        shingle: int | None = None,
        samples: int | None = None,
        token: str = "word",
        labelled: bool = False,
        keep_case: bool = False,
        sketch: str | None = None,
        seed: int | None = None,
        key: bytes | None = None,
    ) -> Collection:
        """A new collection; its folder is made by the first :meth:`add`.

        The options are the recipe, as in :func:`sketch`; it stays that of the collection.

        >>> import lookalike, tempfile, os
        >>> lookalike.Collection.create(os.path.join(tempfile.mkdtemp(), "c"), samples=512)  # doctest: +ELLIPSIS
        <lookalike.Collection ...>
        """
        return cls(
            _lookalike.Collection.create(
                path,
                shingle=shingle,
                samples=samples,
                token=token,
                labelled=labelled,
                keep_case=keep_case,
                sketch=sketch,
                seed=seed,
                key=key,
            )
        )

    @classmethod
    def open(cls, path: Path, *, key: bytes | None = None) -> Collection:
        """A collection that is there; one made with a secret needs its ``key``.

        >>> import lookalike
        >>> lookalike.Collection.open("/no/such/folder")
        Traceback (most recent call last):
        lookalike.errors.EmptyError: there is no collection `/no/such/folder`
        """
        return cls(_lookalike.Collection.open(path, key=key))

    @property
    def path(self) -> pathlib.Path:
        """The folder."""
        return self._inner.path

    def __fspath__(self) -> str:
        return str(self.path)

    def add(
        self,
        rows: Any | Iterable[str | Mapping[str, Any]],
        *,
        text: str = "text",
        id: str = "id",
        url: str = "url",
        date: str = "date",
        sweep_date: str | None = None,
        keep_text: bool = False,
        format: str = "auto",
        on_reject: str = "warn",
        progress: Progress | None = None,
        max_document: int | None = None,
        threads: int | None = None,
        memory: int | None = None,
        scratch: Path | None = None,
    ) -> dict[str, Any]:
        """Adds one sweep, and tells what became of it, as ``lookalike add --json`` does.

        ``rows`` is anything with the Arrow C stream, or dictionaries, or strings. All of a
        sweep is in memory while it is added; :meth:`add_files` reads more than that.
        ``keep_text`` keeps the texts, packed: what was only in memory cannot be read again.
        Nothing is added when ``on_reject="raise"`` or an exception of ``progress`` ends it.

        >>> import lookalike, tempfile, os
        >>> pages = lookalike.Collection.create(os.path.join(tempfile.mkdtemp(), "c"))
        >>> pages.add(["one text of a few words", "another text"], sweep_date="2026-11-16")["read"]
        2
        """
        checked(on_reject)
        report = self._inner.add(
            rows,
            progress,
            on_reject == "raise",
            text=text,
            id=id,
            url=url,
            date=date,
            sweep_date=sweep_date,
            keep_text=keep_text,
            format=format,
            max_document=max_document,
            threads=threads,
            memory=memory,
            scratch=scratch,
        )
        told(report, on_reject)
        return report

    def add_files(
        self,
        *paths: Path,
        text: str = "text",
        id: str = "id",
        url: str = "url",
        date: str = "date",
        sweep_date: str | None = None,
        keep_text: bool = False,
        format: str = "auto",
        on_reject: str = "warn",
        progress: Progress | None = None,
        max_document: int | None = None,
        threads: int | None = None,
        memory: int | None = None,
        scratch: Path | None = None,
    ) -> dict[str, Any]:
        """Adds files, folders and patterns, of every kind that ``lookalike add`` reads.

        >>> import lookalike, tempfile, os, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.txt").write_text("some words in a file of their own")
        >>> lookalike.Collection.create(folder / "c").add_files(folder / "a.txt")["added"]
        1
        """
        checked(on_reject)
        report = self._inner.add_files(
            list(paths),
            progress,
            on_reject == "raise",
            text=text,
            id=id,
            url=url,
            date=date,
            sweep_date=sweep_date,
            keep_text=keep_text,
            format=format,
            max_document=max_document,
            threads=threads,
            memory=memory,
            scratch=scratch,
        )
        told(report, on_reject)
        return report

    def cluster(
        self,
        resemblance: float | None = None,
        *,
        containment: float | None = None,
        link: str = "chain",
        verify: str = "auto",
        threads: int | None = None,
        memory: int | None = None,
    ) -> dict[str, Any]:
        """Clusters under a policy, beside those there are; tells what it came to.

        >>> import lookalike, tempfile, os
        >>> pages = lookalike.Collection.create(os.path.join(tempfile.mkdtemp(), "c"))
        >>> _ = pages.add(["one text of a few words", "One text, of a few words"])
        >>> pages.cluster(0.9)["clusters"]
        1
        """
        return self._inner.cluster(
            resemblance=resemblance,
            containment=containment,
            link=link,
            verify=verify,
            threads=threads,
            memory=memory,
        )

    def find(
        self,
        text: Text | None = None,
        *,
        url: str | None = None,
        top: int = 10,
        min_resemblance: float | None = None,
        min_containment: float | None = None,
        exact: bool = False,
        format: str = "auto",
    ) -> list[dict[str, Any]]:
        """What resembles a text, contains it or is contained in it, the best first.

        In place of a text, ``url`` is the URL or id of a document of the collection. A match
        is what ``lookalike find --json`` prints.

        >>> import lookalike, tempfile, os
        >>> pages = lookalike.Collection.create(os.path.join(tempfile.mkdtemp(), "c"), shingle=2)
        >>> _ = pages.add([{"id": "rose", "text": "a rose is a rose"}])
        >>> [match["id"] for match in pages.find("a rose is", min_containment=0.5)]
        ['rose']
        >>> pages.find("nothing like it")
        []
        """
        if (text is None) == (url is None):
            raise UsageError("find() takes a text or the `url` of a document: give one of the two")
        least = {"min_resemblance": min_resemblance, "min_containment": min_containment}
        if url is not None:
            return self._inner.find_url(url, top, exact, **least)
        return self._inner.find(text, top, exact, format=format, **least)

    def where(self, url: str) -> dict[str, Any]:
        """Where a page is now, how sure that is, or that it is gone.

        >>> import lookalike, tempfile, os
        >>> pages = lookalike.Collection.create(os.path.join(tempfile.mkdtemp(), "c"))
        >>> _ = pages.add([{"url": "http://a.example/", "text": "some words of a page"}])
        >>> pages.where("http://b.example/")["status"]
        'unknown'
        """
        return self._inner.where(url)

    def documents(self, *, policy: str | None = None) -> _lookalike.Table:
        """One row a document, with its cluster; ``policy`` names another clustering.

        >>> import lookalike, tempfile, os, polars as pl
        >>> pages = lookalike.Collection.create(os.path.join(tempfile.mkdtemp(), "c"))
        >>> _ = pages.add(["one text of a few words", "One text, of a few words"])
        >>> pl.DataFrame(pages.documents())["cluster"].to_list()
        [0, 0]
        """
        return self._inner.documents(policy)

    def pairs(self) -> _lookalike.Table:
        """The counted pairs.

        >>> import lookalike, tempfile, os
        >>> pages = lookalike.Collection.create(os.path.join(tempfile.mkdtemp(), "c"), shingle=1)
        >>> _ = pages.add(["one text of a few words", "one text of few words"])
        >>> len(pages.pairs())
        1
        """
        return self._inner.pairs()

    def clusters(self, *, policy: str | None = None) -> _lookalike.Table:
        """One row a cluster of two and more: its representative, how like it the others are.

        >>> import lookalike, tempfile, os
        >>> pages = lookalike.Collection.create(os.path.join(tempfile.mkdtemp(), "c"))
        >>> _ = pages.add(["one text of a few words", "One text, of a few words"])
        >>> pages.clusters()
        <lookalike.Table of 1 rows: cluster, size, representative, representative_id, representative_url, lowest_resemblance, median_resemblance, flags>
        """
        return self._inner.clusters(policy)

    def __len__(self) -> int:
        return len(self._inner)

    def __repr__(self) -> str:
        return repr(self._inner)
