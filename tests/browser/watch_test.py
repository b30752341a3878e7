"""The live page: over real connections, and in a real browser."""

import array
import csv
import http.client
import io
import json
import math
import os
import pathlib
import re
import signal
import time
import unittest
import urllib.parse
from xml.etree import ElementTree

from browser import BrowserTest, By, ServedTest
from grid_test import Grid
from PIL import Image
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from veche_runs import LONGEST, QUADRATIC, SMALL, assignments, wait_for

ENDLESS = QUADRATIC | {"run.steps": 10**9, "run.eval_every": 10**5, "run.checkpoint_every": 10**9}


class WatchTest(ServedTest):
    def watch(self, *words):
        self.serve("watch", *words)

    def connection(self):
        made = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONGEST)
        self.addCleanup(made.close)
        return made

    def asked(self, path):
        connection = self.connection()
        connection.request("GET", path)
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())

    def column(self, run, measure):
        """A measure of every node, [node * rows + row]."""
        connection = self.connection()
        connection.request("GET", f"/api/columns?run={run}&what={measure}")
        return array.array("f", connection.getresponse().read())

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
        self.assertEqual(self.asked("/api/about?run=a")[1]["strategy"], "consensus")
        graph = self.asked("/api/graph?run=a")[1]
        self.assertEqual((graph["family"], graph["names"], [(view["seats"], len(view["edges"])) for view in graph["views"]]), ("ring", [], [([0, 1, 2, 3], 4)]))
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

    def test_nodes_are_told_between_measurements(self):
        self.start("train", "-q", *assignments(ENDLESS, {"run.name": "a", "run.eval_every": 10**9}))
        self.assertTrue(wait_for((self.folder / "runs/a/nodes.json").exists))
        self.watch("runs/a")
        first = self.asked("/api/now?run=a")[1]
        self.assertTrue(wait_for(lambda: self.asked("/api/now?run=a")[1]["step"] > first["step"]))
        now = self.asked("/api/now?run=a")[1]
        self.assertEqual(self.asked("/api/nodes?run=a")[1]["step"], [])
        # On a ring of four everybody sends a vector of one float to both neighbours after each step.
        for node, row in enumerate(now["nodes"]):
            self.assertEqual(sorted(peer for peer, _ in row["to"]), sorted([(node + 1) % 4, (node - 1) % 4]))
            self.assertAlmostEqual(sum(sent for _, sent in row["to"]) / row["bytes"], 1, delta=1e-4)
            self.assertAlmostEqual(row["to"][0][1] / (4 * row["steps"]), 1, delta=1e-3)
            self.assertGreater(row["computing"] + row["waiting"] + row["communicating"], 0)

    def test_36_nodes_and_10000_measurements_stay_small(self):
        """What is sent to sixteen viewers of a very long run is bounded. Times are told, not asserted: `ctest -V` shows them."""
        self.train("a", SMALL, {"run.steps": 1, "cluster.nodes": 36, "topology.graph": "torus:6x6"})
        line = json.loads((self.folder / "runs/a/metrics.jsonl").read_text().splitlines()[-1])
        line.pop("stopped", None)
        text = json.dumps(line | {"step": "STEP"}).replace('"STEP"', "%d")
        with open(self.folder / "runs/a/metrics.jsonl", "w") as file:
            file.writelines(text % step + "\n" for step in range(1, 10_001))
        with open(self.folder / "runs/a/progress.jsonl", "w") as file:
            file.writelines('{"step":%d,"loss":%.6g,"cv":0.0123,"images_per_second":1234.56}\n' % (step, 2 / step) for step in range(1, 10_001))
        peers = lambda node: [[(node + by) % 36, 123456789012] for by in (1, 6, 30, 35)]
        (self.folder / "runs/a/nodes.json").write_text(json.dumps({"step": 10_000, "nodes": [
            {"steps": 10_000, "compute_seconds": 123.45, "waiting_seconds": 67.891, "communication_seconds": 12.345, "bytes_sent": 493827156048, "staleness": 1.5,
             "to": peers(node)} for node in range(36)]}))
        start = time.monotonic()
        self.watch("runs/a")
        self.assertTrue(wait_for(lambda: self.asked("/api/nodes?run=a")[1]["step"][-1:] == [10_000]))
        print(f"read {(self.folder / 'runs/a/metrics.jsonl').stat().st_size / 1e6:.0f} MB in {time.monotonic() - start:.1f} s")
        viewers = [self.events() for _ in range(16)]
        first = [next(viewer)["a"] for viewer in viewers]
        with open(self.folder / "runs/a/metrics.jsonl", "a") as file:
            file.write(text % 10_001 + "\n")
        start = time.monotonic()
        for viewer, before in zip(viewers, first):
            self.assertTrue(any(event["a"][1] > before[1] for event in viewer))
        sizes = {}
        for path, most in (("/", 200_000), ("/api/runs", 1_000), ("/api/about?run=a", 20_000), ("/api/series?run=a", 120_000),
                           ("/api/nodes?run=a", 120_000), ("/api/graph?run=a", 10_000), ("/api/now?run=a", 30_000)):
            connections = [self.connection() for _ in viewers]
            for connection in connections:
                connection.request("GET", path)
            for connection in connections:
                answer = connection.getresponse().read()
                sizes[path] = len(answer)
                self.assertLessEqual(len(answer), most, path)
                connection.close()
        print(f"sixteen viewers had what is new after {time.monotonic() - start:.2f} s: {sizes}")
        nodes = self.asked("/api/nodes?run=a")[1]
        self.assertEqual((nodes["count"], nodes["step"][-1]), (36, 10_001))
        distance = self.column("a", "distance")
        self.assertEqual(len(distance), 36 * len(nodes["step"]))
        self.assertAlmostEqual(distance[-1], line["nodes"][-1]["l2"], delta=1e-6)

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
        done = self.veche("watch", "runs/no")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Aveche: [^\n]*no folder 'runs/no'[^\n]*\n\Z")
        done = self.veche("train", "--watch", "--compare", "strategy=none")
        self.assertEqual(done.returncode, 2)


