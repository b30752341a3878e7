"""Commands about the installation and about a run that is not made: doctor, --version, examples, --dry-run."""

import json
import math
import os
import pathlib
import re
import shutil
import unittest

from veche_runs import QUADRATIC, SMALL, VECHE, RunsTest, assignments

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MODULES = pathlib.Path(VECHE).resolve().parents[1] / "lib/veche"


class Doctor(RunsTest):
    def doctor(self, **options):
        done = self.veche("doctor", "--json", **options)
        self.assertEqual(done.stderr, "")
        return done.returncode, json.loads(done.stdout)

    def program_elsewhere(self):
        """The program with modules of its own: links, of which a test may take away what it likes."""
        (self.folder / "tree/bin").mkdir(parents=True)
        (self.folder / "tree/lib/veche").mkdir(parents=True)
        shutil.copy(VECHE, self.folder / "tree/bin/veche")
        for module in MODULES.glob("*.so"):
            (self.folder / "tree/lib/veche" / module.name).symlink_to(module)
        return self.folder / "tree/bin/veche", self.folder / "tree/lib/veche"

    def test_what_is_there_works(self):
        code, told = self.doctor()
        self.assertEqual((code, told["broken"]), (0, 0), told)
        states = {line["what"]: line["state"] for line in told["modules"]}
        built = {file.name for file in MODULES.glob("veche_*.so")}
        for line in told["modules"]:
            if line["state"] == "works":
                self.assertIn(line["detail"], built)
            else:
                self.assertIn("install ", line["remedy"])
        self.assertEqual(list(states.values()).count("works"), len(built))
        self.assertEqual([line["state"] for line in told["self_test"]], ["works"] * 2)
        cores = told["machine"]["cores"]
        self.assertEqual(cores["usable"], min(len(os.sched_getaffinity(0)), math.ceil(cores["quota"] or 1024)))
        self.assertIn(told["machine"]["instruction set"]["used"], told["machine"]["instruction set"]["known"])
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_limits_and_the_instruction_set_are_those_of_the_process(self):
        code, told = self.doctor(prefix=("prlimit", "--nofile=321:321"), env={**os.environ, "VECHE_ISA": "plain"})
        self.assertEqual(code, 0)
        self.assertEqual((told["machine"]["open files"], told["machine"]["instruction set"]["used"]), (321, "plain"))

    def test_a_broken_module_and_a_missing_one(self):
        program, modules = self.program_elsewhere()
        for name, content in {"veche_archive.so": b"", "veche_openmpi.so": b"not a library"}.items():
            (modules / name).unlink()
            (modules / name).write_bytes(content)
        (modules / "veche_cairo.so").unlink()
        done = self.veche("doctor", "--json", veche=program)
        told = json.loads(done.stdout)
        self.assertEqual((done.returncode, told["broken"]), (1, 1), told)
        lines = {line["what"]: line for line in told["modules"]}
        # The package does not depend on MPI: without its library the engine is missing, not broken.
        for what, state, package in (("tar archives", "broken", "libarchive-dev"), ("PNG pictures", "missing", "libcairo2-dev"),
                                     ("runs under Open MPI", "missing", "libopenmpi-dev")):
            self.assertEqual(lines[what]["state"], state)
            self.assertIn(package, lines[what]["remedy"])
        text = self.veche("doctor", veche=program)
        self.assertEqual(text.returncode, 1)
        self.assertRegex(text.stdout, r"(?m)^  broken +tar archives .*cannot be loaded")
        self.assertTrue(text.stdout.endswith("\n1 broken: see above.\n"), text.stdout)


class Version(RunsTest):
    def test_names_the_version_the_commit_and_the_modules(self):
        version, commit, modules = self.veche("--version").stdout.splitlines()
        stated = re.search(r"project\(veche VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
        self.assertEqual(version, f"veche {stated}")
        self.assertRegex(commit, r"\Acommit (unknown|[0-9a-f]{8,}(-changed)?)\Z")
        self.assertEqual(set(modules.split()[1:]), {file.stem.removeprefix("veche_") for file in MODULES.glob("veche_*.so")})


class Examples(RunsTest):
    def test_all_are_listed(self):
        listed = {line["name"]: line["what"] for line in json.loads(self.veche("examples", "--json").stdout)}
        there = {path.stem if path.suffix == ".toml" else path.name for path in (SOURCE / "examples").iterdir()}
        self.assertEqual(set(listed), there - {"index.tsv"})
        for name, what in listed.items():
            self.assertRegex(what, r"\A[^\n]{10,120}\.\Z", name)
        self.assertEqual([line.split()[0] for line in self.veche("examples").stdout.splitlines()], list(listed))

    def test_a_copy_runs(self):
        done = self.veche("examples", "quadratic", "mine")
        self.assertEqual((done.returncode, done.stdout), (0, "mine/quadratic.toml\n"))
        self.assertEqual((self.folder / "mine/quadratic.toml").read_text(), (SOURCE / "examples/quadratic.toml").read_text())
        self.assertEqual(self.veche("train", "-q", "mine/quadratic.toml", "--steps", 3).returncode, 0)
        self.assertEqual(self.veche("examples", "own_strategy").returncode, 0)
        self.assertEqual({file.name: file.read_bytes() for file in (self.folder / "own_strategy").iterdir()},
                         {file.name: file.read_bytes() for file in (SOURCE / "examples/own_strategy").iterdir()})
        self.assertTrue(os.access(SOURCE / "examples/banks/run.py", os.X_OK))
        self.veche("examples", "banks")
        self.assertTrue(os.access(self.folder / "banks/run.py", os.X_OK))

    def test_refusals(self):
        done = self.veche("examples", "quadratics")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "veche: there is no example 'quadratics'; did you mean 'quadratic'?\n")
        (self.folder / "own_strategy").mkdir()
        (self.folder / "own_strategy/main.cc").write_text("mine")
        done = self.veche("examples", "own_strategy")
        self.assertEqual((done.returncode, done.stderr),
                         (2, "veche: 'own_strategy/main.cc' exists already: name another folder\n"))
        self.assertEqual([file.name for file in (self.folder / "own_strategy").iterdir()], ["main.cc"])


