"""Debian's Chromium, driven by Playwright; whatever a page complains of fails the test."""

import contextlib
import os
import shutil

from playwright.sync_api import sync_playwright

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1440, "height": 900}


@contextlib.contextmanager
def chromium():
    # The sandbox does not work for root, who runs this in containers.
    options = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=options)
        yield browser
        browser.close()


@contextlib.contextmanager
def opened(browser, service, **options):
    """A page whose relative addresses are the service's.

    Complaints of the browser (scripts that fail, things that the policy forbids) and
    requests to anybody else are collected and fail the test at the end.
    """
    options = {"viewport": DESK, **options}
    context = browser.new_context(base_url=service.url, **options)
    page = context.new_page()
    page.set_default_timeout(10_000)
    complaints = []

    def hear(message):
        # A page that says why there is no answer has the status of a failure.
        is_refusal = message.text.startswith("Failed to load resource") and message.location["url"] == page.url
        if message.type in ("error", "warning") and not is_refusal:
            complaints.append(f"{page.url}: {message.text}")

    page.on("console", hear)
    page.on("pageerror", lambda error: complaints.append(f"{page.url}: {error}"))
    page.on("request", lambda asked: asked.url.startswith(service.url) or complaints.append(f"{page.url} asks {asked.url}"))
    try:
        yield page
    finally:
        context.close()
    assert not complaints, "\n".join(complaints)