class SeenTest(WatchTest, BrowserTest):
    """What tests of the page share."""

    def open(self, *words):
        self.watch(*words)
        self.browser.get(self.address)
        self.until(lambda: "Step" in self.text("far"))

    def step(self):
        return int(re.search(r"Step ([\d,]+)", self.text("far")).group(1).replace(",", ""))

    def replay(self, step):
        self.browser.execute_script("const slider = document.getElementById('slider'); slider.value = arguments[0]; slider.dispatchEvent(new Event('input'))", step)

    def keep_what_is_saved(self):
        self.browser.execute_script("window.saved = []; URL.createObjectURL = blob => { blob.text().then(text => window.saved.push(text)); return 'blob:none'; };"
                                    "HTMLAnchorElement.prototype.click = () => {};")

    def saved(self, kind):
        count = self.browser.execute_script("return window.saved.length")
        self.browser.execute_script("document.getElementById(arguments[0]).click()", kind)  # wherever the page is scrolled
        self.until(lambda: self.browser.execute_script("return window.saved.length") > count)
        return self.browser.execute_script("return window.saved.at(-1)")

    def picture(self, name):
        """The whole page, NAME.png: in this folder of the build, or where VECHE_GALLERY says."""
        size = lambda: self.browser.execute_script("return [document.documentElement.clientWidth, document.documentElement.scrollHeight]")
        width, height = size()
        self.screen(width, height)
        self.until(lambda: size() == [width, height] or self.screen(*size()))
        self.browser.execute_script("window.scrollTo(0, 0)")
        self.browser.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))")
        shot = Image.open(io.BytesIO(self.browser.get_screenshot_as_png())).convert("RGB")
        folder = pathlib.Path(os.environ.get("VECHE_GALLERY", pathlib.Path.cwd()))
        folder.mkdir(parents=True, exist_ok=True)
        shot.quantize(200, method=Image.Quantize.MEDIANCUT, kmeans=1, dither=Image.Dither.NONE).save(folder / f"{name}.png", optimize=True)

    def screen(self, width, height=1600):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})


