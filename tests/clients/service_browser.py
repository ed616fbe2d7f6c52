"""The web page of `lookalike serve` in a real browser: with and without script, by keyboard, on a
phone, light and dark, and when there is nothing to show."""

import importlib.resources
import json
import pathlib

from warcio.archiveiterator import ArchiveIterator

from browser import DESK, PHONE, chromium, opened
from common import CRAWL, add, edited, folder, lookalike, words
from service import Service, demo, is_there

OLD = "https://docs.example.org/current/queries-with.html"
CHANGED = "https://mirror.example.org/docs/tutorial.html"


def main():
    if not is_there("chromium"):
        return
    with folder() as work, chromium() as browser:
        work = pathlib.Path(work)
        page_source = source(CRAWL[0], OLD)
        file = work / "page.html"
        file.write_bytes(page_source)
        crawl = demo(work / "crawl")
        lookalike("index", crawl)
        with Service(crawl, "--search") as service:
            for has_script in (True, False):
                check_overview(browser, service, has_script)
                check_lookup(browser, service, has_script, page_source.decode(), file)
                check_cluster_and_pair(browser, service, has_script)
                check_changes(browser, service, has_script)
                check_search(browser, service, has_script)
            check_drop(browser, service)
            check_keyboard(browser, service, page_source.decode())
            check_refusals(browser, service, work)
            checked = check_everywhere(browser, service, page_source.decode())
        check_nothing(browser, work)
        check_gone(browser, work)
    print(f"chromium: every page works without script and by keyboard; axe has nothing against {checked} views")


def source(warc, url):
    """A page of the crawl as the crawler got it."""
    with open(warc, "rb") as file:
        for record in ArchiveIterator(file):
            if record.rec_type == "response" and record.rec_headers["WARC-Target-URI"].strip("<>") == url:
                return record.content_stream().read()
    raise AssertionError(f"{warc} has no {url}")


def look(page, address, status=200):
    """Goes to an address; what it shows fits on the screen from left to right."""
    response = page.goto(address)
    assert response.status == status, f"{address}: status {response.status}, expected {status}"
    fits(page)


