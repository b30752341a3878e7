"""The live page: over real connections, and in a real browser."""

import contextlib
import http.client
import json
import pathlib
import re
import signal
import sys
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "process"))
from veche_runs import LONGEST, QUADRATIC, SMALL, RunsTest, assignments, wait_for

try:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError as error:
    raise SystemExit("one of the Debian packages python3-selenium, chromium, chromium-driver is missing (%s)" % error)

AXE = pathlib.Path(__file__).with_name("axe.min.js")
ENDLESS = QUADRATIC | {"run.steps": 10**9, "run.eval_every": 10**5, "run.checkpoint_every": 10**9}


class WatchTest(RunsTest):
    def watch(self, *words):
        self.process = self.start("watch", *words, "--port", 0)
        self.address = self.process.stdout.readline().strip()
        self.assertTrue(self.address.startswith("http://"), self.address or self.process.stderr.read())
        self.port = urllib.parse.urlsplit(self.address).port

    def connection(self):
        made = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONGEST)
        self.addCleanup(made.close)
        return made

    def asked(self, path):
        connection = self.connection()
        connection.request("GET", path)
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())

    def events(self):
        """Versions of the runs, one after the other as they are told."""
        connection = self.connection()
        connection.request("GET", "/api/events")
        reply = connection.getresponse()
        self.assertEqual(reply.getheader("Content-Type"), "text/event-stream")
        while line := reply.readline():
            if line.startswith(b"data: "):
                yield json.loads(line[6:])

    def endless(self, name="a"):
        process = self.start("train", "-q", *assignments(ENDLESS, {"run.name": name}))
        self.assertTrue(wait_for((self.folder / f"runs/{name}/metrics.jsonl").exists, process))
        return process

    def measured(self, name, step, steps):
        with open(self.folder / f"runs/{name}/metrics.jsonl", "a") as file:
            file.write(json.dumps({"step": step, "seconds": step, "cv": 0.01, "train": {"loss": 0.5}, "average_model": {"accuracy": 0.7}, "nodes": [
                {"l2": 1 + i, "steps": made, "bytes_sent": 1000, "compute_seconds": 1, "waiting_seconds": 2, "communication_seconds": 3}
                for i, made in enumerate(steps)]}) + "\n")


class Served(WatchTest):
    def test_a_run_under_way_is_followed_until_it_ends(self):
        run = self.endless()
        self.watch("runs/a")
        versions = []
        events = self.events()
        while len(set(versions)) < 3:
            versions.append(next(events)["a"][0])
        self.assertEqual(versions, sorted(versions))
        status, series = self.asked("/api/series?run=a")
        self.assertEqual((status, series["ended"]), (200, False))
        self.assertGreater(len(series["progress"]["step"]) + len(series["measurements"]["step"]), 1)
        run.send_signal(signal.SIGINT)
        run.wait(LONGEST)
        status, about = self.asked("/api/about?run=a")
        self.assertEqual((about["strategy"], about["graph"]["nodes"], len(about["graph"]["edges"])), ("consensus", 4, 4))
        # A viewer who stays does not keep it from ending.
        self.process.send_signal(signal.SIGINT)
        self.assertEqual(self.process.wait(LONGEST), 0)

    def test_sixteen_viewers_hear_of_what_is_new(self):
        self.train("a", SMALL, {"run.steps": 1})
        self.watch("runs")
        viewers = [self.events() for _ in range(16)]
        first = [next(viewer)["a"] for viewer in viewers]
        self.assertTrue(all(versions[2] for versions in first))
        self.measured("a", 2, [2, 2, 2, 2])
        for viewer, before in zip(viewers, first):
            self.assertTrue(any(event["a"][1] > before[1] for event in viewer))
        # A run that begins later is found.
        self.train("b", SMALL, {"run.steps": 1})
        self.assertTrue(any("b" in event for event in viewers[0]))

    def test_train_serves_its_own_page(self):
        process = self.start("train", "--watch", "--port", 0, *assignments(ENDLESS, {"run.name": "a"}))
        line = next(line for line in process.stderr if line.startswith("live page: "))
        self.port = urllib.parse.urlsplit(line.split()[-1]).port
        self.assertEqual(list(self.asked("/api/runs")[1]), ["a"])
        viewer = self.events()
        next(viewer)
        process.send_signal(signal.SIGINT)
        process.stderr.read()
        self.assertEqual(process.wait(LONGEST), 130)

    def test_wrong_requests(self):
        self.train("a", SMALL, {"run.steps": 1})
        self.watch("runs/a")
        for status, path in ((404, "/api/series?run=no"), (404, "/api/nodes"), (404, "/api/else"), (404, "/..%2f..%2fetc/passwd")):
            found, answer = self.asked(path)
            self.assertEqual((found, bool(answer["error"])), (status, True))
        (self.folder / "empty").mkdir()
        for told, words in (("no folder 'runs/no'", ["runs/no"]), ("neither a run's folder", ["empty"])):
            done = self.veche("watch", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, rf"\Aveche: [^\n]*{told}[^\n]*\n\Z")
        done = self.veche("train", "--watch", "--compare", "strategy=none")
        self.assertEqual(done.returncode, 2)