class Seen(SeenTest):
    def test_the_page_of_a_running_run_moves(self):
        self.endless()
        self.open("runs/a")
        first = self.step()
        self.until(lambda: self.step() > first)
        self.assertEqual(self.text("state"), "Training")
        self.assertTrue(self.all("#chart-disagreement canvas"))
        self.assertIn("4 nodes", self.text("facts"))

    def test_a_lost_node_shows_and_a_replay_shows_how_it_was(self):
        self.train("a", SMALL, {"run.steps": 4, "run.eval_every": 2})
        self.open("runs/a")
        self.until(lambda: len(self.all("#graph .node")) == 4)
        self.assertEqual(self.all("#graph .lost"), [])
        sent = lambda: self.text("card-traffic")
        before = sent()
        self.measured("a", 5, [5, 4, 5, 5])
        lost = lambda: [node.get_attribute("data-node") for node in self.all("#graph .lost")]
        self.until(lambda: lost() == ["1"])
        self.assertIn("Node 1 is lost", self.text("events"))
        self.assertIn("of 4 nodes, 1 lost", self.text("card-present"))
        self.assertNotEqual(sent(), before)
        self.replay(4)
        self.until(lambda: self.text("state") == "Replay" and lost() == [])
        self.assertEqual((self.step(), self.text("card-present").splitlines()[1:]), (4, ["4", "none lost"]))
        self.browser.find_element(By.TAG_NAME, "body").send_keys(Keys.ESCAPE)
        self.until(lambda: self.text("state") == "Ended" and lost() == ["1"])

    def test_the_width_of_a_line_is_what_went_over_it(self):
        self.train("a", SMALL, {"run.steps": 4, "run.eval_every": 2})
        (self.folder / "runs/a/nodes.json").write_text(json.dumps({"step": 4, "nodes": [
            {"steps": 4, "bytes_sent": 100, "to": [[1, 90], [3, 10]]}, {"steps": 4, "bytes_sent": 0, "to": []},
            {"steps": 4, "bytes_sent": 40, "to": []}, {"steps": 4, "bytes_sent": 0, "to": []}]}))
        self.open("runs/a")
        edges = lambda: {line.get_attribute("data-edge"): (float(line.get_attribute("data-there")), float(line.get_attribute("data-back")), float(line.get_attribute("stroke-width")))
                         for line in self.all("#graph .edge")}
        self.until(lambda: edges().get("0,1", (0,))[0] == 90)
        told = edges()
        self.assertEqual(told["0,3"][:2], (10, 0))
        self.assertEqual((told["1,2"][1], told["2,3"][0]), (20, 20))  # not known by peer: shared evenly
        self.assertGreater(told["0,1"][2], told["1,2"][2])

    def test_a_graph_stands_by_its_family(self):
        self.train("a", SMALL, {"run.steps": 2, "run.eval_every": 1, "cluster.nodes": 12, "topology.graph": "torus:3x4"})
        self.open("runs/a")
        self.until(lambda: len(self.all("#graph .node")) == 12)
        places = self.browser.execute_script("return [...document.querySelectorAll('#graph .node .frame')].map(one => [one.getAttribute('cx'), one.getAttribute('cy')].map(Number))")
        for node, (x, y) in enumerate(places):  # three rows of four
            self.assertAlmostEqual(x, places[node % 4][0], delta=0.1)
            self.assertAlmostEqual(y, places[node - node % 4][1], delta=0.1)
        curved = [edge.get_attribute("data-edge") for edge in self.all("#graph .edge")
                  if self.browser.execute_script("const e = arguments[0], l = e.getTotalLength(), m = e.getPointAtLength(l / 2), a = e.getPointAtLength(0), b = e.getPointAtLength(l); "
                                                 "return Math.hypot(m.x - (a.x + b.x) / 2, m.y - (a.y + b.y) / 2) > 3", edge)]
        self.assertEqual(sorted(curved), sorted([f"{4 * row},{4 * row + 3}" for row in range(3)] + [f"{column},{column + 8}" for column in range(4)]))

    def test_curves_show_what_the_page_shows(self):
        """Marks, the veil of a replay, the chosen nodes, one pointer also over bytes; and files say what they hold."""
        self.train("a", SMALL, {"run.steps": 8, "run.eval_every": 1, "run.eval": "all", "run.checkpoint_every": 4})
        self.open("runs/a")
        self.until(lambda: self.all("#chart-bytes canvas") and self.all("#graph .node"))
        self.assertIn("mlp, 2,410 parameters", self.text("facts"))  # 64 x 32 + 32, 32 x 10 + 10
        self.assertEqual([chart.is_displayed() for chart in self.all("#chart-distance, #chart-waiting, #chart-steps")], [False] * 3)
        for node in (1, 3):
            self.browser.find_element(By.CSS_SELECTOR, f'#graph .node[data-node="{node}"]').click()
        for chart in ("accuracy", "loss", "distance", "waiting", "steps"):
            self.until(lambda: "node 1" in self.text(f"chart-{chart}") and "node 3" in self.text(f"chart-{chart}"))
        self.assertIn("Steps/s", self.browser.find_element(By.CSS_SELECTOR, "#graph .pop").text)
        veils = lambda: [veil.is_displayed() for veil in self.all("#curves section:not([hidden]) .veil")]
        self.assertEqual(set(veils()), {False})
        self.replay(4)
        self.until(lambda: set(veils()) == {True})
        self.browser.find_element(By.TAG_NAME, "body").send_keys(Keys.ESCAPE)
        over = self.browser.find_element(By.CSS_SELECTOR, "#chart-bytes .u-over")
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", over)
        ActionChains(self.browser).move_to_element(over).perform()
        self.until(lambda: "At the pointer" in self.text("strip"))
        shown = self.browser.execute_script("return [...document.querySelectorAll('#curves section:not([hidden]) .u-cursor-x')].map(one => new DOMMatrix(getComputedStyle(one).transform).m41)")
        self.assertEqual(len(shown), 9)
        self.assertTrue(all(place > 0 for place in shown), shown)
        self.keep_what_is_saved()
        rows = list(csv.DictReader(io.StringIO(self.saved("csv"))))
        self.assertEqual({(row["chart"], row["unit"]) for row in rows if row["chart"].startswith("Accuracy")}, {("Accuracy", "%"), ("Accuracy over bytes", "%")})
        drawing = ElementTree.fromstring(self.saved("svg"))
        self.assertEqual(len(drawing.findall(".//{*}path[@class='band']")), 1)
        self.assertIn("Accuracy, %", [text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")])

    def test_names_are_words(self):
        self.train("a", SMALL, {"run.steps": 1})
        (self.folder / "runs/a").rename(self.folder / "runs/<img src=x onerror=document.title=1>")
        self.open("runs")
        self.assertIn("<img", self.text("title"))
        self.assertEqual(self.browser.find_elements(By.TAG_NAME, "img"), [])

    def test_by_keyboard_alone(self):
        for name in ("a", "b"):
            self.train(name, SMALL, {"run.steps": 6, "run.eval_every": 1, "run.seed": 1 if name == "a" else 2})
        self.open("runs")
        self.until(lambda: self.all("#graph .node") and self.all("#chart-loss canvas"))
        active = lambda: self.browser.switch_to.active_element
        chart = self.browser.find_element(By.CSS_SELECTOR, "#chart-loss [tabindex]")
        reached = []
        for _ in range(60):
            active().send_keys(Keys.TAB)
            reached.append(self.browser.execute_script("const one = document.activeElement; return one.id || one.dataset.node || one.dataset.value || one.tagName"))
            if active() == chart:
                break
        self.assertEqual(active(), chart, reached)
        self.assertTrue({"focus", "language", "theme", "play", "slider", "0", "distance", "waiting", "seconds", "log", "smooth", "csv"} <= set(reached), reached)
        active().send_keys(Keys.ARROW_RIGHT)
        self.until(lambda: "At the pointer\nstep 1 " in self.text("strip"))
        active().send_keys(Keys.ARROW_RIGHT)
        self.until(lambda: "step 2 " in self.text("strip"))
        active().send_keys(Keys.ESCAPE)
        self.until(lambda: self.text("strip").startswith("Now"))
        self.browser.execute_script("document.querySelector('#graph .node[data-node=\"0\"]').focus()")
        active().send_keys(Keys.ARROW_DOWN)
        self.until(lambda: active().get_attribute("data-node") not in (None, "0"))
        self.assertIn("Node ", self.browser.find_element(By.CSS_SELECTOR, "#graph .pop").text)
        active().send_keys(Keys.ENTER)
        self.until(lambda: len(self.all("#graph .chosen")) == 1)
        self.browser.find_element(By.CSS_SELECTOR, "[data-value=seconds]").send_keys(Keys.ENTER)
        self.until(lambda: self.browser.find_element(By.CSS_SELECTOR, "[data-value=seconds]").get_attribute("aria-pressed") == "true")

    def test_several_runs_smoothed_zoomed_and_saved(self):
        for seed, name in enumerate("ab"):
            self.train(name, SMALL, {"run.steps": 8, "run.eval_every": 1, "run.seed": seed + 1})
        self.open("runs")
        self.until(lambda: self.text("curves-legend").split() == ["a", "b"])
        self.keep_what_is_saved()
        saved = self.saved

        def losses():
            rows = list(csv.DictReader(io.StringIO(saved("csv"))))
            return {(row["line"], float(row["x"])): float(row["y"]) for row in rows if row["chart"] == "Training loss"}

        plain = losses()
        metrics = [json.loads(line) for line in (self.folder / "runs/a/metrics.jsonl").read_text().splitlines()]
        for line in metrics:
            self.assertAlmostEqual(plain["a", line["step"]] / line["train"]["loss"], 1, delta=1e-5)
        drawing = ElementTree.fromstring(saved("svg"))
        self.assertGreaterEqual(len(drawing.findall(".//{*}path[{*}title]")), 4)
        self.assertTrue(saved("png").startswith("\ufffdPNG"))
        smooth = self.browser.find_element(By.ID, "smooth")
        for _ in range(10):
            smooth.send_keys(Keys.ARROW_RIGHT)
        self.until(lambda: self.text("smooth-value") == "0.50")
        smoothed, mean = losses(), None
        for line in metrics:
            mean = line["train"]["loss"] if mean is None else 0.5 * mean + 0.5 * line["train"]["loss"]
            self.assertAlmostEqual(smoothed["a", line["step"]] / mean, 1, delta=1e-4)
        # Drag to zoom; the values under the pointer stand in the strip, for all charts.
        over = self.browser.find_element(By.CSS_SELECTOR, "#chart-loss .u-over")
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", over)
        ActionChains(self.browser).move_to_element(over).perform()
        self.until(lambda: "At the pointer" in self.text("strip"))
        pixels = lambda: self.browser.execute_script("return document.querySelector('#chart-loss canvas').toDataURL()")
        whole = pixels()
        ActionChains(self.browser).move_to_element_with_offset(over, -100, 0).click_and_hold().move_by_offset(150, 0).release().perform()
        self.until(lambda: pixels() != whole)
        # The table: sorted by a click, filtered by words; a run less among the curves; another shown.
        names = lambda: [cell.text.strip() for cell in self.all("#runs tbody td:first-child")]
        self.assertEqual(sorted(names()), ["a", "b"])
        self.browser.find_element(By.ID, "filter").send_keys("nothing like this")
        self.until(lambda: names() == [])
        self.browser.find_element(By.ID, "filter").clear()
        self.browser.find_element(By.ID, "filter").send_keys(Keys.BACKSPACE)
        self.until(lambda: len(names()) == 2)
        self.browser.find_element(By.CSS_SELECTOR, "#runs thead button").click()
        self.until(lambda: names() == ["b", "a"])
        self.browser.find_element(By.CSS_SELECTOR, "#runs [data-run=b]").click()
        self.until(lambda: self.text("curves-legend").split() == [])
        self.browser.execute_script("document.querySelector('#runs [data-run=b] ~ button').click()")
        self.until(lambda: self.text("title") == "b")

    def test_elsewhere_the_page_comes_with_the_token(self):
        self.train("a", SMALL, {"run.steps": 2, "run.eval_every": 1})
        self.process = self.start("watch", "runs/a", "--host", "0.0.0.0", "--port", 0)
        address = self.process.stdout.readline().strip()
        self.port = urllib.parse.urlsplit(address).port
        self.assertEqual(self.asked("/api/runs")[0], 401)
        self.browser.get(address.replace("HOST", "127.0.0.1"))
        self.until(lambda: "Step 2" in self.text("far"))

    def test_a_run_called_as_the_end_of_a_script(self):
        self.train("a", SMALL, {"run.steps": 1})
        with open(self.folder / "runs/a/config.toml", "a") as file:  # a folder's name has no slash, a configuration may
            file.write("# </script><script>document.title = 1</script>\n")
        (self.folder / "runs/a").rename(self.folder / "runs" / "<script>document.title = 1<script>")
        self.open("runs")
        self.assertIn("<script>", self.text("title"))
        self.until(lambda: "</script>" in self.browser.find_element(By.ID, "config").get_attribute("textContent"))
        self.assertEqual(self.browser.title, "Veche")

    def test_it_speaks_russian_and_fits_a_phone(self):
        for name, lr in (("a", 0.1), ("a-run-with-quite-a-long-name", 0.05)):
            self.train(name, SMALL, {"run.steps": 4, "run.eval_every": 1, "cluster.nodes": 5, "optimizer.lr": lr})
        self.measured("a", 4 + 1, [5, 4, 5, 5])  # one stands still, one is gone
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True})
        self.open("runs")
        wide = lambda: self.browser.execute_script("return document.documentElement.scrollWidth")
        self.assertLessEqual(wide(), 390)
        self.browser.find_element(By.ID, "language").click()
        self.until(lambda: "Шаг" in self.text("far"))
        self.assertEqual(self.browser.find_element(By.TAG_NAME, "html").get_attribute("lang"), "ru")
        self.assertLessEqual(wide(), 390)
        # Every sentence that was said, also those that stand in a table or come from the server.
        for measure in ("accuracy", "loss", "waiting", "staleness"):
            self.browser.execute_script("document.querySelector(`#measure [data-value=${arguments[0]}]`).click()", measure)
            self.until(lambda: self.browser.find_element(By.CSS_SELECTOR, f"#measure [data-value={measure}]").get_attribute("aria-pressed") == "true")
        self.browser.execute_script("const node = document.querySelector('#graph .node[data-node=\"1\"]'); node.focus(); node.dispatchEvent(new Event('click'))")
        self.until(lambda: "узел 1" in self.text("chart-steps"))
        self.assertEqual(self.browser.execute_script("return [...unsaid]"), [])

    def test_nothing_serious_is_in_the_way_of_anybody(self):
        self.train("a", SMALL, {"run.steps": 40, "run.eval_every": 2, "run.eval": "all", "data.samples": 1200, "data.partition": "dirichlet:0.5",
                                "cluster.nodes": 12, "topology.graph": "torus:3x4", "optimizer.lr": 0.05})
        self.open("runs/a")
        self.until(lambda: self.all("#graph .node"))
        self.assert_usable("watch_page")


