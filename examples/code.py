#!/usr/bin/env python3
"""Functions of Python files as features: which were copied, whatever they are called now?

    code.py FILE… > functions.jsonl

A small lexer cuts each function into words, numbers, texts and signs. Names that are no
keywords become `name`, numbers `0` and texts `""`: renaming hides nothing, and comments and
white space do not count. One line of JSON a function.
"""

import json
import keyword
import re
import sys

TOKEN = re.compile(
    r"""(?P<skip>\#.*|\s+)
      | (?P<text>[rbfu]*(?:'''[\s\S]*?'''|\"\"\"[\s\S]*?\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"))
      | (?P<name>[^\W\d]\w*)
      | (?P<number>\d[\w.]*)
      | (?P<sign>\*\*=?|//=?|[-+*/%&|^=!<>]=|->|<<|>>|.)""",
    re.X,
)


def tokens(source):
    for match in TOKEN.finditer(source):
        kind, text = match.lastgroup, match.group()
        if kind == "name":
            yield text if keyword.iskeyword(text) else "name"
        elif kind == "number":
            yield "0"
        elif kind == "text":
            yield '""'
        elif kind == "sign":
            yield text


def functions(source):
    """The name and the lines of every function that stands at the margin."""
    lines = source.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("def ")]
    for start in starts:
        end = start + 1
        while end < len(lines) and (not lines[end].strip() or lines[end][0] in " \t#)"):
            end += 1
        yield re.match(r"def (\w+)", lines[start]).group(1), "\n".join(lines[start:end])


for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        for name, body in functions(file.read()):
            print(json.dumps({"id": f"{path}:{name}", "features": list(tokens(body))}))
