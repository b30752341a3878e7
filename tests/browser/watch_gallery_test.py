"""The live page in the states that docs/gallery/pages.md shows: few nodes, a thousand, a killed member, several runs.

Leaves pictures in this folder of the build, or where VECHE_GALLERY says."""

import json
import math
import os
import re
import signal
import time
import unittest

from browser import By
from grid_test import Grid
from selenium.webdriver.common.keys import Keys
from veche_runs import LONGEST, SMALL, wait_for
from watch_page import SeenTest

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
        # What went over the lines is what the nodes sent, though the run ended soon after its last report.
        sent = json.loads((self.folder / "runs/torus-3x3/summary.json").read_text())["bytes_sent"]
        lines = self.browser.execute_script("return [...document.querySelectorAll('#graph .edge')].map(one => [one.dataset.there, one.dataset.back])")
        self.assertAlmostEqual(sum(float(there) + float(back) for there, back in lines), sent, delta=0.05 * sent)
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
        marked = set(self.texts_of("#runs .differs"))
        self.assertTrue({"consensus", "int8", "momentum 0.0"} <= marked, marked)
        self.assert_usable()

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
        self.until(lambda: "Node 42" in self.text_of("#graph .pop"))
        tiles.send_keys(Keys.ENTER)
        self.until(lambda: "node 42" in self.text("chart-distance"))
        tiles.send_keys(Keys.ENTER)
        self.browser.execute_script("document.activeElement.blur()")
        self.picture("1000-nodes")
        self.assert_usable()

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
        self.assert_usable()
        for one in (a, c):
            one.process.send_signal(signal.SIGINT)
            grid.ends(one, 130)


if __name__ == "__main__":
    unittest.main()