# Enough to learn for a while: classes that few nodes have, and small steps.
SLOW = SMALL | {"data.samples": 1500, "data.test_samples": 300, "data.partition": "dirichlet:0.2", "data.batch": 8, "run.eval": "all", "optimizer.lr": 0.004,
                "run.checkpoint_every": 100, "model.hidden": "[8]"}


class Gallery(SeenTest):
    """The page in the states that docs/gallery/pages.md shows; pictures are left in the build."""

    def shown(self, name, nodes, scheme="light", width=1440):
        self.color_scheme(scheme)
        self.screen(width)
        self.browser.get(self.address)
        self.until(lambda: len(self.all("#graph .node")) == nodes and self.all("#line canvas") and self.all("#chart-bytes canvas"))
        self.picture(name)

    def test_few_nodes(self):
        self.train("torus-3x3", SLOW, {"run.steps": 300, "run.eval_every": 5, "cluster.nodes": 9, "topology.graph": "torus:3x3"})
        self.watch("runs/torus-3x3")
        self.shown("light", 9)
        self.shown("dark", 9, "dark")
        self.shown("phone", 9, width=390)
        self.screen(1440)
        self.browser.get(self.address)
        self.until(lambda: self.text("state") == "Ended" and self.all("#graph .node"))
        self.replay(60)
        self.until(lambda: self.text("state") == "Replay")
        self.picture("replay")

    def test_4_and_36_nodes_and_three_runs(self):
        self.train("ring-4", SLOW, {"run.steps": 200, "run.eval_every": 5})
        self.watch("runs/ring-4")
        self.shown("4-nodes", 4)
        self.train("torus-6x6", SLOW, {"run.steps": 120, "run.eval_every": 5, "cluster.nodes": 36, "topology.graph": "torus:6x6"})
        self.watch("runs/torus-6x6")
        self.shown("36-nodes", 36)
        self.train("ring-4-int8", SLOW, {"run.steps": 200, "run.eval_every": 5, "compress.codec": "int8"})
        self.train("allreduce-4", SLOW, {"run.steps": 200, "run.eval_every": 5, "strategy.name": "allreduce", "optimizer.momentum": 0.5})
        self.watch("runs/ring-4", "runs/ring-4-int8", "runs/allreduce-4")
        self.shown("three-runs", 4)
        self.assertEqual(len(self.all("#multiples figure")), 3)
        marked = {cell.text for cell in self.all("#runs .differs")}
        self.assertTrue({"consensus", "int8", "momentum 0.0"} <= marked, marked)

    def test_1000_nodes(self):
        """Times are printed, not asserted. VECHE_WATCH_MEASUREMENTS=10000 makes the past as long as that of the longest runs; the
        browser is sent 200 measurements of every node all the same."""
        self.train("thousand", SMALL, {"run.steps": 1, "cluster.nodes": 4})
        folder = self.folder / "runs/thousand"
        config = (folder / "config.toml").read_text()
        (folder / "config.toml").write_text(re.sub(r"(?m)^nodes = 4$", "nodes = 1000", config).replace('graph = "ring"', 'graph = "torus:25x40"'))
        count = int(os.environ.get("VECHE_WATCH_MEASUREMENTS", 1000))
        start = time.monotonic()
        with open(folder / "metrics.jsonl", "w") as file:
            for i in range(1, count + 1):
                file.write(self.measurement(i, count))
        (folder / "nodes.json").unlink(missing_ok=True)
        (folder / "progress.jsonl").unlink(missing_ok=True)
        print(f"wrote {(folder / 'metrics.jsonl').stat().st_size / 1e6:.0f} MB in {time.monotonic() - start:.1f} s")
        start = time.monotonic()
        self.watch("runs/thousand")
        self.assertTrue(wait_for(lambda: self.asked("/api/nodes?run=thousand")[1]["step"][-1:] == [2 * count], seconds=10 * LONGEST))
        print(f"read in {time.monotonic() - start:.1f} s")
        self.screen(1440)
        self.browser.get(self.address)
        self.until(lambda: self.all("#map canvas") and self.all("#line canvas"))
        print("first paint after {:.0f} ms, all columns after {:.0f} ms".format(*self.browser.execute_script("return [performance.getEntriesByName('first-drawing')[0].startTime, performance.now()]")))
        frames = self.browser.execute_async_script("""
            const done = arguments[0], slider = document.getElementById('slider'), most = Number(slider.max), times = [];
            let i = 0, before = performance.now();
            const step = now => {
              if (i > 0) times.push(performance.now() - before);
              before = performance.now();
              if (++i > 60) return done(times);
              slider.value = Math.round(most * i / 61); slider.dispatchEvent(new Event('input'));
              requestAnimationFrame(step);
            };
            requestAnimationFrame(step);""")
        print(f"dragging the slider: median frame {sorted(frames)[len(frames) // 2]:.1f} ms, longest {max(frames):.1f} ms")
        self.assertEqual(len(frames), 60)
        self.until(lambda: self.text("state") == "Replay")
        self.assertIn("torus:25x40, metropolis; one tile per node", self.text("graph-about"))
        self.assertIn("2,000 edges", self.text("graph-legend"))
        self.browser.find_element(By.TAG_NAME, "body").send_keys(Keys.ESCAPE)
        self.until(lambda: self.text("state") == "Ended")
        # By keyboard: two tiles to the right and one down is node 42, in rows of 40.
        self.browser.execute_script("document.querySelector('#graph canvas').focus()")
        tiles = self.browser.switch_to.active_element
        for key in (Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN):
            tiles.send_keys(key)
        self.until(lambda: "Node 42" in self.browser.find_element(By.CSS_SELECTOR, "#graph .pop").text)
        tiles.send_keys(Keys.ENTER)
        self.until(lambda: "node 42" in self.text("chart-distance"))
        tiles.send_keys(Keys.ENTER)
        self.browser.execute_script("document.activeElement.blur()")
        self.picture("1000-nodes")

    @staticmethod
    def measurement(i, count):
        """A line of metrics.jsonl of a torus of 25 rows of 40: one region lags, and three nodes are lost on the way."""
        near = 1 - math.exp(-4 * i / count)
        share = i / count
        nodes = []
        for node in range(1000):
            row, column = divmod(node, 40)
            lag = math.exp(-((row - 8) ** 2 + (column - 29) ** 2) / 18)
            steps = 2 * i if node not in (287, 288, 911) or share < 0.5 else count
            nodes.append('{"l2":%.3g,"steps":%d,"compute_seconds":%d,"waiting_seconds":%d,"communication_seconds":%d,"bytes_sent":%d}' % (
                (1 + (node * 37 % 100) / 250 + 2 * lag) * (1.1 - near), steps, (40 + 40 * lag) * i, (40 - 30 * lag) * i, 20 * i, 5 * 10**6 * i))
        return '{"step":%d,"epoch":%.3f,"seconds":%.2f,"task":"classification","samples_per_second":%d,"learning_rate":0.01,"train":{"loss":%.4g},"average_model":{"loss":%.4g,"accuracy":%.4f},"cv":%.4g,"nodes":[%s]}\n' % (
            2 * i, share * 20, i * 0.2, 61600 + 900 * math.sin(i), 2.3 - 1.9 * near, 2.3 - 1.8 * near, 0.1 + 0.78 * near, 0.08 * (1.1 - near), ",".join(nodes))


