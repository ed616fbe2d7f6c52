"""Keys of addresses equal those of the Python package surt, for thousands of odd addresses."""

import json
import pathlib
import random
import socket
import unicodedata

import surt

from common import add, folder, lookalike

COUNT = 6000

SCHEMES = ["http://", "https://", "HTTP://", "ftp://", "http:///", "http:", "", "//", "dns:", "urn:", "mailto:", "https://http://", "h-t+t.p:"]
HOSTS = [
    "example.com", "www.Example.org", "www7.a.b", "127.1", "10.0.0.1", "0300.1.2.3", "3232235777", "[::1]", "bücher.de", "ΣΊΣΥΦΟΣ.gr", "straße.de",
    "日本。jp", "%77%77%77.a.com", "a..b", ".a.", "xn--bcher-kva.de", "user@h", "u:p@h.de", "é.fr", "A_b", "a%20b", "ｆｕｌｌ.com", "ﬁ.com", "\u00ad.x", "İ.tr",
    "ab\u0301c.com", "א.com", "1.2.3.4.5", "256.256.256.256", "www.www.com", "☃", "a\u200cb.de", "𝐀𝐁.com", "ꙮ.ru", "가.kr", "𐐀.us", "ǅ.hr", "ϓ.gr",
]  # fmt: skip
PORTS = ["", "", "", ":80", ":443", ":8080", ":", ":0", ":99999", ":8a"]
PIECES = [
    "/", "//", "/.", "/..", "/../", "/./", "/a", "/B", "/%7E", "/%2e%2E", "/%2F", "/%252525", "/ä", "/a b", ";x=1", ";jsessionid=" + "0A" * 16, "?", "?a=1", "&b=2",
    "&A=%31", "&a", "&a=", "=", "&", "#f", "%", "%4", "%zz", "+", "?x/y", "&phpsessid=" + "ab" * 16, "&sid=" + "12" * 16, "&cfid=1&cftoken=2", "&jsessionid=" + "f" * 32,
    "/(s(" + "a1" * 12 + "))/p.aspx", "/(" + "b2" * 12 + ")/q.ASPX", "&aspsessionid" + "QWERTYUI=" + "x" * 24, "\t", "\n", " ", "\u3000", "\u2028", "'", '"', "<>", "\\", "|", "*", ",", "!",
]  # fmt: skip


def main():
    # Names are not to be looked up: what is an address in the ways of C is one, the rest is not.
    socket.gethostbyname_ex = numeric_only
    urls = sorted(set(generated(random.Random(1997))))
    with folder() as work:
        work = pathlib.Path(work)
        lines = (json.dumps({"url": url, "text": f"words of page {number}", "date": "2026-11-16"}) for number, url in enumerate(urls))
        (work / "urls.jsonl").write_text("\n".join(lines) + "\n")
        add(work / "urls", work / "urls.jsonl")
        rows = [row.split(" ", 2) for row in lookalike("export", work / "urls", "cdxj").splitlines()]
    keys = {json.loads(facts)["url"]: key for key, _, facts in rows}
    assert keys.keys() == set(urls), f"{len(keys)} of {len(urls)} addresses came out: {list(set(urls) ^ keys.keys())[:3]}"
    wrong = [(url, keys[url], expected(url)) for url in urls if keys[url] != expected(url)]
    for url, got, wanted in wrong[:20]:
        print(f"{url!r}: {got!r}, surt: {wanted!r}")
    assert not wrong, f"{len(wrong)} keys differ"
    order = [key.encode() for key, _, _ in rows]
    assert order == sorted(order), "the lines are not in the order of their bytes"
    refused = sum(key_of(url) is None for url in urls)
    print(f"surt: {len(urls)} addresses, the same keys ({refused} have none)")


def generated(draw):
    for _ in range(COUNT):
        pieces = draw.choices(PIECES, k=draw.randint(0, 6))
        yield draw.choice(SCHEMES) + draw.choice(HOSTS) + draw.choice(PORTS) + "".join(pieces)
    for _ in range(COUNT // 4):
        alphabet = "ab:/?#@[]%.2&=;wW0 \tü"
        yield "".join(draw.choices(alphabet, k=draw.randint(1, 16)))


def numeric_only(host):
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    try:
        assert not any(c.isspace() for c in name)
        return name, [], [socket.inet_ntoa(socket.inet_aton(name))]
    except (AssertionError, OSError):
        raise socket.gaierror(name) from None


def key_of(url):
    try:
        return surt.surt(url)
    except Exception:  # whatever it fails with
        return None


def expected(url):
    """The key in one word: an address without one is its own, as for cdxj-indexer."""
    key = key_of(url)
    plain = url if key is None else key
    is_harmful = lambda c: c.isspace() or unicodedata.category(c) == "Cc"
    return "".join("".join(f"%{byte:02X}" for byte in c.encode()) if is_harmful(c) else c for c in plain)


main()