def fits(page):
    wide, screen = page.evaluate("() => [document.scrollingElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= screen, f"{page.url}: {wide} px wide on a screen of {screen} px"


def says(page, *parts):
    shown = page.locator("main").inner_text()
    for part in parts:
        assert part in shown, f"{page.url} does not say `{part}`:\n{shown[:1000]}"


# --- what one does -------------------------------------------------------------------------


def check_overview(browser, service, has_script):
    with opened(browser, service, java_script_enabled=has_script) as page:
        look(page, "/")
        assert page.title().endswith("lookalike"), page.title()
        plots = page.locator("svg.plot")
        assert plots.count() == 3, f"{plots.count()} plots"
        for plot in plots.all():
            box = plot.bounding_box()
            assert box["width"] > 250 and box["height"] > 130, box
            assert plot.get_attribute("aria-label"), "a plot without a name"
            assert plot.locator(".bar, .curve").count() > 0, "a plot of nothing"
        says(page, "Documents", "Clusters", "2020-09-24", "2022-05-12", "2024-09-26")
        page.get_by_label("URL or id of a document").fill(OLD)
        page.get_by_role("button", name="Look up").click()
        says(page, "Like " + OLD)


def check_lookup(browser, service, has_script, text, file):
    with opened(browser, service, java_script_enabled=has_script) as page:
        ways = {
            "text": lambda: page.get_by_label("A text, or the source of a page").fill(text),
            "file": lambda: page.get_by_label("A file").set_input_files(file),
            "URL": lambda: page.get_by_label("URL or id of a document").fill(OLD),
        }
        for way, give in ways.items():
            for is_exact in (False, True) if way == "text" else (False,):
                look(page, "/lookup")
                give()
                page.get_by_label("read the matches again").set_checked(is_exact)
                page.get_by_role("button", name="Look up").click()
                page.locator("#answer-title").wait_for()
                fits(page)
                rows = page.locator("tbody tr")
                assert rows.count() > 0, f"nothing is found by {way}"
                assert ("exact" in rows.first.inner_text()) or not is_exact, rows.first.inner_text()
                rows.first.get_by_text("side by side").click()
                assert page.locator("mark").count() > 0, f"nothing is marked in what was found by {way}"


def check_cluster_and_pair(browser, service, has_script):
    with opened(browser, service, java_script_enabled=has_script) as page:
        look(page, "/")
        page.get_by_role("link", name="All clusters").click()
        says(page, "docs.example.org")
        page.get_by_label("Order").select_option("lowest")
        page.get_by_role("button", name="Show").click()
        page.locator("tbody a[href^='/clusters/']").first.click()
        says(page, "Members", "stands for the cluster", "Captures")
        fits(page)
        page.get_by_role("link", name="Compare document").first.click()
        fits(page)
        check_marks(page)
        check_toggle(page)
        if has_script:
            check_together(page)


def check_together(page):
    """The side that is pointed at leads, and the other follows, unless that is switched off."""
    tops = "() => [...document.querySelectorAll('.text')].map((text) => text.scrollTop)"
    reset = "() => document.querySelectorAll('.text').forEach((text) => { text.scrollTop = 0; })"
    rooms = page.evaluate("() => [...document.querySelectorAll('.text')].map((text) => text.scrollHeight - text.clientHeight)")
    assert min(rooms) > 100, f"nothing to scroll: {rooms}"
    for is_together in (True, False):
        page.get_by_label("scroll together").set_checked(is_together)
        page.evaluate(reset)
        page.locator("#a .text").hover()
        page.mouse.wheel(0, min(rooms))
        page.wait_for_timeout(500)
        a, b = page.evaluate(tops)
        assert a > 50 and (b > 0) == is_together, f"{a} and {b}, together: {is_together}"


def check_changes(browser, service, has_script):
    with opened(browser, service, java_script_enabled=has_script) as page:
        look(page, "/")
        page.get_by_role("link", name="Changes").click()
        fits(page)
        says(page, "How long pages live", "2020-09-24", "2024-09-26", "What the words mean")
        plots = page.locator("svg.plot[role=img]")
        assert plots.count() >= 4, f"{plots.count()} plots"
        for plot in plots.all():
            box = plot.bounding_box()
            assert box["width"] > 250 and box["height"] > 100, box
            assert plot.get_attribute("aria-label"), "a plot without a name"
            apart(plot)
        page.get_by_label("The history of one page").fill(CHANGED)
        page.get_by_role("button", name="Show").last.click()
        fits(page)
        says(page, CHANGED, "first seen", "identical", "changed")
        assert page.locator("circle.seen").count() == 3, "a dot for each sweep"
        page.get_by_role("link", name="Compare with the capture before").first.click()
        check_marks(page)


def check_search(browser, service, has_script):
    with opened(browser, service, java_script_enabled=has_script) as page:
        look(page, "/")
        page.get_by_role("link", name="Search").click()
        page.get_by_label("Words").fill('"recursive" queries')
        page.get_by_role("button", name="Search").click()
        page.locator("#answer-title").wait_for()
        fits(page)
        results = page.locator("ol.results > li")
        assert results.count() > 0, "nothing is found"
        marked = {mark.lower() for mark in results.first.locator("mark").all_inner_texts()}
        assert marked == {"recursive", "queries"}, f"{marked} is marked"
        clusters = page.locator("ol.results details a[href^='/clusters/']").evaluate_all("(all) => all.map((link) => link.pathname)")
        assert clusters and len(clusters) == len(set(clusters)), f"a cluster shows twice: {clusters}"
        more = page.locator("ol.results details").first
        assert not more.locator("li a").first.is_visible()
        more.locator("summary").click()
        assert more.locator("li a").first.is_visible(), "what is like it does not show"
        fits(page)
        more.locator("a[href^='/clusters/']").click()
        says(page, "Members")
        look(page, "/search?q=" + "unheard")
        says(page, "Nothing in the collection has all of that")


def apart(plot):
    """No word of a plot runs into another. Words that lean are left out: their boxes are larger than they."""
    boxes = plot.locator("text:not([transform])").evaluate_all(
        "(all) => all.map((text) => [text.textContent, text.getBoundingClientRect().toJSON()])")
    for i, (one, a) in enumerate(boxes):
        for other, b in boxes[:i]:
            across = min(a["right"], b["right"]) - max(a["left"], b["left"])
            down = min(a["bottom"], b["bottom"]) - max(a["top"], b["top"])
            assert across <= 1 or down <= 3, f"`{one}` and `{other}` run into each other"


def check_marks(page):
    """Passages are seen, and their numbers lead to their twins."""
    grounds = page.evaluate("""() => [...document.querySelectorAll("mark")].map((mark) =>
        [getComputedStyle(mark).backgroundColor, getComputedStyle(mark.closest(".text")).backgroundColor])""")
    assert len(grounds) >= 2, "nothing is marked"
    for mark, ground in grounds:
        assert mark not in (ground, "rgba(0, 0, 0, 0)"), f"a mark of {mark} on {ground}"
    for side, other in ("ab", "ba"):
        links = page.locator(f"#{side} .text a.n")
        leads = links.evaluate_all("(all) => all.map((link) => [link.id, link.hash, link.innerText])")
        assert leads, "no passage has a number"
        for place, twin, number in leads:
            assert (place, twin) == (side + number, f"#{other}{number}"), f"{place} leads to {twin}"
        links.last.click()
        twin = page.locator(page.url[page.url.index("#") :])
        assert twin.get_attribute("id") == f"{other}{links.last.inner_text()}"
        assert is_in_sight(twin), f"{page.url} is out of sight"


def is_in_sight(place):
    return place.evaluate("""(place) => {
        const box = place.getBoundingClientRect();
        return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2) === place;
    }""")


def check_toggle(page):
    ground = "() => getComputedStyle(document.querySelector('.text')).backgroundColor"
    marks = "() => getComputedStyle(document.querySelector('mark')).backgroundColor"
    before = page.evaluate(ground), page.evaluate(marks)
    page.get_by_label("what only one has").check()
    after = page.evaluate(ground), page.evaluate(marks)
    assert before[0] != after[0] and before[1] != after[1], f"{before}, then {after}"
    page.get_by_label("what both have").check()
    assert (page.evaluate(ground), page.evaluate(marks)) == before


def check_drop(browser, service):
    with opened(browser, service) as page:
        look(page, "/lookup")
        taken = page.evaluate("""() => {
            const all = new DataTransfer();
            all.items.add(new File(["some text"], "dropped.txt"));
            document.getElementById("text").dispatchEvent(new DragEvent("drop", { dataTransfer: all, cancelable: true }));
            return document.querySelector("input[type=file]").files[0]?.name;
        }""")
        assert taken == "dropped.txt", f"a dropped file becomes {taken}"


# --- by keyboard ---------------------------------------------------------------------------

FOCUS = """() => {
    const it = document.activeElement, style = getComputedStyle(it), box = it.getBoundingClientRect();
    const has_ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    const is_seen = box.width > 0 && box.height > 0 && box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight;
    return { what: it.outerHTML.slice(0, 200), is_visible: has_ring && is_seen };
}"""


def tab_to(page, wanted):
    """Presses Tab until the focus is there; it is seen at every stop."""
    for _ in range(100):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS)
        assert focus["is_visible"], f"{page.url}: the focus is not to be seen: {focus['what']}"
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", wanted):
            return
    raise AssertionError(f"{page.url}: Tab does not lead to {wanted}")


