"""Draws docs/screenshots from the crawl that ships with the source: `make screenshots`."""

import pathlib
import sys

from browser import PHONE, chromium, opened
from common import ROOT, folder
from service import Service, demo, is_there

MOST_BYTES = 250_000
PAGE = "https://docs.example.org/current/queries-with.html"
CHANGED = "https://mirror.example.org/docs/tutorial.html"


def main():
    if not is_there("chromium"):
        sys.exit(1)
    out = ROOT / "docs" / "screenshots"
    out.mkdir(exist_ok=True)
    with folder() as work, Service(demo(pathlib.Path(work) / "manual.lk")) as service, chromium() as browser:
        cluster = service.ask(f"/api/v1/members?url={PAGE}").json()
        now, once = cluster["members"][0]["doc"], cluster["asked"]
        desk = {"width": 1280, "height": 900}
        for name, address, options in [
            ("overview", "/", {"viewport": desk}),
            ("overview-dark", "/", {"viewport": desk, "color_scheme": "dark"}),
            ("overview-phone", "/", {"viewport": PHONE}),
            ("clusters", "/clusters?sort=lowest", {"viewport": desk}),
            ("cluster", f"/clusters/{cluster['cluster']}", {"viewport": desk}),
            ("pair", f"/pair?a={once}&b={now}", {"viewport": desk}),
            ("lookup", f"/lookup?url={PAGE}", {"viewport": desk}),
            ("changes", "/changes", {"viewport": desk}),
            ("history", f"/history?url={CHANGED}", {"viewport": desk}),
        ]:
            with opened(browser, service, **options) as page:
                page.goto(address)
                image = out / f"{name}.png"
                page.screenshot(path=image, animations="disabled")
                size = image.stat().st_size
                assert size <= MOST_BYTES, f"{image}: {size} bytes"
                print(f"{image.relative_to(ROOT)}: {size} bytes")


main()
