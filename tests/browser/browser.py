"""A page of ours in Debian's Chromium, by hand as it were; nothing may be asked of another host, nothing logged as an error."""

import contextlib
import pathlib
import sys
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "process"))
from veche_runs import RunsTest, wait_for

try:
    from selenium import webdriver
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.common.by import By
except ImportError as error:
    raise SystemExit("one of the Debian packages python3-selenium, chromium, chromium-driver is missing (%s)" % error)

AXE = pathlib.Path(__file__).with_name("axe.min.js")


class ServedTest(RunsTest):
    """A command that prints its address and serves there."""

    def serve(self, *words):
        self.process = self.start(*words, "--port", 0)
        self.address = self.process.stdout.readline().strip()
        self.assertTrue(self.address.startswith("http://"), self.address or self.process.stderr.read())
        self.port = urllib.parse.urlsplit(self.address).port


class BrowserTest(ServedTest):
    def setUp(self):
        super().setUp()
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1200,1600",
                     "--force-prefers-reduced-motion", f"--user-data-dir={self.folder / 'browser'}"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.browser = webdriver.Chrome(options=options, service=webdriver.chrome.service.Service("/usr/bin/chromedriver"))
        self.addCleanup(self.browser.quit)
        self.expected = ()  # words of errors that a test brings about

    def tearDown(self):
        self.assertEqual([entry for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE" and "favicon" not in entry["message"]
                          and not any(words in entry["message"] for words in self.expected)], [])
        requested = self.browser.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)")
        self.assertEqual([name for name in requested if urllib.parse.urlsplit(name).scheme not in ("blob", "data")
                          and urllib.parse.urlsplit(name).netloc != f"127.0.0.1:{self.port}"], [])
        super().tearDown()

    def again(self, what):
        """What `what` gives, tried again if an element was drawn anew between being found and being used."""
        for _ in range(9):
            with contextlib.suppress(StaleElementReferenceException):
                return what()
        return what()

    def text(self, name):
        return self.text_of(f"#{name}")

    def text_of(self, selector):
        return self.again(lambda: self.browser.find_element(By.CSS_SELECTOR, selector).text)

    def texts_of(self, selector):
        return self.again(lambda: [element.text.strip() for element in self.all(selector)])

    def click(self, selector):
        self.again(lambda: self.browser.find_element(By.CSS_SELECTOR, selector).click())

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def until(self, what):
        def seen():
            try:
                return what()
            except StaleElementReferenceException:  # drawn anew while it was looked at
                return False

        with contextlib.suppress(TimeoutError):
            wait_for(seen)
            return
        self.fail(f"waited in vain; the page says: {self.browser.find_element(By.TAG_NAME, 'body').text[:500]}; {self.browser.get_log('browser')}")

    def color_scheme(self, scheme):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def as_phone(self):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True})

    def assert_fits_phone(self, picture=None):
        self.assertLessEqual(self.browser.execute_script("return document.documentElement.scrollWidth"), 390)
        if picture:
            self.browser.save_screenshot(str(pathlib.Path.cwd() / f"{picture}-phone.png"))

    def assert_usable(self, picture=None):
        """No finding of axe-core, in light and dark; leaves pictures NAME-light.png and NAME-dark.png in this folder of the build."""
        for summary in self.browser.find_elements(By.TAG_NAME, "summary"):
            self.browser.execute_script("arguments[0].parentElement.open = true", summary)
        self.browser.execute_script(AXE.read_text())
        backs = set()
        for scheme in ("light", "dark"):
            self.color_scheme(scheme)
            found = self.browser.execute_async_script(
                "const done = arguments[arguments.length - 1]; axe.run().then(result => done(result.violations))")
            self.assertEqual([(scheme, one["id"], one["impact"], one["nodes"][0]["html"]) for one in found], [])
            backs.add(self.browser.execute_script("const back = getComputedStyle(document.body).backgroundColor; return back + getComputedStyle(document.body).color"))
            if picture:
                self.browser.save_screenshot(str(pathlib.Path.cwd() / f"{picture}-{scheme}.png"))
        self.assertEqual(len(backs), 2, "light and dark look alike")
