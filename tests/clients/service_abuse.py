"""What strangers send to a service: it stays quick, small and silent, and shows text only as text."""

import base64
import concurrent.futures
import gzip
import html.parser
import http.client
import json
import pathlib
import random
import re
import socket
import subprocess
import threading
import time
import urllib.parse

from common import LOOKALIKE, add, folder, words
from service import Service, demo, is_there

HOST = "Host: localhost\r\n"


def main():
    with folder() as work:
        work = pathlib.Path(work)
        collection = demo(work / "crawl")
        with Service(collection) as service:
            # All that follows is asked while these wait.
            slow = SlowClients(service)
            check_hosts(service)
            check_paths(service)
            check_malformed(service)
            check_bodies(service)
            check_slow_reader(service)
            slow.check()
        check_token(collection)
        check_markup(work)
        check_silence(collection)
        check_end(collection)
    print("abuse: slow, large, malformed and foreign requests are refused, and text stays text")


# --- plain sockets -------------------------------------------------------------------------


def connect(service, timeout=10):
    return socket.create_connection(("127.0.0.1", service.port), timeout=timeout)


def until_closed(stream):
    """All that comes until the other side closes. A reset is an end too."""
    out = b""
    try:
        while part := stream.recv(1 << 16):
            out += part
    except ConnectionError:
        pass
    return out


def raw(service, request):
    """The status and the head of the answer to these bytes; 0 if the connection is closed without one."""
    if isinstance(request, str):
        request = request.encode("latin-1")
    with connect(service) as stream:
        try:
            stream.sendall(request)
        except ConnectionError:
            pass
        answer = until_closed(stream)
    status = re.match(rb"HTTP/1\.[01] (\d{3}) ", answer)
    return int(status[1]) if status else 0, answer.partition(b"\r\n\r\n")[0].decode("latin-1").lower()


class SlowClients:
    """300 half heads, 50 connections that say nothing, and a body that never ends."""

    def __init__(self, service):
        self.service = service
        self.asked = time.monotonic()
        self.streams = [connect(service) for _ in range(350)]
        for stream in self.streams[:300]:
            stream.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        self.body = connect(service)
        self.body.sendall(f"POST /api/v1/find HTTP/1.1\r\n{HOST}Content-Length: 1000\r\n\r\nsome".encode())

    def check(self):
        pages = ["/", "/clusters", "/lookup", "/healthz"]
        left = [*self.streams, self.body]
        while left and time.monotonic() - self.asked < 40:
            asked = time.monotonic()
            status = self.service.ask(random.choice(pages)).status
            took = time.monotonic() - asked
            assert status == 200 and took < 2, f"status {status} after {took:.1f} s while {len(left)} clients are slow"
            left = [stream for stream in left if not is_closed(stream)]
            time.sleep(0.25)
        assert not left, f"{len(left)} slow clients are still connected after 40 s"
        for stream in [*self.streams, self.body]:
            stream.close()


def is_closed(stream):
    stream.setblocking(False)
    try:
        while part := stream.recv(1 << 16):
            status = int(part.split()[1]) if part.startswith(b"HTTP/1.1 ") else 0
            assert status in (0, 400, 408), f"a slow client was told {part[:200]}"
    except BlockingIOError:
        return False
    except ConnectionError:
        pass
    return True


# --- one request ---------------------------------------------------------------------------


