#!/usr/bin/env python3
"""Writes crates/lookalike/tests/fixtures/surt.jsonl: addresses, and the keys that the Python package surt gives.

    pip install surt==0.3.1 && scripts/surt_vectors.py

One array a line: the address, and its key or null where the package fails.
"""

import json
import pathlib

import surt

HOSTS = """
example.com www.example.com WWW.Example.COM www2.example.com www33.example.org wwww.example.com www.com www.
example.com. .example.com example..com a...b EXAMPLE example.com:80 example.com:443 example.com:8080 example.com:
example.com::: example.com:0 example.com:0080 example.com:65535 example.com:65536 example.com:x example.com:8x user@example.com
user:pass@example.com:81 a@b@example.com @example.com 192.168.1.1 127.1 1.2.3 1.2.3.4.5 1.2.3.400 256.1.1.1 010.0.0.1
0177.0.0.1 08.1.1.1 3232235777 4294967296 99999999999999999999 0 0x7f.0.0.1 [::1] [::1]:8080 [2001:DB8::1] [::1 ::1] [fe80::1%25En0]
bücher.de BÜCHER.DE straße.de 日本語.jp 日本語。jp xn--bcher-kva.de россия.рф παράδειγμα.gr ﬃ.example ü..de xn--ü.de ☃.net 💩.la
a\u00adb.com ab\u200dc.com שלום.co.il aשלום.com Ⅷ.example %62%C3%BCcher.de b%fc.de %77ww.example.com ex%2eample.com a%2525b.com
a_b.com -a-.com a,b.com a;b.com exa<mple.com exa%20mple.com exa\\mple.com localhost intranet
"""
PATHS = """
- / // /a /a/ /A/B/ /a//b /a///b// /./a /../a /a/../b /a/b/../../c /a/. /a/.. /.. /../.. /a/./b/ /%7Euser /~user /%2E%2E/a /%252e/a
/%61%62 /%zz /% /%4 /a%2Fb /a%20b /%C3%A4 /%c3%a4 /ä /日本 /a;b=c /a,b /index.html /INDEX.HTML /a:b /a@b /a+b /a&b=c /(a) /[a]
/a"b /a'b /a<b>c /a|b /a\\b /a^b /a`b /a{b} /%23 /%3F /%3f/ /%25 /%2525252541 /%00 /%0a /%7F
/(S(4hqa0555fwsecu455xqckv45))/page.aspx /(s(4hqa0555fwsecu455xqckv45)f(4hqa0555fwsecu455xqckv45))/p/page.aspx
/(4hqa0555fwsecu455xqckv45)/page.aspx?x=1 /a/(4HQA0555FWSECU455XQCKV45)/b.ASPX/ /(4hqa0555fwsecu455xqckv4)/page.aspx
/page;jsessionid=0123456789abcdef0123456789ABCDEF /page;jsessionid=123 /a/b.jsp;jsessionid=123?x=1
"""
QUERIES = """
? ?? ?a ?a= ?=a ?b=2&a=1 ?a=2&a=1 ?a&a=1&a= ?A=B ?a=b=c ?& ?&& ?a&&b ?a=1& ?&a=1 ?a=%20 ?a=+ ?a=%2B ?a=%26 ?%61=1 ?a=ä ?a=%E4 ?a=b;c=d
?x/y ?x?y ?a=http://example.com/ ?PHPSESSID=0123456789abcdef0123456789abcdef ?phpsessid=0123456789ABCDEF0123456789abcdef&a=1
?a=1&PHPSESSID=0123456789abcdef0123456789abcdef ?b=1&phpsessid=0123456789abcdef0123456789abcdef&a=1 ?phpsessid=123
?sid=0123456789abcdef0123456789abcdef ?mysid=0123456789abcdef0123456789abcdef&x=1 ?jsessionid=0123456789abcdef0123456789abcdef
?JSESSIONID=0123456789abcdef0123456789abcdef&z=1&a=2 ?ASPSESSIONIDABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX&a=1
?aspsessionidabcdefgh=abcdefghijklmnopqrstuvwx ?cfid=1&cftoken=2 ?a=1&CFID=x&CFTOKEN=y&b=2 ?cfid=&cftoken=
?sid=0123456789abcdef0123456789abcdef&sid=0123456789abcdef0123456789abcdef ?sid=0123456789abcdef0123456789abcdefg
?jsessionid=0123456789abcdef0123456789abcdef&phpsessid=0123456789abcdef0123456789abcdef&sid=0123456789abcdef0123456789abcdef
#x ?#x ?a#b?c #a#b /#/a ?a=1#/b/?c
"""
WHOLE = [
    "", " ", "\t\n", "-", "http:", "http:/", "http://", "http:///", "http:////", "http://?a", "http://#a", "http:a", "http:a/b", "http:/a/b",
    "http:////////a.com/b//c", "HTTP://Example.COM/", "HTTP:///a.com/", "hTTps://a.com:443/", "https://a.com:80/", "http://https://a.com/",
    "http://http://http://a.com/", "https://http://a.com/", "http://https/a.com", "ftp://www.a.com/x", "ftp://a.com:21/x", "ftp://a.com:80/x",
    "dns:www.Example.com", "dns://www.example.com/", "mailto:A@b.com", "mailto:a@b.com?subject=X", "urn:ISBN:123", "urn:uuid:A-B", "data:text/html,<b>",
    "javascript:alert(1)", "whois://whois.arin.net/z%20%3E", "warcinfo:/a/b.warc.gz", "metadata://gnu.org/wget", "screenshot:http://a.com/",
    "filedesc://a b.arc", "filedesc", "file:///C:/a", "about:blank", "a.com", "a.com/b", "a.com:8080", "a.com:8080/b", "localhost:80", "//a.com/b", "/a/b", "a b", "a@b.com",
    "?a", "#a", "1a:b", "a+b.c-d:e", "+a:b", ":a", "::", "http://a.com/\nb", "  http://a.com/ b  ", "http://a.com/\x0b", "\x0bhttp://a.com/", "http://a.com/\u00a0",
    "ht\ttp://a\r.com/", "http://a b.com/", "http://a.com /b", "http:\\\\a.com\\b", "http://a.com\\b", "http://.", "http://..", "http://./a", "http://:80/a", "http://:80",
    "http://@/a", "http://[/a", "http://]/a", "http://[]/a", "http://a[b]c/d", "http://" + "9" * 400 + "/", "http://" + "9" * 4301 + "/", "http://" + "ü" * 70 + ".de/",
    "http://" + "a" * 64 + ".ü/", "http://a.com/" + "%25" * 50 + "41", "http://a.com/?" + "%25" * 20 + "3D", "http://%41.com/", "http://%", "http://%/", "%", "\x00", "http://\x00/",
    "http://a.com/%%41", "http://a.com/%4%31", "http://a.com/%%34%31", "http://a.com/\ud7ff\uffff", "http://1.2.3.4\u3002", "http://\uff11.2.3.4/", "http://1.2.3.4%0a/",
]


def vectors():
    yield from WHOLE
    hosts = [host.replace("\\\\", "\\") for host in HOSTS.split()]
    paths = ["" if path == "-" else path for path in PATHS.split()]
    for host in hosts:
        yield f"http://{host}/"
        yield f"https://{host}/Path?q"
    for path in paths:
        yield f"http://example.com{path}"
        yield f"http:{path}"
    for query in QUERIES.split():
        yield f"http://example.com/{query}"
        yield f"http://example.com{query}"


def key(url):
    try:
        return surt.surt(url)
    except Exception:  # whatever it fails with
        return None


def main():
    path = pathlib.Path(__file__).resolve().parents[1] / "crates/lookalike/tests/fixtures/surt.jsonl"
    seen = dict.fromkeys(vectors())
    path.write_text("".join(json.dumps([url, key(url)], ensure_ascii=True) + "\n" for url in seen))
    print(f"{path}: {len(seen)} addresses")


if __name__ == "__main__":
    main()
