"""docs/adding-a-strategy.md followed to the letter, in a copy of the repository: its files and diffs are applied and its
commands run. The new strategy must compile, train and pass conformance."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/adding-a-strategy.md"
LONGEST = 1000  # seconds a command may take: with an empty compiler cache all is compiled
ENVIRONMENT = dict(os.environ)
NOT_COPIED = {"build", ".git", "data", "runs"}


def blocks(page):
    """(language, text, the line before it) of every fenced block."""
    for match in re.finditer(r"^```(\w+)\n(.*?)^```$", page, re.M | re.S):
        before = page[:match.start()].rstrip().rsplit("\n", 1)[-1]
        yield match[1], match[2], before


class Pages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="veche-pages-")
        self.addCleanup(folder.cleanup)
        self.copy = pathlib.Path(folder.name) / "veche"
        shutil.copytree(ROOT, self.copy, ignore=lambda folder, names: NOT_COPIED if pathlib.Path(folder) == ROOT else ())

    def call(self, *words, **more):
        done = subprocess.run(words, cwd=self.copy, capture_output=True, text=True, timeout=LONGEST, **more)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
        return done.stdout

    def follow(self, page):
        """Does what a reader would. Returns what each command printed."""
        said = {}
        for language, text, before in blocks(page):
            if language == "cpp":
                path = re.fullmatch(r"`(\S+)`, the whole file:", before)
                self.assertTrue(path, f"where does the code after '{before}' belong?")
                self.assertFalse((self.copy / path[1]).exists(), path[1])
                (self.copy / path[1]).write_text(text)
            elif language == "diff":
                self.call("git", "apply", "-", input=text, env=ENVIRONMENT | {"GIT_CEILING_DIRECTORIES": str(self.copy.parent)})
            elif language == "sh":
                for command in text.splitlines():
                    said[command] = self.call("bash", "-c", command)
        return said

    def test_a_strategy_from_the_page_compiles_trains_and_passes_conformance(self):
        said = self.follow(PAGE.read_text())
        trained, = (out for command, out in said.items() if " train " in command and "--json" in command)
        result = json.loads(trained)
        self.assertEqual(result["stopped"], "steps")
        for node in result["parameters"]:
            self.assertAlmostEqual(node[0], 2, places=2)
        suites = {command: out for command, out in said.items() if "--gtest_filter" in command}
        self.assertEqual(len(suites), 2)
        for command, out in suites.items():
            passed = re.search(r"\[  PASSED  \] (\d+) test", out)
            self.assertTrue(passed and int(passed[1]) > 0, f"{command} ran nothing:\n{out}")
            self.assertIn("neighbour_mean", out)
        keys = (self.copy / "docs/configuration.md").read_text()
        self.assertIn("neighbour-mean", keys)


if __name__ == "__main__":
    unittest.main()
