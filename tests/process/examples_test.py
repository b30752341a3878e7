"""Every example runs, and shows what it says it shows."""

import gzip
import json
import os
import pathlib
import runpy
import subprocess
import sys
import types
import unittest

from veche_runs import FASHION, LONGEST, VECHE, RunsTest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


class Examples(RunsTest):
    def example(self, name, **settings):
        words = [word for key, value in settings.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]
        done = self.veche("train", EXAMPLES / f"{name}.toml", "--json", "-q", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stderr)
        return json.loads(done.stdout)

    def beginning_of_fashion_mnist(self):
        """Its first samples as IDX files: scoring 10,000 images five times would take most of the time."""
        for part, count in (("train", 1000), ("t10k", 200)):
            for name, head, size in ((f"{part}-images-idx3-ubyte", 16, 28 * 28), (f"{part}-labels-idx1-ubyte", 8, 1)):
                content = gzip.decompress((FASHION / f"{name}.gz").read_bytes())
                cut = content[:4] + count.to_bytes(4, "big") + content[8:head + count * size]
                (self.folder / name).write_bytes(cut)
        return self.folder

    def test_all_are_tested(self):
        self.assertEqual({file.stem for file in EXAMPLES.glob("*.toml")}, {"demo", "equivalence", "quadratic"})

    def test_demo(self):
        summary = self.example("demo", run__epochs=0.3, data__path=self.beginning_of_fashion_mnist())
        self.assertEqual((summary["parameter_count"], summary["nodes"], summary["steps"]), (1475338, 4, 3))
        self.assertEqual(summary["topology"], "ring:4, metropolis")

    def test_equivalence(self):
        losses = [self.example("equivalence", strategy__name=name)["loss"] for name in ("consensus", "allreduce", "single")]
        self.assertLess(max(losses) - min(losses), 1e-5 * max(losses))

    def test_compression(self):
        """A short form: five steps on the first samples tell the bytes; what the codecs learn is in docs/compression.md."""
        done = subprocess.run([EXAMPLES / "compression/compare.py", VECHE, "--codecs", "none,sign,topk:0.01,powergossip:2", "--set",
                               "run.epochs=1", "--set", f"data.path={self.beginning_of_fashion_mnist()}"],
                              cwd=self.folder, stdout=subprocess.PIPE, text=True, check=True, timeout=LONGEST)
        rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()[2:]]
        less = {row[0]: float(row[5].removeprefix("1/")) for row in rows}
        self.assertEqual(list(less), ["none", "sign", "topk:0.01", "powergossip:2"])
        self.assertEqual(less["none"], 1)
        self.assertGreater(less["sign"], 30)
        self.assertGreater(less["topk:0.01"], 40)
        self.assertGreater(less["powergossip:2"], 40)

    def test_applied(self):
        """From raw pictures of three sites to a service."""
        done = subprocess.run([EXAMPLES / "applied/run.py", "task"], cwd=self.folder, stdout=subprocess.PIPE, text=True, timeout=2 * LONGEST,
                              env={**os.environ, "VECHE": VECHE}, check=True)
        told = done.stdout.splitlines()
        parts = [float(line.split()[1]) for line in told[:3]]
        self.assertGreater(max(parts), 60, told)  # of three classes
        self.assertEqual([line.split(":")[0] for line in told[3:6]], ["disc.png", "square.png", "triangle.png"])
        self.assertRegex(told[6], r"served at http://127.0.0.1:\d+/: (disc|square|triangle)")
        self.assertTrue((self.folder / "task/report.html").is_file())

    def test_banks(self):
        """A short form, with a made-up table: each bank alone, pooled, and together on the grid."""
        done = subprocess.run([EXAMPLES / "banks/run.py", "--rows", "1500", "--epochs", "4", "--out", "banks"], cwd=self.folder,
                              stdout=subprocess.PIPE, text=True, timeout=2 * LONGEST, env={**os.environ, "VECHE": VECHE}, check=True)
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()[2:7]]
        self.assertEqual([row[0] for row in rows], ["bank small, alone", "bank medium, alone", "bank large, alone", "all three, pooled",
                                                    "all three, together on the grid"])
        self.assertEqual([row[1] for row in rows[3:]], ["1,200", "1,200"])
        self.assertTrue(all(float(row[2]) > 0.7 for row in rows[3:]), rows)

    def test_thesis(self):
        """A row at a very small part of its length, twice: the second time nothing is left to do. Every row is one that can be run."""
        words = [EXAMPLES / "thesis/tables.py", "--out", "rows", "--seeds", "1", "--part", "0.1", "--run", "6.1",
                 "--set", f"data.path={self.beginning_of_fashion_mnist()}"]
        for _ in range(2):
            done = subprocess.run([*words, "--write", "page.md"], cwd=self.folder, stdout=subprocess.PIPE, text=True, timeout=2 * LONGEST,
                                  env={**os.environ, "VECHE": VECHE}, check=True)
        self.assertEqual(len(done.stdout.splitlines()), 2)
        rows = {line.split("|")[1].strip(): line for line in (self.folder / "page.md").read_text().splitlines() if line.startswith("| ")}
        self.assertRegex(rows["6.1"], r"92\.05 ± 0\.09 \| 92\.05 \| 0\.1: \d+ steps \| \d+\.\d\d ± \d+\.\d\d \(1 seed\) \| \d+\.\d\d \(1 seed\) \|$")
        self.assertIn("not run", rows["3.8"])

    def test_thesis_without_data(self):
        """A set that cannot be fetched leaves its rows out, with a sentence; other rows go on. Configurations are those of `veche train`."""
        tables = {"cwd": self.folder, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": LONGEST, "check": True,
                  "env": {**os.environ, "VECHE": VECHE, "https_proxy": "http://127.0.0.1:9", "ALL_PROXY": "http://127.0.0.1:9"}}
        done = subprocess.run([EXAMPLES / "thesis/tables.py", "--out", "rows", "--run", "5.1", "--data", "cifar10=elsewhere", "--write", "page.md"], **tables)
        self.assertRegex(done.stderr, r"\A5\.1: \S[^\n]*\n\Z")
        text = (self.folder / "page.md").read_text()
        self.assertRegex(text, r"\n\| 5\.1 \|[^\n]*no data here")
        self.assertRegex(text, r"\n- `cifar100`: \S")
        self.assertRegex(text, r"\n\| 3\.8 \|[^\n]*not run")
        for row in ("2.1", "3.4", "3.12", "4.4", "7.2"):
            config = subprocess.run([EXAMPLES / "thesis/tables.py", "--config", row], **tables).stdout
            (self.folder / "row.toml").write_text(config)
            split = self.veche("data", "split", "row.toml", "--set", "data.name=synthetic", "--json")
            self.assertEqual(split.returncode, 0, split.stderr)

    def test_thesis_learners_and_schedules(self):
        """Every row's graph is connected; rows with the same learner share it; a shorter run warms up as much shorter; a figure's curve has ten points; wrong words."""
        tables = types.SimpleNamespace(**runpy.run_path(str(EXAMPLES / "thesis/tables.py")))
        self.assertEqual(tables.settings_of("2.4", 1, 0.1, False)["optimizer.warmup_epochs"], 0.5)
        self.assertEqual(tables.settings_of("3.8", 1, 0.01, False)["run.eval_every"], 8)
        self.assertNotIn("run.eval_every", tables.settings_of("3.8", 1, 1.0, False))
        for row, learner in {"3.13": "3.8", "7.1": "3.8", "2.1": "2.1", "2.7": "2.4", "4.4": "3.10"}.items():
            self.assertEqual(tables.learner_of(row), learner)
        for graph, nodes in {row[1] for row in tables.ROWS.values()}:
            connected = self.veche("topology", graph if ":" in graph else f"{graph}:{nodes}", "--json")
            self.assertEqual((connected.returncode, connected.stderr), (0, ""))
            self.assertEqual(json.loads(connected.stdout)["nodes"], nodes)
        run = self.folder / "rows/3.8-one-part0.01-seed1"
        run.mkdir(parents=True)
        (run / "summary.json").write_text('{"steps": 88, "accuracy": {"average_model": 0.4321}}')
        page = tables.page(self.folder / "rows")
        for row in ("3.8", "3.13", "7.1"):
            self.assertRegex(page, rf"\n\| {row} \|[^\n]*\| 0\.01: 88 steps \| not run \| 43\.21 \(1 seed\) \|\n")
        self.assertRegex(page, r"\n\| 3\.10 \|[^\n]*\|  \| not run \|  \|\n")
        for words in (["--run", "9.9"], ["--data", "cifar=x"], ["--set", "x"]):
            wrong = subprocess.run([EXAMPLES / "thesis/tables.py", *words], cwd=self.folder, stderr=subprocess.PIPE, text=True, timeout=LONGEST, check=False)
            self.assertEqual((wrong.returncode, len(wrong.stderr.splitlines())), (2, 1), wrong.stderr)

    def test_own_module(self):
        subprocess.run([sys.executable, EXAMPLES / "own_module/export.py"], cwd=self.folder, check=True, timeout=LONGEST)
        summaries = [self.example("own_module/train", run__epochs=3, data__path=self.beginning_of_fashion_mnist(),
                                  run__name=name) for name in ("one", "two")]
        self.assertEqual(summaries[0]["model"], "torchscript")
        self.assertGreater(summaries[0]["accuracy"]["mean"], 0.5)
        # Dropout in it is repeatable, whatever the threads do.
        self.assert_same_run(self.run_path("one"), self.run_path("two"))

    def test_quadratic(self):
        for x, in self.example("quadratic")["parameters"]:
            self.assertAlmostEqual(x, 2, delta=0.01)


if __name__ == "__main__":
    unittest.main()