class DryRun(RunsTest):
    def plan(self, *settings, command="train", flags=()):
        done = self.veche(command, "--dry-run", "--json", *flags, *assignments(*settings))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(list(self.folder.glob("runs")), [])
        return json.loads(done.stdout)

    def spent(self, name, plan, *settings, command="train"):
        """What a run of as many steps as were measured tells, and that the plan has told the same."""
        done = self.veche(command, "--json", "-q", *assignments(*settings, {"run.name": name, "run.steps": plan["measured"]["steps"]}))
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = json.loads(done.stdout)
        for key in "bytes_sent", "messages":
            self.assertEqual(plan["measured"][key], summary[key], name)
        self.assertEqual((plan["parameters"], plan["nodes"], plan["topology"] or ""),
                         (summary["parameter_count"], summary["nodes"], summary["topology"]))
        return summary

    def test_nothing_is_written_and_bytes_are_those_of_a_run(self):
        for name, settings in {
                "ring": {"strategy.name": "consensus"},
                "local": {"strategy.name": "local-sgd", "strategy.period": 8},
                "gossip": {"strategy.name": "gossip"},
                "coded": {"strategy.name": "allreduce", "compress.codec": "topk:0.1"},
                "uneven": {"strategy.name": "allreduce", "data.partition": "sizes:[30,60,90,120]"}}.items():
            with self.subTest(name):
                plan = self.plan(SMALL, settings, {"run.steps": 40})
                self.assertEqual(list(self.folder.iterdir()), [])
                self.assertEqual(plan["steps"], 40)
                self.assertEqual(plan["measured"]["steps"] % 8 if name == "local" else 0, 0)
                self.spent(name, plan, SMALL, settings)
                shutil.rmtree(self.folder / "runs")

    def test_closed_forms(self):
        """On a ring of four every node sends its 2,410 floats to two neighbours: Metropolis' weights there are all 1/3."""
        plan = self.plan(SMALL, {"run.steps": 40, "run.name": "mine"})
        parameters = 64 * 32 + 32 + 32 * 10 + 10
        self.assertEqual((plan["parameters"], plan["nodes"], plan["folder"]), (parameters, 4, "runs/mine"))
        self.assertAlmostEqual(plan["rho"], 1 / 3, places=9)
        self.assertEqual(plan["batch"], 25)
        self.assertEqual(plan["steps_per_epoch"], 3)  # 300 samples, 4 nodes
        self.assertGreaterEqual(plan["bytes"]["per_node_and_step"], 2 * 4 * parameters)
        self.assertLess(plan["bytes"]["per_node_and_step"], 2.1 * 4 * parameters)
        self.assertAlmostEqual(plan["bytes"]["whole_run"], 40 * 4 * plan["bytes"]["per_node_and_step"])
        self.assertGreater(plan["memory"]["process_peak_bytes"], 4 * 3 * 4 * parameters)

    def test_virtual_time_is_that_of_the_simulation(self):
        settings = {"strategy.name": "allreduce", "network.bandwidth": "100Mbps", "network.latency": "1ms", "network.speed": 1e9}
        plan = self.plan(SMALL, settings, {"run.steps": 40}, command="simulate")
        self.assertTrue(plan["virtual_time"])
        summary = self.spent("virtual", plan, SMALL, settings, command="simulate")
        self.assertAlmostEqual(plan["time"]["seconds_per_step"] * plan["measured"]["steps"], summary["seconds"],
                               delta=1e-5 * summary["seconds"])  # the run is also tested, which it starts from a little later

    def test_for_people(self):
        done = self.veche("train", "--dry-run", *assignments(QUADRATIC, {"run.steps": 7, "run.name": "mine"}))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for line in (r"nodes +4", r"strategy +consensus", r"graph +ring:4, metropolis, rho 0\.333333", r"steps +7", r"folder +runs/mine"):
            self.assertRegex(done.stdout, rf"(?m)^  {line}")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_refusals_are_those_of_a_run(self):
        self.train("mine", QUADRATIC, {"run.steps": 1})
        before = sorted(self.folder.rglob("*"))
        for words, sentence in (
                (assignments(QUADRATIC, {"run.name": "mine"}), r'run\.name = "mine" is taken'),
                (assignments(QUADRATIC, {"run.stepz": 1}), "run.stepz"),
                (["--resume", "runs/mine"], "--dry-run plans a new run; leave out --resume"),
                (["--compare", "strategy=gossip,allreduce"], "leave out --compare"),
                (["--watch"], "leave out --watch")):
            done = self.veche("train", "--dry-run", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertRegex(done.stderr, rf"\Aveche: [^\n]*{sentence}[^\n]*\n\Z")
        self.assertEqual(sorted(self.folder.rglob("*")), before)


if __name__ == "__main__":
    unittest.main()