class SeenGrid(SeenTest):
    """A real grid of three members, of which one is killed."""

    def test_a_killed_member_keeps_its_place(self):
        grid = Grid("setUp")
        grid.setUp()
        self.addCleanup(grid.doCleanups)
        self.screen(1440)
        a, invitation = grid.found({"strategy.name": "consensus", "run.steps": 20000, "run.eval_every": 10, "grid.data": "common", "data.partition": "dirichlet:0.3", "optimizer.lr": 0.002})
        b = grid.member("b", "join", invitation)
        grid.until_seated(a, "a", "b")
        c = grid.member("c", "join", invitation)
        grid.until_seated(a, "a", "b", "c")
        self.open(a.run)
        names = lambda: self.browser.execute_script("return [...document.querySelectorAll('#graph text')].map(one => one.textContent).filter(text => 'abc'.includes(text))")
        places = lambda: self.browser.execute_script("return [...document.querySelectorAll('#graph .node .frame')].map(one => [one.getAttribute('cx'), one.getAttribute('cy')])")
        lines = lambda: self.browser.execute_script("return [...document.querySelectorAll('#graph .edge')].map(one => one.dataset.edge).sort()")
        lost = lambda: self.browser.execute_script("return [...document.querySelectorAll('#graph .lost')].map(one => one.dataset.node)")
        self.until(lambda: lines() == ["0,1", "0,2", "1,2"])
        self.assertIn("ring:3", self.text("graph-about"))
        before, rows = places(), names()
        self.assertEqual(rows, ["a", "b", "c"])
        b.process.kill()
        self.until(lambda: lost() == ["1"])
        self.assertEqual((places(), names()), (before, rows))
        self.until(lambda: lines() == ["0,2"])
        self.assertIn("ring:2", self.text("graph-about"))
        self.assertIn("b is lost", self.text("events"))
        self.assertIn("of 3 nodes, 1 lost", self.text("card-present"))
        # What was recorded: c is the second of two now, and its bytes are not counted against those of b.
        sent = self.asked("/api/series?run=a")[1]["measurements"]["bytes"]
        self.assertEqual(sent, sorted(sent))
        self.until(lambda: [node["name"] for node in json.loads((a.run / "metrics.jsonl").read_text().splitlines()[-1])["nodes"]] == ["a", "c"])
        kept = {node["name"]: node["member"] for line in (a.run / "metrics.jsonl").read_text().splitlines() for node in json.loads(line)["nodes"]}
        self.assertEqual(len(set(kept.values())), 3)
        self.assertTrue(all(re.fullmatch("[0-9a-f]{8}", member) for member in kept.values()))
        self.picture("killed-member")
        for one in (a, c):
            one.process.send_signal(signal.SIGINT)
            grid.ends(one, 130)


