"""Benches verify, say what they promised, and leave a table that training reads."""

import json
import os
import unittest

from veche_runs import QUADRATIC, RunsTest


class BenchTest(RunsTest):
    def test_allreduce_is_measured_and_tuned(self):
        done = self.veche("bench", "allreduce", "--quick", "--json", "--tune", "table.toml")
        self.assertEqual(done.returncode, 0, done.stderr)
        cases = json.loads(done.stdout)["cases"]
        self.assertEqual(sum(case["peer"] == "copying" for case in cases), 12)
        self.assertTrue(all(case["ratio"] > 0 and case["required"] > 0 for case in cases))
        by_table = self.train("table", QUADRATIC, {"strategy.name": "allreduce", "strategy.table": "table.toml", "run.steps": 20})
        by_ring = self.train("ring", QUADRATIC, {"strategy.name": "allreduce", "strategy.algorithm": "ring", "run.steps": 20})
        for one, other in zip(by_table.summary()["parameters"], by_ring.summary()["parameters"]):
            self.assertAlmostEqual(one[0], other[0], places=5)

    def test_an_instruction_set_limits_both_sides(self):
        done = self.veche("bench", "mix", "--quick", "--json", "--isa", "plain")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["instruction_set"], "plain")
        self.assertIn("instruction set: plain\n", done.stderr)
        inherited = self.veche("bench", "mix", "--quick", "--json", env={**os.environ, "VECHE_ISA": "plain"})
        self.assertEqual(json.loads(inherited.stdout)["instruction_set"], "plain")
        for words, env in ((["--isa", "plainn"], {}), ([], {"VECHE_ISA": "plainn"})):
            done = self.veche("bench", "mix", "--quick", *words, env={**os.environ, **env})
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, r"\Aveche: [^\n]*'plainn'[^\n]*plain[^\n]*\n\Z")

    def test_measurements_are_recorded_a_line_each(self):
        words = ("bench", "mix", "--quick", "--json", "--record", "record.jsonl")
        for _ in range(2):
            done = self.veche(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
        lines = [json.loads(line) for line in (self.folder / "record.jsonl").read_text().splitlines()]
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[0]["date"], r"^20\d\d-\d\d-\d\d$")
        self.assertTrue(lines[0]["quick"])
        self.assertIn(lines[0]["cores"], range(1, len(os.sched_getaffinity(0)) + 1))
        self.assertIn(lines[0]["instruction_set"], ("avx512", "avx2", "sse4", "plain"))
        self.assertTrue(lines[0]["processor"])
        printed = json.loads(done.stdout)["cases"]
        self.assertEqual(lines[1]["cases"], [{"bench": "mix", **case} for case in printed])
        for case in printed:
            sure = "kept" if case["ratio"] >= case["required"] else "missed"
            self.assertEqual(case["verdict"], sure if case["spread"] <= 0.3 else "unsure")

    def test_a_file_that_cannot_be_written_to_is_refused_before_measuring(self):
        done = self.veche("bench", "mix", "--record", "no/such/folder/file")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Aveche: --record: no/such/folder/file cannot be [^\n]*\n\Z")

    def test_serving_answers_what_the_model_does(self):
        done = self.veche("bench", "serve", "--quick", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        case, = json.loads(done.stdout)["cases"]
        self.assertEqual((case["unit"], case["required"]), ("images/s", 0.8))

    def test_viewers_hear_of_the_run(self):
        done = self.veche("bench", "watch", "--quick", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        cases = json.loads(done.stdout)["cases"]
        for case in cases:
            self.assertEqual((case["unit"], case["required"]), ("images/s", 0.99))
            self.assertGreaterEqual(int(case["note"].split(" fetched ")[1].split()[0]), 1)
        # A page that is served takes something, and less than the training.
        self.assertTrue(0.5 < cases[2]["ratio"] < 1, cases[2])

    def test_a_loop_in_python_is_measured_beside_its_limit(self):
        done = self.veche("bench", "python", "--quick", "--json", "--only", "hand-over")
        self.assertEqual(done.returncode, 0, done.stderr)
        case, = json.loads(done.stdout)["cases"]
        self.assertEqual((case["unit"], round(case["peer_value"]), case["required"]), ("us", 100, 1))
        self.assertAlmostEqual(case["ratio"], 100 / case["value"], delta=0.001 * case["ratio"])

    def test_an_exchange_of_python_is_measured_beside_processes_in_cpp(self):
        done = self.veche("bench", "python", "--quick", "--json", "--only", "mix")
        self.assertEqual(done.returncode, 0, done.stderr)
        case, = json.loads(done.stdout)["cases"]
        self.assertEqual((case["unit"], case["peer"], case["required"]), ("1/s", "four processes in C++", 1 / 1.2))
        self.assertGreater(min(case["value"], case["peer_value"]), 0)

    def test_testing_comes_to_what_pytorch_does(self):
        done = self.veche("bench", "evaluate", "--quick", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(len(json.loads(done.stdout)["cases"]), 2)

    def test_compress_is_measured_beside_pytorch(self):
        done = self.veche("bench", "compress", "--quick", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        cases = json.loads(done.stdout)["cases"]
        self.assertEqual(len(cases), 11)
        self.assertTrue(all(case["ratio"] > 0 and case["required"] > 0 for case in cases))

    def test_single_cases_can_be_measured(self):
        done = self.veche("bench", "compress", "--quick", "--json", "--only", "topk")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([case["name"] for case in json.loads(done.stdout)["cases"]], ["topk:0.01 encode"])
        done = self.veche("bench", "compress", "--quick", "--only", "topkk")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"veche: --only: bench compress has no case with 'topkk' in its name\n\Z")

    def load(self, *words):
        elsewhere = {key: value for key, value in os.environ.items() if key != "CIFAR10"}
        return self.veche("bench", "load", "--quick", *words, env=elsewhere)

    def test_load_prepares_the_images_that_pytorch_does(self):
        done = self.load("--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = [case["name"] for case in json.loads(done.stdout)["cases"]]
        self.assertEqual(sum("crop, flip" in name for name in names), 4)
        self.assertTrue(all(name.startswith("made-up images: ") for name in names), names)
        self.assertRegex(done.stderr, "made-up images instead")

    def test_load_takes_a_set_of_images_alone(self):
        for path in ("no/such", "."):
            done = self.load("--data", path)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, r"\nveche: [^\n]*\n\Z")


if __name__ == "__main__":
    unittest.main()