def check_hosts(service):
    end = "Connection: close\r\n\r\n"
    for expected, lines in [
        (200, HOST),
        (200, "Host: 127.0.0.1:80\r\n"),
        (200, "Host: [::1]:80\r\n"),
        (421, "Host: evil.example\r\n"),
        (421, "Host: localhost.evil.example\r\n"),
        (421, "Host: 127.0.0.1.evil.example\r\n"),
        (421, "Host: \r\n"),
        (400, ""),
        (400, HOST + HOST),
        (400, HOST + "Host: evil.example\r\n"),
    ]:
        status, _ = raw(service, f"GET /api/v1/collection HTTP/1.1\r\n{lines}{end}")
        assert status == expected, f"{lines!r}: status {status}, expected {expected}"
    for target, lines, expected in [
        ("http://evil.example/", HOST, 421),
        ("http://localhost/", "Host: evil.example\r\n", 421),
        ("http://localhost/", HOST + HOST, 400),
        ("http://localhost/", "", 400),
        ("http://localhost/", HOST, 200),
    ]:
        status, _ = raw(service, f"GET {target} HTTP/1.1\r\n{lines}{end}")
        assert status == expected, f"{target} with {lines!r}: status {status}, expected {expected}"
    for method in ["GET", "POST", "OPTIONS", "HEAD"]:
        for path in ["/", "/api/v1/find?url=x", "/api/openapi.json", "/nothing"]:
            lines = "Origin: https://evil.example\r\nAccess-Control-Request-Method: POST\r\nContent-Length: 0\r\n"
            status, head = raw(service, f"{method} {path} HTTP/1.1\r\n{HOST}{lines}{end}")
            assert "access-control-" not in head, f"{method} {path}: {head}"
            assert "content-security-policy" in head and status < 500, f"{method} {path}: {status} {head}"
            assert method != "POST" or status == 403, f"a form of another site: {path} gives {status}"


def check_paths(service):
    places = [
        "/static/../../etc/passwd", "/static/..%2f..%2fetc/passwd", "/static/%2e%2e/%2e%2e/etc/passwd", "/static/",
        "/..", "//etc/passwd", "/./etc/passwd", "/static//etc/passwd", "/static/%00", "/static/style.css%00.html",
        "/%2e%2e/%2e%2e/%2e%2e/etc/passwd", "/static/..\\..\\etc\\passwd", "/documents/../../etc/passwd",
        "/clusters/%2e%2e", "/documents/-1", "/documents/99999999999", "/clusters/1e9", "/documents/%ff", "/MANIFEST-3",
        "file:///etc/passwd", "http://localhost/static/../../etc/passwd", "http://localhost//etc/passwd",
        "/api/v1/../../etc/passwd", "/api/v1/clusters/%2e%2e%2fdocuments", "/found/", "/found/file:///etc/passwd",
        "/found/../../etc/passwd", "*", "etc/passwd", "",
    ]  # fmt: skip
    for place in places:
        status, head = raw(service, f"GET {place} HTTP/1.1\r\n{HOST}Connection: close\r\n\r\n")
        assert status in (400, 404), f"{place!r}: status {status}\n{head}"


