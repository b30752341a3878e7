"""The live page: over real connections, and in a real browser."""

import csv
import io
import json
import math
import pathlib
import re
import signal
import time
import unittest
import urllib.parse
from xml.etree import ElementTree

from browser import By
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from veche_runs import LONGEST, SMALL, assignments, wait_for
from watch_page import ENDLESS, SeenTest, WatchTest


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
            self.click(f'#graph .node[data-node="{node}"]')
        for chart in ("accuracy", "loss", "distance", "waiting", "steps"):
            self.until(lambda: "node 1" in self.text(f"chart-{chart}") and "node 3" in self.text(f"chart-{chart}"))
        self.assertIn("Steps/s", self.text_of("#graph .pop"))
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
        self.assertIn("Node ", self.text_of("#graph .pop"))
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
        # The goal is what both have reached.
        best = [max(json.loads(line)["average_model"]["accuracy"] for line in (self.folder / f"runs/{name}/metrics.jsonl").read_text().splitlines()) for name in "ab"]
        self.assertIn(f"reaching {min(math.floor(min(best) * 20 + 1e-9) * 5, 95)}.0 %", self.text("runs-about"))
        # The table: sorted by a click, filtered by words; a run less among the curves; another shown.
        names = lambda: self.texts_of("#runs tbody td:first-child")
        self.assertEqual(sorted(names()), ["a", "b"])
        self.browser.find_element(By.ID, "filter").send_keys("nothing like this")
        self.until(lambda: names() == [])
        self.browser.find_element(By.ID, "filter").clear()
        self.browser.find_element(By.ID, "filter").send_keys(Keys.BACKSPACE)
        self.until(lambda: len(names()) == 2)
        self.click("#runs thead button")
        self.until(lambda: names() == ["b", "a"])
        self.click("#runs [data-run=b]")
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
        self.click("#language")
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

    def test_without_a_run_it_says_how_to_start_one(self):
        (self.folder / "runs").mkdir()
        self.watch("runs")
        self.browser.get(self.address)
        self.until(lambda: "veche train" in self.text("state") and not self.all("body.loading"))
        self.assert_usable("watch_no_run")
        self.train("a", SMALL, {"run.steps": 2, "run.eval_every": 1})
        self.until(lambda: "Step 2" in self.text("far"))

    def test_nothing_jumps_while_it_loads(self):
        """Cumulative layout shift; Google calls up to 0.1 good."""
        self.train("a", SMALL, {"run.steps": 10, "run.eval_every": 1})
        self.watch("runs/a")
        for width, height in ((390, 844), (1350, 940)):
            self.screen(width, height)
            self.browser.get(self.address)
            self.until(lambda: self.all("#chart-bytes canvas") and not self.all("body.loading"))
            shifts = self.browser.execute_async_script("""
                const done = arguments[0];
                new PerformanceObserver(list => done(list.getEntries().map(({value}) => value))).observe({type: "layout-shift", buffered: true});
                setTimeout(() => done([]), 1000);""")
            self.assertLess(sum(shifts), 0.1, f"{width} wide")

    def test_nothing_serious_is_in_the_way_of_anybody(self):
        self.train("a", SMALL, {"run.steps": 40, "run.eval_every": 2, "run.eval": "all", "data.samples": 1200, "data.partition": "dirichlet:0.5",
                                "cluster.nodes": 12, "topology.graph": "torus:3x4", "optimizer.lr": 0.05})
        self.open("runs/a")
        self.until(lambda: self.all("#graph .node"))
        self.assert_usable("watch_page")


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
