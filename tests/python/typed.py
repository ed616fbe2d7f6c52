"""Checked by `mypy --strict`, and run: what a user writes has types."""

import os
import tempfile

import lookalike

one: lookalike.Sketch = lookalike.sketch("a rose is a rose", shingle=2)
figure = one.resemblance(one)
assert figure is not None and figure["value"] == 1.0
passages: object = lookalike.compare("a b c", "a b d", shingle=1)["passages"]
pages: lookalike.Collection = lookalike.Collection.create(os.path.join(tempfile.mkdtemp(), "c"))
try:
    pages.add(["a text"], on_reject="raise")
except lookalike.Error as error:
    print(error.hint)
names: list[str] = pages.documents().column_names
folder: str = pages.path.name