class Seen(WatchTest):
    def setUp(self):
        super().setUp()
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1200,1600",
                     "--force-prefers-reduced-motion", f"--user-data-dir={self.folder / 'browser'}"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = webdriver.chrome.service.Service("/usr/bin/chromedriver")
        self.browser = webdriver.Chrome(options=options, service=service)
        self.addCleanup(self.browser.quit)

    def open(self, *words):
        self.watch(*words)
        self.browser.get(self.address)
        self.until(lambda: "step" in self.text("state"))

    def text(self, name):
        return self.browser.find_element(By.ID, name).text

    def until(self, what):
        with contextlib.suppress(TimeoutError):
            wait_for(what)
            return
        self.fail(f"waited in vain; the page says: {self.text('state')}; {self.browser.get_log('browser')}")

    def tearDown(self):
        self.assertEqual([entry for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE" and "favicon" not in entry["message"]], [])
        requested = self.browser.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)")
        self.assertEqual([name for name in requested if urllib.parse.urlsplit(name).scheme not in ("blob", "data")
                          and urllib.parse.urlsplit(name).netloc != f"127.0.0.1:{self.port}"], [])
        super().tearDown()

    def test_the_page_of_a_running_run_moves(self):
        self.endless()
        self.open("runs/a")
        step = lambda: int(re.search(r"step (\d+)", self.text("state")).group(1))
        first = step()
        self.until(lambda: step() > first)
        self.assertIn("under way", self.text("state"))
        self.assertTrue(self.browser.find_elements(By.CSS_SELECTOR, "#chart-disagreement canvas"))

    def test_a_lost_node_shows(self):
        self.train("a", SMALL, {"run.steps": 4, "run.eval_every": 2})
        self.open("runs/a")
        self.until(lambda: len(self.browser.find_elements(By.CSS_SELECTOR, "#graph .node")) == 4)
        self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, "#graph .lost"), [])
        self.measured("a", 5, [5, 4, 5, 5])
        self.until(lambda: [node.get_attribute("data-node") for node in self.browser.find_elements(By.CSS_SELECTOR, "#graph .lost")] == ["1"])
        self.assertIn("node 1 is lost", self.text("messages"))
        self.assertIn("lost", self.text("times"))

    def test_names_are_words(self):
        self.train("a", SMALL, {"run.steps": 1})
        (self.folder / "runs/a").rename(self.folder / "runs/<img src=x onerror=document.title=1>")
        self.open("runs")
        self.assertIn("<img", self.text("state"))
        self.assertEqual(self.browser.find_elements(By.TAG_NAME, "img"), [])

    def test_by_keyboard_alone(self):
        for name in ("a", "b"):
            self.train(name, SMALL, {"run.steps": 6, "run.eval_every": 1, "run.seed": 1 if name == "a" else 2})
        self.open("runs")
        active = lambda: self.browser.switch_to.active_element
        chart = self.browser.find_element(By.CSS_SELECTOR, "#chart-loss [tabindex]")
        reached = []
        for _ in range(40):
            active().send_keys(Keys.TAB)
            reached.append(active().get_attribute("id") or active().get_attribute("aria-label") or active().tag_name)
            if active() == chart:
                break
        self.assertEqual(active(), chart, reached)
        self.assertTrue({"across", "smooth", "focus", "csv"} <= set(reached), reached)
        active().send_keys(Keys.ARROW_RIGHT)
        told = self.browser.find_element(By.CSS_SELECTOR, "#chart-loss .legend[aria-live]")
        self.assertRegex(told.text, r"step \d+: .*a \d")
        active().send_keys(Keys.TAB)  # the table behind it
        active().send_keys(Keys.ENTER)
        self.until(lambda: len(self.browser.find_elements(By.CSS_SELECTOR, "#chart-loss td")) >= 12)
        across = self.browser.find_element(By.ID, "across")
        across.send_keys("sec")
        self.until(lambda: "seconds" in self.browser.find_element(By.CSS_SELECTOR, "#chart-loss th").text)

    def test_nothing_serious_is_in_the_way_of_anybody(self):
        self.train("a", SMALL, {"run.steps": 4, "run.eval_every": 1})
        self.open("runs/a")
        self.until(lambda: self.browser.find_elements(By.CSS_SELECTOR, "#graph .node"))
        for summary in self.browser.find_elements(By.TAG_NAME, "summary"):
            self.browser.execute_script("arguments[0].parentElement.open = true", summary)
        self.browser.execute_script(AXE.read_text())
        found = self.browser.execute_async_script(
            "const done = arguments[arguments.length - 1]; axe.run().then(result => done(result.violations))")
        self.assertEqual([(one["id"], one["impact"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")], [])
        self.browser.save_screenshot(str(pathlib.Path.cwd() / "watch_page.png"))


if __name__ == "__main__":
    unittest.main()
