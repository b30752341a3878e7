"""`veche report` of real runs: one page that opens alone, and the same as CSV, figures and tables."""

import csv
import collections
import html.parser
import json
import math
import pathlib
import re
import statistics
import unittest
import xml.etree.ElementTree

from veche_runs import SMALL, RunsTest, assignments


class Page(html.parser.HTMLParser):
    """Rows of tables by caption, and what would be asked of others."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.addresses, self.tags = {}, [], []
        self.row, self.rows, self.inside, self.spans = [], [], None, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href", "action", "data")]
        if tag == "table":
            self.rows = []
        elif tag == "tr":
            self.row = []
        if tag in ("caption", "th", "td"):
            self.inside = tag
            self.words = ""
        if tag == "span":
            self.spans.append(dict(attributes))

    def hidden(self):
        """Inside Russian words, or those of a narrow page."""
        return any(span.get("lang") == "ru" or "narrow" in span.get("class", "") for span in self.spans)

    def handle_data(self, data):
        if self.inside and not self.hidden():
            self.words += data.replace("\u00a0", " ")

    def handle_endtag(self, tag):
        if tag == "span" and self.spans:
            self.spans.pop()
        if tag == "caption":
            self.tables[self.words] = self.rows
        elif tag in ("th", "td"):
            self.row.append(self.words)
        elif tag == "tr":
            self.rows.append(self.row)
        if tag == self.inside:
            self.inside = None


def percent(share):
    """One decimal, halves upwards."""
    return f"{math.floor(1000 * share + 0.5 + 1e-9) / 10:.1f} %"


class Report(RunsTest):
    def report(self, *words):
        done = self.veche("report", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def page(self, name="report.html"):
        text = (self.folder / name).read_text()
        page = Page(text)
        self.assertEqual([address for address in page.addresses if not address.startswith("data:")], [])
        self.assertEqual(page.tags.count("script"), 1)  # theme and language; the page names its hash
        self.assertNotIn("@import", text)
        return page

    def test_three_runs_are_one_page(self):
        long = {"run.steps": 12, "run.eval_every": 1}
        for name, strategy in (("one", "consensus"), ("two", "allreduce"), ("three", "local-sgd")):
            self.train(name, SMALL, long, {"strategy.name": strategy})
        self.assertEqual(self.report("runs/one", "runs/two", "runs/three"), ["report.html"])
        self.assertLessEqual((self.folder / "report.html").stat().st_size, 500_000)
        page = self.page()
        head, *rows = page.tables["Results"]
        found = {row[0]: dict(zip(head, row)) for row in rows}
        self.assertEqual({name: row["Strategy"] for name, row in found.items()}, {"one": "consensus", "two": "allreduce", "three": "local-sgd"})
        runs = {row[0]: dict(zip(page.tables["Runs"][0], row)) for row in page.tables["Runs"][1:]}
        for name in ("one", "two", "three"):
            summary = json.loads((self.folder / f"runs/{name}/summary.json").read_text())
            self.assertEqual(found[name]["Accuracy at the end"], percent(summary["accuracy"]["average_model"]))
            self.assertEqual(runs[name]["accuracy of the nodes"],
                             percent(summary["accuracy"]["mean"])[:-2] + " ± " + percent(summary["accuracy"]["std"]))
            self.assertEqual(len(page.tables[f"Nodes of {name}"]), 5)
            self.assertEqual(len(page.tables[f"Measurements of {name}"]), 13)
        text = (self.folder / "report.html").read_text()
        self.assertIn("ring:4, metropolis", text)
        self.assertEqual(text.count('class="chart"'), 5)
        self.assertEqual(text.count("<figcaption>"), 1)  # the ring of two of the runs, drawn once
        self.assertIn("veche train runs/one/config.toml --set run.name=one-again", text)
        self.assertNotIn("not noted", text)
        # The command it gives works.
        done = self.veche(*re.search(r"veche (train runs/one/\S+ --set \S+?)<", text).group(1).split(), "-q")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_comparisons_are_mean_and_deviation_over_seeds(self):
        done = self.veche("train", "-q", *assignments(SMALL, {"run.steps": 4}), "--compare", "strategy=allreduce,none",
                          "--repeat", 3)
        self.assertEqual(done.returncode, 0, done.stderr)
        folder, = (self.folder / "runs").iterdir()
        compared = json.loads((folder / "compare.json").read_text())["comparison"]
        written = self.report(folder, "--out", "r.html", "--csv", "csv", "--figures", "figures")
        page = self.page("r.html")
        head, *rows = page.tables["Results"]
        found = {row[0]: dict(zip(head, row)) for row in rows}
        with open(self.folder / "csv/runs.csv", newline="") as file:
            runs = list(csv.DictReader(file))
        self.assertEqual(len(runs), 6)
        for line in compared:
            seeds = [float(run["averaged_model"]) for run in runs if run["configuration"] == line["variant"]]
            self.assertEqual(len(seeds), 3)
            self.assertEqual(found[line["variant"]]["Accuracy at the end"],
                             percent(statistics.mean(seeds))[:-2] + " ± " + percent(statistics.pstdev(seeds)))
        # Every digit of the summaries.
        for run in runs:
            summary = json.loads((folder / run["run"] / "summary.json").read_text())
            self.assertEqual([float(run[key]) for key in ("averaged_model", "nodes_mean", "seconds", "bytes_sent")],
                             [summary["accuracy"]["average_model"], summary["accuracy"]["mean"], summary["seconds"], summary["bytes_sent"]])
        with open(self.folder / "csv/none-seed2-nodes.csv", newline="") as file:
            nodes = list(csv.DictReader(file))
        self.assertEqual([float(node["from_the_mean"]) for node in nodes],
                         [node["l2"] for node in json.loads((folder / "none-seed2/summary.json").read_text())["per_node"]])
        for name in written:
            self.assertTrue((self.folder / name).is_file(), name)
        with open(self.folder / "csv/none-seed2-measurements.csv", newline="") as file:
            lines = list(csv.DictReader(file))
        metrics = [json.loads(line) for line in (folder / "none-seed2/metrics.jsonl").read_text().splitlines()]
        self.assertEqual([float(line["cv"]) for line in lines], [line["cv"] for line in metrics])
        for figure in (self.folder / "figures").glob("*.svg"):
            self.assertTrue(xml.etree.ElementTree.parse(figure).getroot().tag.endswith("svg"))
        self.assertIn("\\begin{tabular}", (self.folder / "figures/table.tex").read_text())
        self.assertEqual(len((self.folder / "figures/table.md").read_text().splitlines()), 4)

    def test_the_gallery_is_what_the_program_draws(self):
        """docs/gallery was made by `veche report --gallery docs/gallery`: pictures that no clock decides on are the same, curves have the same lines and words."""
        done = self.veche("report", "--gallery", "made")
        self.assertEqual(done.returncode, 0, done.stderr)
        shown, made = pathlib.Path(__file__).resolve().parents[2] / "docs/gallery", self.folder / "made"
        pages = {"pages", "pages.md"}  # made by the browser test
        self.assertEqual({file.name for file in made.iterdir()}, {file.name for file in shown.iterdir()} - pages)
        self.assertEqual((made / "gallery.md").read_text(), (shown / "gallery.md").read_text())
        for picture in made.glob("*.svg"):
            with self.subTest(picture.name):
                self.assertLess(picture.stat().st_size, 20_000)
                now, then = ([*xml.etree.ElementTree.parse(folder / picture.name).iter()] for folder in (made, shown))
                words = lambda elements: [one.text for one in elements if one.text and re.search("[a-z]{2}", one.text)]
                self.assertEqual(words(now), words(then))
                kinds = lambda elements: collections.Counter(one.tag.split("}")[-1] for one in elements)
                # Ticks follow what was measured.
                same = kinds if picture.stem in ("torus", "negative", "network", "split") else lambda elements: kinds(elements)["polyline"]
                self.assertEqual(same(now), same(then))
        for words in (["--gallery", "made", "runs/a"], []):
            self.assertEqual(self.veche("report", *words).returncode, 2)

    def test_names_harm_nothing(self):
        name = "<script>alert(1)<script>\"'&"
        self.train("a", SMALL, {"run.steps": 1})
        (self.folder / "runs/a").rename(self.folder / "runs" / name)
        with open(self.folder / "runs" / name / "config.toml", "a") as file:
            file.write("# </pre></script><script>alert(1)</script>\n")
        self.report(f"runs/{name}", "--csv", "csv")
        page = self.page()
        self.assertIn(f"Nodes of {name}", page.tables)

    def test_wrong_requests_write_nothing(self):
        self.train("a", SMALL, {"run.steps": 1})
        for told, words in (("no folder 'runs/no'", ["runs/no"]), ("neither a run's folder", ["."]),
                            ("folder no does not exist", ["runs/a", "--out", "no/x.html"]), ("runs", ["runs/a", "--out", "runs"])):
            done = self.veche("report", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertRegex(done.stderr, rf"\Aveche: [^\n]*{told}[^\n]*\n\Z")
        self.assertFalse((self.folder / "report.html").exists())


if __name__ == "__main__":
    unittest.main()