def check_malformed(service):
    end = HOST + "Connection: close\r\n\r\n"
    cases = {
        "no version": "GET /\r\n\r\n",
        "no path": "GET\r\n\r\n",
        "no head": "\r\n" * 4 + "\0" * 64 + "\r\n\r\n",
        "version 9": f"GET / HTTP/9.9\r\n{end}",
        "version 2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)) + b"\r\n\r\n",
        "a bad method": f"G{{}}T / HTTP/1.1\r\n{end}",
        "an unknown method": f"BREW / HTTP/1.1\r\n{end}",
        "CONNECT": f"CONNECT localhost:22 HTTP/1.1\r\n{end}",
        "NUL in the path": f"GET /\0 HTTP/1.1\r\n{end}",
        "NUL in a header": f"GET /nothing HTTP/1.1\r\nX: a\0b\r\n{end}",
        "a folded header": f"GET /nothing HTTP/1.1\r\nX: a\r\n b\r\n{end}",
        "no colon": f"GET / HTTP/1.1\r\nX\r\n{end}",
        "space before the colon": f"GET / HTTP/1.1\r\nX : a\r\n{end}",
        "a header of 1 MiB": f"GET / HTTP/1.1\r\nX: {'a' * (1 << 20)}\r\n{end}",
        "a path of 1 MiB": f"GET /{'a' * (1 << 20)} HTTP/1.1\r\n{end}",
        "10,000 headers": "GET / HTTP/1.1\r\n" + "X: a\r\n" * 10_000 + end,
        "lengths that differ": f"POST /api/v1/find HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 5\r\n{end}abcde",
        "a length that is none": f"POST /api/v1/find HTTP/1.1\r\nContent-Length: -1\r\n{end}",
        "a length with a plus": f"POST /api/v1/find HTTP/1.1\r\nContent-Length: +5\r\n{end}abcde",
        "an endless length": f"POST /api/v1/find HTTP/1.1\r\nContent-Length: {'9' * 40}\r\n{end}",
        "a chunk that is none": f"POST /api/v1/find HTTP/1.1\r\nTransfer-Encoding: chunked\r\n{end}xyz\r\n",
        "an unknown coding": f"POST /api/v1/find HTTP/1.1\r\nTransfer-Encoding: rot13\r\n{end}abcde",
        "a length and chunks": f"POST /x HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n{end}0\r\n\r\n",
        "no such encoding": f"POST /api/v1/find HTTP/1.1\r\nContent-Encoding: lzma\r\nContent-Length: 5\r\n{end}abcde",
        "not gzip": f"POST /api/v1/find HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n{end}abcde",
        "not a form": f"POST /lookup HTTP/1.1\r\nContent-Type: multipart/form-data\r\nContent-Length: 5\r\n{end}abcde",
        "half a form": f"POST /lookup HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 5\r\n{end}--x\r\n",
        "no type": f"POST /pair HTTP/1.1\r\nContent-Length: 5\r\n{end}abcde",
        "bad UTF-8": f"GET /lookup?url=%ff%fe HTTP/1.1\r\n{end}",
    }  # fmt: skip
    for name, request in cases.items():
        asked = time.monotonic()
        status, head = raw(service, request)
        took = time.monotonic() - asked
        assert status == 0 or 400 <= status < 500, f"{name}: status {status}\n{head}"
        assert took < 5, f"{name}: the answer took {took:.1f} s"


def check_bodies(service):
    """Too much is refused before it is read or decoded whole."""
    before = service.anonymous()
    asked = time.monotonic()
    for path in ["/api/v1/find", "/api/v1/compare", "/lookup", "/pair"]:
        with connect(service) as stream:
            stream.sendall(f"POST {path} HTTP/1.1\r\n{HOST}Content-Length: {1 << 40}\r\n\r\nabc".encode())
            answer = stream.recv(1 << 16)
        assert answer.startswith(b"HTTP/1.1 413 "), f"1 TiB declared to {path}: {answer[:200]}"
    assert time.monotonic() - asked < 2, "1 TiB declared is not refused at once"

    for path in ["/api/v1/find", "/lookup"]:
        status, sent = endless(service, path)
        assert status in (0, 413), f"an endless body to {path}: status {status}"
        assert sent < 300 << 20, f"an endless body to {path}: {sent >> 20} MiB were taken"

    bombs = {"gzip": gzip.compress(bytes(1 << 30), 1), "zstd": zstd_bomb(1 << 30)}
    for coding, bomb in bombs.items():
        for path in ["/api/v1/find", "/api/v1/compare", "/lookup"]:
            headers = {"Content-Encoding": coding, "Content-Type": "application/x-www-form-urlencoded"}
            status = service.ask(path, "POST", bomb, headers, timeout=30).status
            assert status == 413, f"{len(bomb)} bytes that are 1 GiB in {coding}, to {path}: status {status}"
    grown = service.anonymous() - before
    assert grown < 200, f"{grown:.0f} MiB more after bodies that are too large"
    text = " ".join(words(1, 200)).encode()
    answer = service.ask("/api/v1/find", "POST", gzip.compress(text), {"Content-Encoding": "gzip"})
    assert answer.status == 200, f"a small body in gzip: {answer.text}"