def check_keyboard(browser, service, text):
    # Changed words are part of a passage; a paragraph put in makes two of one.
    middle = text.index("</p>", len(text) // 2)
    text = f"{text[:middle]} {' '.join(words(5, 40))} {text[middle:]}"
    for viewport in (DESK, PHONE):
        with opened(browser, service, viewport=viewport) as page:
            look(page, "/")
            tab_to(page, "a.skip")
            tab_to(page, "nav a[href='/lookup']")
            page.keyboard.press("Enter")
            page.wait_for_url("**/lookup")
            tab_to(page, "textarea")
            # As a paste does: no key for each letter.
            page.keyboard.insert_text(text.replace("recursive", "repeated"))
            tab_to(page, "form.lookup button")
            page.keyboard.press("Enter")
            page.locator("#answer-title").wait_for()
            tab_to(page, "td button.link")
            page.keyboard.press("Enter")
            page.wait_for_url("**/pair")
            tab_to(page, "summary")
            page.keyboard.press("Enter")
            tab_to(page, "#show-matches")
            page.keyboard.press("ArrowDown")
            assert page.get_by_label("what only one has").is_checked()
            tab_to(page, "#a .text a.n")
            page.keyboard.press("Enter")
            assert page.url.partition("#")[2].startswith("b"), page.url
            # And on from there, to the next passage.
            page.keyboard.press("Tab")
            assert page.evaluate("() => document.activeElement.id") == "b2"


# --- nothing, or not that ------------------------------------------------------------------


def check_refusals(browser, service, work):
    with opened(browser, service) as page:
        for address, status, part in [
            ("/nothing", 404, "nothing at this address"),
            ("/lookup?url=https://nowhere.example/", 404, "there is no document `https://nowhere.example/`"),
            ("/documents/999999", 404, "there is no document 999999"),
            ("/documents/first", 404, "number"),
            ("/clusters/999999", 404, "there is no cluster 999999"),
            ("/pair?a=0&b=999999", 404, "there is no document 999999"),
            ("/pair?a=0", 400, "missing field"),
            ("/clusters?sort=colour", 400, "colour"),
            ("/found/https://nowhere.example/", 404, "there is no document"),
        ]:
            look(page, address, status)
            says(page, part, "To the overview")
        look(page, "/clusters?host=nowhere.example")
        says(page, "No cluster fits")
        look(page, "/lookup")
        page.get_by_role("button", name="Look up").click()
        says(page, "there is nothing to look up")
        look(page, "/lookup")
        page.get_by_label("A text").fill(" ".join(words(99, 200)))
        page.get_by_role("button", name="Look up").click()
        says(page, "Nothing in the collection is like it")
        large = work / "large.txt"
        large.write_bytes(b"word " * (30 << 18))
        look(page, "/lookup")
        page.get_by_label("A file").set_input_files(large)
        page.get_by_role("button", name="Look up").click()
        says(page, "the body is longer than 16.0 MiB")


def check_nothing(browser, work):
    """A collection of two documents that have nothing in common."""
    file = work / "two.jsonl"
    file.write_text("".join(json.dumps({"id": f"text {n}", "text": " ".join(words(n, 50))}) + "\n" for n in range(2)))
    add(work / "two", file)
    with Service(work / "two") as service, opened(browser, service) as page:
        for address in ("/", "/clusters"):
            look(page, address)
            says(page, "No two documents are alike enough")
        look(page, "/documents/0")
        says(page, "no date is known", "text 0", words(0, 1)[0])
        assert "Its cluster" not in page.locator("main").inner_text()


def check_gone(browser, work):
    """Sources that were moved away: all is told but the text."""
    file = work / "gone.jsonl"
    text = words(7, 300)
    texts = [text, edited(text, {50})]
    file.write_text("".join(json.dumps({"id": f"text {n}", "text": " ".join(t)}) + "\n" for n, t in enumerate(texts)))
    add(work / "gone", file)
    file.rename(work / "elsewhere.jsonl")
    with Service(work / "gone") as service, opened(browser, service) as page:
        look(page, "/clusters/0")
        says(page, "text 0", "text 1")
        page.get_by_role("link", name="Compare document").click()
        says(page, "the text of text ", "cannot be shown again")
        look(page, "/documents/0")
        says(page, "The text cannot be shown again", "text 0")


# --- everywhere ----------------------------------------------------------------------------


def check_everywhere(browser, service, text):
    """axe-core on every kind of page: light and dark, on a phone and on a desk."""
    axe = (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text()
    cluster = service.ask("/api/v1/clusters?sort=lowest&limit=1").json()["clusters"][0]
    members = service.ask(f"/api/v1/clusters/{cluster['cluster']}").json()["members"]
    one, two = members[0]["doc"], members[-1]["doc"]
    addresses = [
        "/", "/clusters", "/clusters?flag=any&host=nowhere.example", f"/clusters/{cluster['cluster']}", f"/documents/{two}",
        f"/pair?a={one}&b={two}", "/lookup", f"/lookup?doc={one}", "/changes", "/changes?host=docs.example.org",
        f"/history?url={CHANGED}", "/history", "/where", f"/where?url={OLD}", "/search", f"/copies?doc={one}", "/copies", "/search?q=recursive+queries", "/nothing",
    ]  # fmt: skip
    faults, checked = [], 0
    for viewport in (PHONE, DESK):
        for scheme in ("light", "dark"):

            def judge(page, view):
                # Said by the browser's tools, not by the page: the policy stays on.
                page.evaluate(axe)
                found = page.evaluate("() => axe.run({ resultTypes: ['violations'] })")
                assert len(found["passes"]) > 10, f"{view}: axe looked at nothing"
                for fault in found["violations"]:
                    if fault["impact"] in ("serious", "critical"):
                        where = "; ".join(node["html"][:200] + " " + node["failureSummary"] for node in fault["nodes"][:3])
                        faults.append(f"{view} {viewport['width']} {scheme}: {fault['id']}: {fault['help']}: {where}")

            with opened(browser, service, viewport=viewport, color_scheme=scheme) as page:
                for address in addresses:
                    look(page, address, 404 if address == "/nothing" else 200)
                    judge(page, address)
                    checked += 1
                look(page, "/lookup")
                page.get_by_label("A text").fill(text)
                page.get_by_role("button", name="Look up").click()
                page.locator("#answer-title").wait_for()
                fits(page)
                judge(page, "what was looked up")
                page.get_by_text("side by side").first.click()
                page.locator("summary").click()
                fits(page)
                judge(page, "a pair with its passages")
                page.get_by_label("what only one has").check()
                judge(page, "a pair, what only one has")
                checked += 3
    assert not faults, f"axe finds {len(faults)} faults:\n" + "\n".join(faults)
    return checked


main()
