"""What the tests of the live page share: its answers, and the page in a browser."""

import array
import http.client
import io
import json
import os
import pathlib
import re

from browser import BrowserTest, ServedTest
from PIL import Image
from veche_runs import LONGEST, QUADRATIC, assignments, wait_for

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
