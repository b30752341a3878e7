"""Tables: from CSV files to models that answer rows, alone, in folders and on the grid."""

import csv
import json
import math
import random
import re
import runpy
import subprocess
import unittest
import urllib.error
import urllib.request

from examples_test import EXAMPLES
from sklearn.metrics import roc_auc_score
from veche_runs import LONGEST, RunsTest, VECHE, assignments, wait_for

MODEL = {"model.name": "mlp", "model.hidden": "[8]", "data.batch": 20, "run.epochs": 3, "cluster.nodes": 1, "strategy.name": "single",
         "optimizer.lr": 0.01}
CLIENTS = {"data.target": "late", "data.ignore": '["ID"]', "data.test": "ID % 5 == 0"}


def clients(count, first=1, shift=0.0, towns=("Bern", "Basel", "Genf"), seed=1):
    """Whether a client pays late follows from the age, the town and chance; some ages are missing."""
    chance = random.Random(seed)
    rows = []
    for i in range(first, first + count):
        age, town = round(chance.gauss(45 + shift, 12), 1), chance.choice(towns)
        late = age / 12 + (town == "Bern") + chance.gauss(0, 1) > 4
        rows.append([i, "" if chance.random() < 0.1 else age, town, "yes" if late else "no"])
    return rows


class TablesTest(RunsTest):
    def write(self, name, rows, head=("ID", "age", "town", "late")):
        with open(self.folder / name, "w", newline="") as file:
            csv.writer(file).writerows([head, *rows])
        return name

    def answers(self, run, rows, *words, expect=0):
        done = self.veche("predict", f"runs/{run}", rows, "--out", "answers.csv", *words)
        self.assertEqual(done.returncode, expect, done.stderr)
        with open(self.folder / "answers.csv", newline="") as file:
            return list(csv.DictReader(file))

    def scheme(self, folder):
        return json.loads((folder / "layout.json").read_text())["input"]["table"]

    def assert_same_scheme(self, one, other):
        self.assertEqual([column.get("categories") for column in one["columns"]], [column.get("categories") for column in other["columns"]])
        self.assertEqual(one["target"], other["target"])
        for mine, theirs in zip(one["columns"], other["columns"]):
            self.assertAlmostEqual(mine.get("mean", 0), theirs.get("mean", 0), delta=1e-9)
            self.assertAlmostEqual(mine.get("deviation", 0), theirs.get("deviation", 0), delta=1e-9)


