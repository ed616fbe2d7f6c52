#!/usr/bin/env python3
"""Writes crates/lookalike/src/corpus/html/entities.rs from the standard's table.

Python's html.entities.html5 is the WHATWG list of named character references
(https://html.spec.whatwg.org/entities.json), 2,231 names. The list is frozen by
the standard, so the output is committed and the build needs no Python.

    python3 scripts/entities.py > crates/lookalike/src/corpus/html/entities.rs
"""

from html.entities import html5

HEADER = '''\
//! The named character references of the HTML standard, all 2,231.
//!
//! Written by `scripts/entities.py`; the list is frozen by the standard. Names
//! stand without their `&` and `;`, sorted by bytes, so a lookup is a binary
//! search.

'''


def literal(text):
    """A Rust string literal: printable ASCII as it is, the rest escaped."""
    out = []
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif " " <= char <= "~":
            out.append(char)
        else:
            out.append(f"\\u{{{ord(char):x}}}")
    return '"' + "".join(out) + '"'


def table(name, doc, rows):
    print(doc)
    print("#[rustfmt::skip]")
    print(f"pub(super) static {name}: [(&str, &str); {len(rows)}] = [")
    for key, value in rows:
        print(f"    ({literal(key)}, {literal(value)}),")
    print("];")


def main():
    assert len(html5) == 2231
    closed = sorted((k[:-1], v) for k, v in html5.items() if k.endswith(";"))
    open_ = sorted((k, v) for k, v in html5.items() if not k.endswith(";"))
    assert all(k.isascii() and k.isalnum() for k, _ in closed + open_)
    print(HEADER, end="")
    table("CLOSED", "/// The references that end in a semicolon.", closed)
    print()
    table("OPEN", "/// The old ones that also count without it.", open_)


main()