def endless(service, path):
    """Sends chunks until it is told to stop; gives the status and the bytes it got rid of."""
    chunk = b"10000\r\n" + b"word " * 13107 + b"x\r\n"
    sent = 0
    with connect(service) as stream:
        stream.sendall(f"POST {path} HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n".encode())
        try:
            while sent < 1 << 30:
                stream.sendall(chunk)
                sent += len(chunk)
        except (ConnectionError, TimeoutError):
            pass
        answer = until_closed(stream)
    return int(answer.split()[1]) if answer.startswith(b"HTTP/1.1 ") else 0, sent


def zstd_bomb(size):
    """A zstd frame of `size` zeros: blocks that say to repeat one byte (RFC 8878)."""
    block = 128 << 10
    frame = bytearray(b"\x28\xb5\x2f\xfd" + b"\x00" + b"\x38")  # magic, no flags, a window of 128 KiB
    for at in range(size // block):
        is_last = at == size // block - 1
        frame += (is_last | 1 << 1 | block << 3).to_bytes(3, "little") + b"\0"
    return bytes(frame)


def check_slow_reader(service):
    """Whoever does not read the answer keeps nobody from theirs."""
    text = " ".join(words(2, 40_000))
    body = json.dumps({"a": {"text": text}, "b": {"text": text.replace("a", "b")}})
    form = urllib.parse.urlencode({"text": text})
    streams = []
    for _ in range(50):
        stream = socket.socket()
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stream.connect(("127.0.0.1", service.port))
        # About 9 MB of answers, asked for at once and never read.
        request = f"GET /api/openapi.json HTTP/1.1\r\n{HOST}\r\n" * 300
        stream.sendall(request.encode())
        streams.append(stream)
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        asked = time.monotonic()
        status = service.ask("/").status
        took = time.monotonic() - asked
        assert status == 200 and took < 2, f"status {status} after {took:.1f} s beside clients that do not read"
    assert service.ask("/api/v1/compare", "POST", body).status == 200
    assert service.ask("/lookup", "POST", form, {"Content-Type": "application/x-www-form-urlencoded"}).status == 200
    for stream in streams:
        stream.close()


def check_token(collection):
    """Others get in only with the token."""
    command = [LOOKALIKE, "serve", collection, "--listen", "0.0.0.0:0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert done.returncode == 2 and len(errors) == 1 and "token" in errors[0], f"{done.returncode}: {done.stderr}"
    token = "correct-horse-battery"
    basic = base64.b64encode(f"anybody:{token}".encode()).decode()
    wrong = base64.b64encode(b"anybody:wrong").decode()
    with Service(collection, "--token", token, listen="0.0.0.0:0") as service:
        for path in ["/", "/api/v1/collection", "/metrics", "/static/style.css", "/found/http://x/", "/nothing"]:
            for expected, value in [
                (401, None), (401, "Bearer"), (401, "Bearer "), (401, f"Bearer {token}x"), (401, f"Bearer {token[:-1]}"),
                (401, f"Basic {wrong}"), (401, "Basic !!!"), (401, f"Digest {token}"), (401, token),
                (200, f"Bearer {token}"), (200, f"Basic {basic}"),
            ]:  # fmt: skip
                answer = service.ask(path, headers={"Authorization": value} if value else {})
                is_let_in = answer.status != 401
                assert is_let_in == (expected == 200), f"{path} with {value!r}: status {answer.status}"
                asks = answer.headers["WWW-Authenticate"] or ""
                assert is_let_in or asks.startswith("Basic "), f"{path}: asked by {asks!r}"
        assert service.ask("/healthz").status == 200


# --- markup --------------------------------------------------------------------------------

NASTY = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "</textarea></title></style><svg/onload=alert(1)>",
    "javascript:alert(document.domain)",
    "http://site.example/\"onclick=\"alert(1)",
    "http://site.example/<b>&lt;i&gt;&#60;u&#62;",
    "http://site.example/\u202egpj.exe\u2066",
    "http://site.example/nul\0in\x1bit\x7f\x85",
    "http://site.example/\r\nSet-Cookie: a=b",
    "{{7*7}}{% raw %}${7*7}",
    "data:text/html,<script>alert(1)</script>",
]


class Page(html.parser.HTMLParser):
    """Complains of all that a page of the service has no use for; keeps its text and links."""

    def __init__(self, path, text):
        super().__init__(convert_charrefs=True)
        self.path, self.links, self.shown, self.inside = path, [], [], None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        where = f"{self.path}: <{tag} {attrs}>"
        self.inside = tag
        assert tag in TAGS, where
        for name, value in attrs.items():
            assert not name.startswith("on") and name not in ("style", "srcdoc", "formaction", "background"), where
            if name in ("href", "src", "action", "xlink:href"):
                assert re.match(r"/(?!/)|#|$", value), where
        if tag == "script":
            assert re.fullmatch(r"/static/[a-z]+\.js", attrs.get("src", "")), where
        if tag == "a" and attrs.get("href", "").startswith("/"):
            self.links.append(attrs["href"])
        self.shown.extend(value for name, value in attrs.items() if value and name in ("value", "title", "aria-label"))

    def handle_data(self, data):
        assert self.inside != "script" or not data.strip(), f"{self.path}: a script within the page: {data}"
        self.shown.append(data)

    def handle_endtag(self, tag):
        self.inside = None

    def handle_comment(self, data):
        raise AssertionError(f"{self.path}: a comment: {data}")


TAGS = """
    html head meta title link script body a nav main header section h1 h2 h3 p dl div dt dd figure figcaption form label
    input textarea select option button fieldset legend table thead tbody tr th td small span strong em code bdi mark
    details summary svg g rect line path polyline circle text tspan defs desc
""".split()


def check_policy(path, answer):
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "*" not in policy, f"{path}: {policy}"
    assert answer.headers["X-Content-Type-Options"] == "nosniff", path
    assert answer.headers["Set-Cookie"] is None, path
    assert answer.status < 500, f"{path}: status {answer.status}\n{answer.text}"


def check_markup(work):
    """Names, addresses and texts of documents are shown and never obeyed."""
    rows = []
    frame = words(3, 300)
    for number, nasty in enumerate(NASTY):
        text = [*frame[:100], nasty, *frame[100:], *words(number + 10, 10), *NASTY]
        # By id, by URL, by both: what a page shows first differs.
        rows.append({"id": nasty, "text": " ".join(text)})
        rows.append({"url": nasty, "text": " ".join(text[5:])})
        rows.append({"id": f"id {nasty}", "url": f"http://site.example/{number}/{nasty}", "text": " ".join(text[9:])})
    nasty_file = work / "<img src=x onerror=alert(1)>.jsonl"
    nasty_file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    add(work / "nasty", nasty_file)
    with Service(work / "nasty") as service:
        shown = crawl(service)
        for nasty in NASTY:
            visible = re.sub(r"[\x00-\x1f\x7f-\x9f]+", "", nasty)
            assert visible in shown, f"{nasty!r} is nowhere to be seen: the test does not test it"
        check_answers(service, rows)
        check_found(service, rows)


def crawl(service):
    """Every page that links lead to, and forms and errors with markup in them; gives all that they show."""
    shown = []
    quote = urllib.parse.quote

    def look_at(path, answer):
        check_policy(path, answer)
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8", f"{path}: {answer.headers}"
        page = Page(path, answer.text)
        shown.extend(page.shown)
        return page.links

    seen, queue = set(), ["/"]
    queue += [f"/lookup?url={quote(nasty, safe='')}" for nasty in NASTY]
    queue += [f"/clusters?host={quote(nasty, safe='')}" for nasty in NASTY]
    queue += [f"/copies?url={quote(nasty, safe='')}" for nasty in NASTY]
    queue += [f"/{quote(nasty, safe='')}" for nasty in NASTY]
    queue += [f"/{kind}/{quote(NASTY[0], safe='')}" for kind in ("documents", "clusters", "static", "found")]
    fields = ("clusters?flag", "clusters?sort", "clusters?min_size", "pair?a", "lookup?doc")
    queue += [f"/{field}={quote(NASTY[1], safe='')}" for field in fields]
    while queue:
        path = queue.pop(0)
        if path in seen or len(seen) > 400:
            continue
        seen.add(path)
        queue += look_at(path, service.ask(path, headers={"Accept": "text/html"}))
    assert len(seen) > 150, f"only {len(seen)} pages were found"
    # A text with NUL in it is no text.
    text = (" ".join(words(3, 300)) + " ".join(NASTY)).replace("\0", "")
    browser = {"Accept": "text/html"}
    form = {"Content-Type": "application/x-www-form-urlencoded", **browser}
    for path, fields in [("/lookup", {"text": text}), ("/pair", {"text": text, "b": "1"}), ("/pair", {"text": text, "b": NASTY[1]})]:
        look_at(path, service.ask(path, "POST", urllib.parse.urlencode(fields), form))
    part = 'Content-Disposition: form-data; name="file"; filename="<script>alert(1)<\\/script>"'
    body = f"--x\r\n{part}\r\n\r\n{text}\r\n--x--\r\n".encode()
    look_at("a file", service.ask("/lookup", "POST", body, {"Content-Type": "multipart/form-data; boundary=x", **browser}))
    return re.sub(r"[\x00-\x1f\x7f-\x9f\ufffd]+", "", "\n".join(shown))


def check_answers(service, rows):
    """JSON is JSON, whatever is in it."""
    quote = urllib.parse.quote
    for row in rows:
        name = quote(row.get("url") or row["id"], safe="")
        for path in [f"/api/v1/find?url={name}", f"/api/v1/members?url={name}", f"/api/v1/compare?a={name}&b={name}"]:
            answer = service.ask(path, headers={"Accept": "text/html"})
            check_policy(path, answer)
            assert answer.status == 200, f"{path}: {answer.text}"
            assert answer.headers["Content-Type"] == "application/json", path
            answer.json()
    names = [(one["id"], one["url"]) for one in service.ask("/api/v1/clusters/0?limit=500").json()["members"]]
    assert sorted(names, key=str) == sorted(((row.get("id"), row.get("url")) for row in rows), key=str), names
    for path in ["/api/v1/clusters", f"/api/v1/{quote(NASTY[0], safe='')}", f"/api/v1/find?top={quote(NASTY[0], safe='')}"]:
        answer = service.ask(path, headers={"Accept": "text/html"})
        check_policy(path, answer)
        assert answer.headers["Content-Type"] == "application/json", path
    for line in service.ask("/metrics").text.splitlines():
        assert re.fullmatch(r"# .*|[a-z_]+(\{[^{}<>]*\}|\{route=\"[^<>]*\",status=\"\d+\"\})? [0-9.e+-]+", line), line


def check_found(service, rows):
    """Nobody is led anywhere but to an address of the web, in one header."""
    for row in rows:
        for name in filter(None, (row.get("id"), row.get("url"))):
            for path in {"/found/" + urllib.parse.quote(name, safe=""), "/found/" + urllib.parse.quote(name, safe=":/")}:
                answer = service.ask(path)
                check_policy(path, answer)
                place = answer.headers["Location"]
                assert place is None or re.fullmatch(r"https?://[!-~]+", place), f"{path} leads to {place!r}"
                assert (answer.status == 302) == (place is not None), f"{path}: {answer.status} {place!r}"


# --- the outside, and the end --------------------------------------------------------------


def check_silence(collection):
    """It fetches nothing: no address that it is given, and nothing of its own."""
    calls = []
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.2)
    port = listener.getsockname()[1]
    is_over = threading.Event()

    def count():
        while not is_over.is_set():
            try:
                calls.append(listener.accept())
            except TimeoutError:
                pass

    counting = threading.Thread(target=count)
    counting.start()
    trace = pathlib.Path(collection).parent / "connects"
    under = ()
    if is_there("strace"):
        # -D: the service is our child, the tracer is not.
        calls_to_see = "trace=bind,connect,sendto,sendmsg,sendmmsg"
        under = ("strace", "-D", "-f", "--seccomp-bpf", "-qq", "-e", calls_to_see, "-o", str(trace))
    with Service(collection, under=under) as service:
        for url in [f"http://127.0.0.1:{port}/page", f"http://localhost:{port}/", f"http://[::ffff:127.0.0.1]:{port}/"]:
            name = urllib.parse.quote(url, safe="")
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            page = f'<html><head><link rel=stylesheet href="{url}"></head><body><img src="{url}">{url} {" ".join(words(4, 50))}'
            service.ask(f"/lookup?url={name}")
            service.ask(f"/found/{name}")
            service.ask(f"/found/{url}?prefer=newest")
            service.ask(f"/api/v1/find?url={name}&exact=true")
            service.ask(f"/api/v1/members?url={name}")
            service.ask(f"/api/v1/compare?a={name}&b={name}")
            service.ask("/api/v1/compare", "POST", json.dumps({"a": {"url": url}, "b": {"text": url}}))
            service.ask("/api/v1/find?exact=true", "POST", page, {"Content-Type": "text/html"})
            service.ask("/lookup", "POST", urllib.parse.urlencode({"url": url}), form)
            service.ask("/lookup", "POST", urllib.parse.urlencode({"text": url}), form)
            service.ask("/lookup", "POST", urllib.parse.urlencode({"text": page, "exact": "1"}), form)
            raw(service, f"GET {url} HTTP/1.1\r\n{HOST}Connection: close\r\n\r\n")
            raw(service, f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n{HOST}Connection: close\r\n\r\n")
        for path in ["/", "/clusters", "/lookup", "/pair?a=0&b=1", "/documents/0"]:
            service.ask(path)
        assert service.stop() == 0
    is_over.set()
    counting.join()
    listener.close()
    assert not calls, f"{len(calls)} connections to an address it was only told of"
    if under:
        calls = [line for line in trace.read_text().splitlines() if re.search(r"connect\(|sin6?_addr", line)]
        assert len(calls) == 1 and "bind(" in calls[0], "more than its own socket:\n" + "\n".join(calls)


def check_end(collection):
    """Told to stop, it finishes what is under way and ends well, whatever hangs on."""
    text = " ".join(words(5, 1000)).encode()
    with Service(collection) as service:
        is_told = threading.Event()
        counts = {"before": 0, "after": 0}
        hanging = [connect(service) for _ in range(20)]
        for stream in hanging[:10]:
            stream.sendall(b"GET / HTTP/1.1\r\n")
        under_way = connect(service)
        under_way.sendall(f"POST /api/v1/find HTTP/1.1\r\n{HOST}Content-Length: {len(text)}\r\n\r\n".encode() + text[:500])

        def load():
            connection = service.connection()
            while True:
                try:
                    connection.request("POST", "/api/v1/find", text)
                except (ConnectionError, http.client.CannotSendRequest):
                    return
                try:
                    response = connection.getresponse()
                    body = response.read()
                except (ConnectionError, http.client.RemoteDisconnected):
                    # It was closed before this request was read.
                    assert is_told.is_set(), "a connection broke off under load"
                    return
                assert response.status == 200 and json.loads(body)["samples"] > 0, response.status
                counts["after" if is_told.is_set() else "before"] += 1
                if response.headers["Connection"] == "close":
                    return

        with concurrent.futures.ThreadPoolExecutor() as pool:
            loads = [pool.submit(load) for _ in range(4)]
            time.sleep(1)
            is_told.set()
            told = time.monotonic()
            service.process.terminate()
            time.sleep(0.5)
            under_way.sendall(text[500:])
            answer = until_closed(under_way)
            assert answer.startswith(b"HTTP/1.1 200 "), f"a request under way was told {answer[:200]}"
            status = service.process.wait(11)
            took = time.monotonic() - told
            for one in loads:
                one.result()
        assert status == 0, f"exit status {status}"
        assert took < 11, f"it ended after {took:.1f} s"
        assert counts["before"] > 0, "there was no load"
        for stream in [*hanging, under_way]:
            stream.close()


main()