class Tables(TablesTest):
    def test_inspect_shows_columns(self):
        self.write("a.csv", clients(200))
        told = self.veche("data", "inspect", "a.csv")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertRegex(told.stdout, r"town +categories +0 +3: ")
        found = json.loads(self.veche("data", "inspect", "a.csv", "--json").stdout)
        self.assertEqual([column["kind"] for column in found["columns"]], ["numbers", "numbers", "categories", "categories"])
        self.assertEqual((found["rows"], found["columns"][0]["mean"]), (200, 100.5))

    def test_from_a_table_to_answers(self):
        """Trains, answers rows in another order of columns, and the same rows over HTTP; the AUC is scikit-learn's."""
        self.write("a.csv", clients(600))
        run = self.train("a", MODEL, CLIENTS, {"data.path": "a.csv"})
        rows = clients(300, seed=2)
        self.write("rows.csv", [[row[3], row[2], row[1]] for row in rows], head=("late", "town", "age"))
        answers = self.answers("a", "rows.csv")
        truths, scores = [int(row["truth"] == "yes") for row in answers], [float(row["p(yes)"]) for row in answers]
        self.assertEqual(truths, [int(row[3] == "yes") for row in rows])
        area = runpy.run_path(str(EXAMPLES / "banks/run.py"))["area"]
        self.assertAlmostEqual(area(truths, scores), roc_auc_score(truths, scores), delta=1e-6)
        assessed = json.loads(self.veche("predict", "runs/a", "rows.csv", "--json").stdout)["assessment"]
        self.assertAlmostEqual(assessed["auc"], roc_auc_score(truths, scores), delta=1e-6)
        self.assertGreater(roc_auc_score(truths, scores), 0.75)
        tested = json.loads(self.veche("predict", "runs/a", "--test", "--json").stdout)["test"]
        self.assertEqual(tested["count"], 120)
        self.assertAlmostEqual(tested["accuracy"], run.summary()["accuracy"]["average_model"], delta=1e-9)

        server = self.start("serve", "runs/a", "--port", 0)
        address = server.stdout.readline().strip()
        row = {"age": rows[0][1] or None, "town": rows[0][2]}
        one = self.post(address, row)
        self.assertAlmostEqual({each["class"]: each["probability"] for each in one["classes"]}["yes"], scores[0], delta=1e-6)
        both = self.post(address, [row, {"age": rows[1][1] or None, "town": rows[1][2]}])
        self.assertEqual(both["answers"][0], one)
        with urllib.request.urlopen(address + "samples", timeout=LONGEST) as reply:
            samples = json.load(reply)
        written = {tuple(row[1:]) for row in clients(600) if row[0] % 5 == 0}  # the test rows
        self.assertEqual((samples["size"], len(samples["samples"])), (120, 20))
        for sample in samples["samples"]:
            age = sample["row"]["age"]
            self.assertIn(("" if age is None else float(age), sample["row"]["town"], sample["class"]), written)
        of_all = self.post(address, samples["samples"][0]["row"], "nodes")
        self.assertEqual(of_all["served"]["classes"], self.post(address, samples["samples"][0]["row"])["classes"])
        for wrong, sentence in (({"age": 3}, "has no town"), ({"age": "x", "town": "Bern"}, "age is 'x', which is no number"),
                                ({"age": 3, "town": "Rom"}, "town is 'Rom', a category that no training row has"), (7, "is no object")):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.post(address, wrong)
            self.assertEqual(refused.exception.code, 422)
            self.assertIn(sentence, json.load(refused.exception)["error"])

    def post(self, address, rows, path="predict"):
        request = urllib.request.Request(address + path, data=json.dumps(rows).encode())
        with urllib.request.urlopen(request, timeout=LONGEST) as reply:
            return json.load(reply)

    def test_rows_that_cannot_be_used(self):
        self.write("a.csv", clients(100))
        self.train("a", MODEL, CLIENTS, {"data.path": "a.csv"})
        self.write("rows.csv", [[1, 30, "Bern"], [2, "old", "Bern"], [3, 30, "Rom"], [4, 30], [5, "", "Basel"]], head=("ID", "age", "town"))
        answers = self.answers("a", "rows.csv", expect=1)
        self.assertEqual([row["error"] for row in answers],
                         ["", "age is 'old', which is no number", "town is 'Rom', a category that no training row has",
                          "2 cells stand where the first line has 3 columns", ""])
        self.assertEqual([row["line"] for row in answers], ["2", "3", "4", "5", "6"])
        self.write("less.csv", [[1, 30]], head=("ID", "age"))
        refused = self.veche("predict", "runs/a", "less.csv", "--out", "none.csv")
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("'less.csv' has no column 'town', which the model needs", refused.stderr)
        self.assertFalse((self.folder / "none.csv").exists())
        refused = self.veche("train", *assignments(MODEL, CLIENTS, {"data.path": "a.csv", "data.target": "lat"}))
        self.assertEqual(refused.returncode, 2)
        self.assertIn("has no column 'lat'; did you mean 'late'?", refused.stderr)

    def test_regression(self):
        """Measures are in the units of the file."""
        chance = random.Random(3)
        rows = [[x := chance.uniform(0, 10), 1000 + 500 * x + chance.gauss(0, 50)] for _ in range(500)]
        self.write("a.csv", rows, head=("x", "price"))
        self.train("a", MODEL, {"data.path": "a.csv", "data.target": "price", "data.test": 0.2, "run.epochs": 20})
        answers = self.answers("a", "a.csv")
        errors = [float(row["price"]) - float(row["truth"]) for row in answers]
        self.assertLess(math.sqrt(sum(error * error for error in errors) / len(errors)), 150)
        told = json.loads(self.veche("predict", "runs/a", "a.csv", "--json").stdout)["assessment"]
        self.assertAlmostEqual(told["rmse"], math.sqrt(sum(error * error for error in errors) / len(errors)), delta=1e-2)
        self.assertGreater(told["r2"], 0.9)

    def test_sites_agree_and_resumed_runs_keep_the_scheme(self):
        """Two sites in folders have the scheme of the pooled table. What is added to a file later does not change it."""
        (self.folder / "sites").mkdir()
        one, two = clients(150), clients(200, first=151, shift=9, towns=("Basel", "Zug"), seed=5)
        self.write("sites/1.csv", one)
        self.write("sites/2.csv", two)
        self.write("pooled.csv", one + two)
        sites = self.train("sites", MODEL, CLIENTS, {"data.path": "sites", "data.partition": "folders", "cluster.nodes": 2,
                                                     "strategy.name": "allreduce"})
        pooled = self.train("pooled", MODEL, CLIENTS, {"data.path": "pooled.csv"})
        self.assert_same_scheme(self.scheme(sites.path), self.scheme(pooled.path))
        before = self.scheme(sites.path)
        self.write("sites/2.csv", two + [[1001, 99, "Zug", "yes"], [1002, 98, "Zug", "no"]])
        done = self.veche("train", "--quiet", "--resume", "runs/sites", "--set", "run.epochs=4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.scheme(sites.path), before)
        self.write("sites/2.csv", two + [[1001, 99, "Rom", "yes"]])
        done = self.veche("train", "--quiet", "--resume", "runs/sites", "--set", "run.epochs=5")
        self.assertEqual(done.returncode, 2)
        self.assertIn("2.csv', line 202: town is 'Rom', a category that no training row has", done.stderr)

    def test_weights_of_classes(self):
        """A rare class is found more often if its rows weigh more."""
        rows = [row for row in clients(900, seed=7) if row[3] == "no" or row[0] % 4 == 0]
        self.write("a.csv", rows)
        found = {}
        for name, settings in (("plain", {}), ("balanced", {"data.class_weights": "balanced"})):
            self.train(name, MODEL, CLIENTS, settings, {"data.path": "a.csv", "run.epochs": 10})
            answers = self.answers(name, "a.csv")
            late = [row for row in answers if row["truth"] == "yes"]
            found[name] = sum(row["late"] == "yes" for row in late) / len(late)
        self.assertGreater(found["balanced"], found["plain"] + 0.1)


class TablesOnTheGrid(TablesTest):
    def grid_member(self, name, *words):
        log = open(self.folder / f"{name}.log", "w+")
        self.addCleanup(log.close)
        own = {"grid.listen": "127.0.0.1:0", "grid.multicast": "false", "run.out": "runs", "run.name": name, "data.path": f"{name}.csv",
               "grid.name": name}
        process = subprocess.Popen([VECHE, "grid", *words, *assignments(own)], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=log, text=True)
        self.addCleanup(self.end, process)
        return process

    def told(self, name):
        return (self.folder / f"{name}.log").read_text()

    def test_members_agree_and_late_ones_take_the_scheme(self):
        """Three members start together; each lacks a town that another has. A fourth comes when they train."""
        parts = {"a": clients(100), "b": clients(150, first=101, shift=5, towns=("Basel", "Zug"), seed=2),
                 "c": clients(120, first=251, shift=-5, towns=("Chur", "Bern"), seed=3)}
        for name, rows in parts.items():
            self.write(f"{name}.csv", rows)
        self.write("pooled.csv", sum(parts.values(), []))
        self.write("d.csv", clients(80, first=400, seed=4))
        settings = {**MODEL, **CLIENTS, "strategy.name": "allreduce", "run.epochs": 40, "grid.wait_for": 3, "cluster.stall": "[1, 0.01]"}
        settings.pop("cluster.nodes")
        founder = self.grid_member("a", "start", *assignments(settings))
        invitation = founder.stdout.readline().strip()
        self.assertRegex(invitation, r"^VECHE1-\S+$", self.told("a"))
        members = {"a": founder, **{name: self.grid_member(name, "join", invitation) for name in "bc"}}
        wait_for(lambda: re.search(r"from step 0", self.told("a")), founder)
        wait_for(lambda: (self.folder / "runs/a/metrics.jsonl").is_file() and "step" in (self.folder / "runs/a/metrics.jsonl").read_text(),
                 founder)
        members["d"] = self.grid_member("d", "join", invitation)
        for name, member in members.items():
            member.communicate(timeout=2 * LONGEST)
            self.assertEqual(member.returncode, 0, self.told(name))
        pooled = self.train("pooled", MODEL, CLIENTS, {"data.path": "pooled.csv", "run.epochs": 1})
        for name in members:
            self.assert_same_scheme(self.scheme(self.folder / "runs" / name), self.scheme(pooled.path))
        self.assertEqual([row["p(yes)"] for row in self.answers("a", "pooled.csv")], [row["p(yes)"] for row in self.answers("d", "pooled.csv")])


if __name__ == "__main__":
    unittest.main()
