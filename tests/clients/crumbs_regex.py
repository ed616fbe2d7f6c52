"""The rules of `crumbs`, as Python's `re` applies them: what becomes one is one page."""

import json
import pathlib
import re

from common import add, folder, lookalike, words

HOST = "https://a.example"


def main():
    pages = list(site())
    with folder() as work:
        work = pathlib.Path(work)
        lines = (json.dumps({"url": url, "text": " ".join(words(page, 60)), "date": "2026-11-16"}) for url, page in pages)
        (work / "site.jsonl").write_text("\n".join(lines) + "\n")
        add(work / "site", work / "site.jsonl")
        told = [json.loads(line) for line in lookalike("crumbs", work / "site", "--json", "--apply").splitlines()]
    *rules, last = told
    kinds = sorted(rule["kind"] for rule in rules)
    assert kinds == ["alias", "case", "index", "mirror", "parameter", "path-id", "path-parameter", "slash"], kinds
    forms = {}
    for url, page in pages:
        forms.setdefault(applied(rules, url), set()).add(page)
    mixed = {form: of for form, of in forms.items() if len(of) > 1}
    assert not mixed, f"different pages became one: {mixed}"
    assert len(forms) == last["apply"]["enough"], f"{len(forms)} are left, {last} is said"
    assert len(forms) < len(pages) / 2
    for rule in rules:
        for a, b in rule["examples"]:
            assert applied(rules, a) == applied(rules, b), rule
    print(f"ok: {len(rules)} rules make {len(forms)} addresses of {len(pages)}, as they say")


def site():
    """Every crumb once, each on pages that no other is on: addresses and their pages."""
    for number in range(8):
        for page, urls in {
            "parameter": [f"/p/{number}?id={number}", f"/p/{number}?sid=1&id={number}", f"/p/{number}?id={number}&sid=2"],
            "alias": [f"/v/new/{number}", f"/v/now/{number}"],
            "path-id": [f"/s/ab12cd{number}{number}/x{number}", f"/s/0{number}ffaa99/x{number}"],
            "path-parameter": [f"/j/{number};jsid=1", f"/j/{number};jsid=2"],
            "index": [f"/i{number}/", f"/i{number}/index.htm"],
            "slash": [f"/l/{number}", f"/l/{number}/"],
        }.items():
            for url in urls:
                yield HOST + url, f"{page} {number}"
            if number != 3:
                yield "http://mirror.example:8080" + urls[0], f"{page} {number}"
        for url in (f"http://case.example/A+b{number}.ASP", f"http://case.example/a+b{number}.asp"):
            yield url, f"case {number}"
        yield f"{HOST}/q?sid={number}", f"sid {number}"


def applied(rules, url):
    """All substitutions, in their order, until none changes anything."""
    before = None
    while before != url:
        before = url
        for rule in rules:
            for step in rule["regex"]:
                url = replaced(step, url)
    return url


def replaced(step, url):
    if r"\L" in step["replacement"]:
        return re.sub(step["pattern"], lambda found: found[1] + found[2].lower() + found[3], url, count=1)
    return re.sub(step["pattern"], step["replacement"], url, count=1)


main()
