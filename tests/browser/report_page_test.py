"""The report in a real browser, from disk as people open it: on a screen, on a phone, on paper."""

import base64
import pathlib
import re
import unittest

from browser import AXE, BrowserTest
from veche_runs import SMALL

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNS = {"complete": {"strategy.name": "consensus", "topology.graph": "complete"}, "ring": {"strategy.name": "consensus"},
        "quick": {"strategy.name": "consensus", "optimizer.lr": 0.2}, "all": {"strategy.name": "allreduce"},
        "local": {"strategy.name": "local-sgd"}, "alone": {"strategy.name": "none"}, "int8": {"strategy.name": "consensus", "compress.codec": "int8"}}


class ReportPage(BrowserTest):
    port = 0

    def make_report(self):
        for name, settings in RUNS.items():
            self.train(name, SMALL, {"run.steps": 30, "run.eval_every": 3, "optimizer.lr": 0.05}, settings)
        done = self.veche("report", *(f"runs/{name}" for name in RUNS))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.browser.get((self.folder / "report.html").as_uri())

    def tearDown(self):
        # From disk: nothing at all is fetched, and nothing refused.
        self.assertEqual(self.browser.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name).filter(name => !name.startsWith('data:'))"), [])
        super().tearDown()

    def findings(self):
        self.browser.execute_script("if (!window.axe) " + AXE.read_text())
        found = self.browser.execute_async_script("const done = arguments[arguments.length - 1]; axe.run().then(result => done(result.violations))")
        return [(one["id"], one["impact"], one["nodes"][0]["html"]) for one in found]

    def pages_printed(self):
        pdf = base64.b64decode(self.browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True})["data"])
        (pathlib.Path.cwd() / "report_page.pdf").write_bytes(pdf)
        for width, height in re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf):
            self.assertAlmostEqual(float(width), 595, delta=1)  # A4 in points
            self.assertAlmostEqual(float(height), 842, delta=1)
        return len(re.findall(rb"/Type\s*/Page\b", pdf))

    def test_seven_runs_are_one_clear_page(self):
        self.make_report()
        self.speaks_english_and_russian()
        answer = self.browser.find_element("tag name", "h1").text
        self.assertRegex(answer, r"^\w+ (reaches|ends) ")
        self.assertLessEqual(len(self.all(".figures > div")), 4)
        self.assertEqual(len(self.all("tbody tr.win")), 1)
        self.assertEqual(len(self.all(".graphs figure")), 2)  # the complete graph, and the ring of three runs
        self.assertEqual([one.get_attribute("open") for one in self.all("details")], [None] * len(self.all("details")))
        # The runs' lines differ, in the table as in the figure.
        lines = [one.get_attribute("outerHTML") for one in self.all("table .key svg")]
        self.assertEqual(len(set(lines)), 7)

        # Paper is white, whatever the screen.
        self.color_scheme("dark")
        self.assertLessEqual(self.pages_printed(), 4)
        self.browser.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
        grounds = {}
        for scheme in ("light", "dark"):
            self.color_scheme(scheme)
            self.assertEqual(self.findings(), [], scheme)
            grounds[scheme] = self.browser.execute_script("return [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color].join()")
            self.browser.save_screenshot(str(pathlib.Path.cwd() / f"report_page-{scheme}.png"))
        self.assertNotEqual(grounds["light"], grounds["dark"])
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]})
        self.assertEqual(self.browser.execute_script("return getComputedStyle(document.body).color"), "rgb(16, 23, 31)")
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})

        # A phone scrolls down only, with all details open.
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True})
        self.assertLessEqual(self.browser.execute_script("return document.documentElement.scrollWidth"), 390)
        wide = self.browser.execute_script("return [...document.querySelectorAll('main *')].filter(one => one.getBoundingClientRect().right > 391).map(one => one.outerHTML.slice(0, 120))")
        self.assertEqual(wide, [])
        self.assertEqual(self.findings(), [])
        self.browser.save_screenshot(str(pathlib.Path.cwd() / "report_page-phone.png"))

    def speaks_english_and_russian(self):
        button = self.browser.find_element("id", "language")
        cell = self.browser.find_element("css selector", ".figures dd .n")
        english, title = cell.text, self.browser.find_element("tag name", "h1").text
        self.assertRegex(english, r"^[\d,.]+.\w?B$")
        self.assertEqual(button.text, "Русский")
        button.send_keys("\n")  # by keyboard
        self.assertEqual((button.text, self.browser.execute_script("return document.documentElement.lang")), ("English", "ru"))
        self.assertRegex(self.browser.find_element("tag name", "h1").text, "[а-я]{4}")
        self.assertEqual(cell.text, english.replace(".", ","))
        self.assertIn("Результаты", self.browser.find_element("tag name", "main").text)
        button.send_keys("\n")
        self.assertEqual((cell.text, self.browser.find_element("tag name", "h1").text), (english, title))

    def test_page_and_report_write_numbers_alike(self):
        """The table that figures_test.cc holds the C++ to."""
        def text(file):
            return re.sub(r"(?m)^import .*$|^export ", "", (ROOT / "web/watch/front" / file).read_text())
        cases = [line.split("|") for line in (ROOT / "src/veche/base/text/figures_cases.txt").read_text().splitlines() if not line.startswith("#")]
        names = {"fine_percent": "fine"}
        made = self.browser.execute_script(
            "const languageNow = () => 'en';" + text("format.js") +
            "; const functions = {count, three, percent, fine, bytes, duration, signed};"
            "return arguments[0].map(([name, values]) => functions[name](...values.map(value => value === 'inf' ? Infinity : Number(value))))",
            [[names.get(name, name), values.split()] for name, values, _ in cases])
        self.assertEqual([one.replace("\u00a0", " ") for one in made], [told for _, _, told in cases])


if __name__ == "__main__":
    unittest.main()
