"""Opens reports in Chromium, from file:// with the network off, as readers do: in light and dark, on a desktop and a phone, and
in print. Fails on a message in the console, a request, a page that scrolls sideways, or a serious finding of axe-core.

Usage: check_report.py FOLDER REPORT.html...     (pictures go to FOLDER)
Needs playwright, axe-playwright-python and a Chromium ($CHROMIUM, or /usr/bin/chromium).
"""
import html.parser
import os
import pathlib
import sys
import xml.dom.minidom

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

LOOKS = {
    "light": dict(viewport={"width": 1200, "height": 900}, color_scheme="light"),
    "dark": dict(viewport={"width": 1200, "height": 900}, color_scheme="dark"),
    "phone": dict(viewport={"width": 390, "height": 844}, color_scheme="light", device_scale_factor=2),
    "phone-dark": dict(viewport={"width": 390, "height": 844}, color_scheme="dark", device_scale_factor=2),
}
failures = []


def fail(*words):
    failures.append(" ".join(str(word) for word in words))
    print("FAILED:", failures[-1])


def check_text(report):
    """A page is UTF-8, well-formed XML without entities of HTML, and its attributes run nothing and load nothing."""
    text = report.read_text(encoding="utf-8", errors="strict")
    xml.dom.minidom.parseString(text.encode())

    class Tags(html.parser.HTMLParser):
        def handle_starttag(self, tag, attributes):
            if tag in ("iframe", "object", "embed", "link", "img", "form", "base"):
                fail(report, "has an element", tag)
            if tag == "script" and dict(attributes).get("type") != "application/json":
                fail(report, "has a script")
            for name, value in attributes:
                loads = name in ("src", "href", "xlink:href", "srcset", "action", "formaction")
                if name.startswith("on") or loads:
                    fail(report, "has an attribute", name, value)

    Tags().feed(text)


def check_look(browser, report, name, look, folder):
    context = browser.new_context(offline=True, **look)
    page = context.new_page()
    page.on("console", lambda message: fail(report, name, "console:", message.text))
    page.on("pageerror", lambda error: fail(report, name, "error:", error))
    page.on("request", lambda request: request.url.startswith("file://") or fail(report, name, "asks for", request.url))
    page.goto(report.resolve().as_uri())
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if wide > 0:
        fail(report, name, "is", wide, "pixels too wide")
    page.screenshot(path=folder / f"{report.parent.name}-{name}.png", full_page=True)
    if name == "dark":  # paper is white
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 760, "height": 1000})
        page.screenshot(path=folder / f"{report.parent.name}-print.png", full_page=True)
        page.emulate_media(media="screen")
    page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    # The policy of the page forbids what axe does, so axe runs in a page without one.
    policy = page.content().replace('http-equiv="Content-Security-Policy"', 'name="policy"')
    bare = context.new_page()
    bare.set_content(policy)
    for violation in Axe().run(bare).response["violations"]:
        places = [node["target"] for node in violation["nodes"]][:3]
        message = (report, name, "axe:", violation["id"], violation["impact"], violation["help"], places)
        if violation["impact"] in ("serious", "critical"):
            fail(*message)
        else:
            print("note:", *message)
    context.close()


folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(
        executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox", "--disable-gpu"])
    for report in map(pathlib.Path, sys.argv[2:]):
        check_text(report)
        for name, look in LOOKS.items():
            check_look(browser, report, name, look, folder)
        print(report, report.stat().st_size, "bytes")
    browser.close()
print(f"{len(failures)} failures" if failures else "all as expected")
sys.exit(bool(failures))