class Words(unittest.TestCase):
    """What the page may say, without a browser."""
    FRONT = pathlib.Path(__file__).resolve().parents[2] / "web/watch/front"

    def test_every_sentence_has_its_russian(self):
        russian = (self.FRONT / "russian.js").read_text()
        used = set(re.findall(r'data-say="([^"]*)"', (self.FRONT / "page.html").read_text()))
        for file in self.FRONT.glob("*.js"):
            if file.name != "russian.js":
                used |= set(re.findall(r'\bsay\("([^"]*)"', file.read_text()))
        self.assertGreater(len(used), 60)
        # What is passed as a variable: the main measures of the tasks, as the program declares them.
        measures = (self.FRONT.parents[2] / "src/veche/train/measure/measures.cc").read_text()
        main = {title[0].upper() + title[1:] for name, title in re.findall(r'Measure\{"(accuracy|perplexity|rmse)", "([^"]*)"', measures) if title.lower() == name}
        self.assertEqual(main, {"Accuracy", "Perplexity", "RMSE"})
        # Tables of words in the scripts: values that are said later.
        for file, table in (("ramp.js", "NAMES"), ("marks.js", "NAMES_OF_MARKS"), ("curves.js", "ACROSS"), ("timeline.js", "PARTS")):
            body = re.search(rf"const {table} = (.*?);\n", (self.FRONT / file).read_text(), re.S).group(1)
            used |= set(re.findall(r'"([^"]*)"', body)) - {"compute", "communicate", "wait"}
        used |= main
        self.assertEqual(sorted(words for words in used if f'"{words}": "' not in russian), [])


if __name__ == "__main__":
    unittest.main()
