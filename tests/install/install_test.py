"""What `cmake --install` gives: a program that runs from anywhere, and a library that other programs are built on."""

import gzip
import os
import re
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor

from installed import BUILD, CMAKE, COMPILER, LONGEST, SOURCE, InstalledTest, call
from veche_runs import QUADRATIC, SMALL, assignments

EXAMPLES = ("own_dataset", "own_learner", "own_network", "own_strategy")
# All examples in one build, each as it would be alone: libtorch's headers are dear, and the others are built beside them.
PROJECT = f"""
cmake_minimum_required(VERSION 3.25)
project(examples LANGUAGES CXX)
find_package(veche 0.1 REQUIRED)
foreach(EXAMPLE {" ".join(EXAMPLES)})
  add_subdirectory({SOURCE}/examples/${{EXAMPLE}} ${{EXAMPLE}})
endforeach()
"""


class Program(InstalledTest):
    def test_trains(self):
        veche = self.prefix / "bin/veche"
        told = self.veche("--version", veche=veche).stdout
        self.assertRegex(told, r"\Aveche \d+\.\d+\.\d+\ncommit (unknown|[0-9a-f]{8,}(-changed)?)\nmodules [a-z ]+\n\Z")
        built = {file.stem.removeprefix("veche_") for file in self.prefix.glob("lib/**/veche_*.so")}
        self.assertEqual(set(told.split("modules")[1].split()), built)
        done = self.veche("train", "-q", *assignments(SMALL, {"run.steps": 2}), veche=veche)
        self.assertEqual(done.returncode, 0, done.stderr)
        # The installed module is the one that was used, and without it there is a sentence.
        module = self.found("lib/**/veche_torch.so")
        module.unlink()
        done = self.veche("train", *assignments(SMALL), veche=veche)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, rf"\Aveche: [^\n]*{re.escape(str(module))} is missing[^\n]*libtorch-dev[^\n]*\n\Z")
        self.assertEqual(self.veche("train", "-q", *assignments(QUADRATIC), veche=veche).returncode, 0)

    def test_manual(self):
        page = gzip.decompress(self.found("share/man/man1/veche.1.gz").read_bytes()).decode()
        help_page = self.veche("--help", veche=self.prefix / "bin/veche").stdout
        for command in re.findall(r"^  ([a-z]+)  ", help_page.split("Subcommands:")[1], re.M):
            self.assertIn(f"\n.B {command}\n", page)


    def test_completion_lies_where_shells_look(self):
        for shell, file in {"bash": "bash-completion/completions/veche", "zsh": "zsh/site-functions/_veche",
                            "fish": "fish/vendor_completions.d/veche.fish"}.items():
            self.assertEqual((self.prefix / "share" / file).read_text(), (SOURCE / f"cli/completion/completion.{shell}").read_text())

    def test_examples_come_along(self):
        veche = self.prefix / "bin/veche"
        listed = self.veche("examples", veche=veche).stdout
        self.assertEqual([line.split()[0] for line in listed.splitlines()],
                         [line.split()[0] for line in (SOURCE / "examples/index.tsv").read_text().splitlines()])
        self.assertEqual(self.veche("examples", "equivalence", veche=veche).stdout, "equivalence/equivalence.toml\n")


class Headers(InstalledTest):
    def test_exactly_the_public_ones(self):
        installed = {str(file.relative_to(self.prefix / "include")) for file in self.prefix.glob("include/**/*") if file.is_file()}
        self.assertEqual(installed, {f"veche/{file.name}" for file in (SOURCE / "include/veche").glob("*.h")})

    def test_each_compiles_alone(self):
        def errors(header):
            words = [COMPILER, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", self.prefix / "include",
                     "-include", f"veche/{header}", "-x", "c++", "/dev/null"]
            return subprocess.run(words, capture_output=True, text=True, timeout=LONGEST).stderr

        # torch.h: examples/own_network includes it before any other of ours.
        headers = sorted({file.name for file in self.prefix.glob("include/veche/*.h")} - {"torch.h"})
        self.assertGreater(len(headers), 20)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for header, said in zip(headers, pool.map(errors, headers), strict=True):
                self.assertEqual(said, "", header)


class Examples(InstalledTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.shared / "CMakeLists.txt").write_text(PROJECT)
        call(CMAKE, "-S", ".", "-B", "own", f"-DCMAKE_PREFIX_PATH={cls.prefix}", f"-DCMAKE_CXX_COMPILER={COMPILER}",
             "-G", "Ninja", cwd=cls.shared)
        call(CMAKE, "--build", "own", cwd=cls.shared)

    def program(self, name, folder=None):
        return self.shared / "own" / (folder or name) / name

    def run_example(self, name, *words, folder=None):
        lines = call(self.program(name, folder), *words, cwd=self.folder)
        self.assertFalse((self.folder / "runs").exists())
        return lines

    def assert_refused(self, name, assignment, sentence):
        done = subprocess.run([self.program(name), assignment], capture_output=True, text=True, timeout=LONGEST)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", f"{name}: {sentence}\n"))

    def test_short(self):
        for name in EXAMPLES:
            self.assertLess(len((SOURCE / "examples" / name / "main.cc").read_text().splitlines()), 80, name)

    def test_they_need_only_the_public_interface(self):
        for name in EXAMPLES:
            versions = set(re.findall(r"VECHE_\w[\w.]*", call("nm", "-D", "--with-symbol-versions", self.program(name), cwd=self.folder)))
            self.assertEqual(versions, {"VECHE_0.1"}, name)

    def test_own_learner(self):
        lines = self.run_example("own_learner").splitlines()
        self.assertEqual(len(lines), 4)
        for line in lines:
            self.assertRegex(line, r"^y = (2\.9|3\.0)\d\d x -(1\.9|2\.0)\d\d$")

    def test_own_network(self):
        line = self.run_example("own_network")
        self.assertRegex(line, r"^1386 parameters on 4 nodes: accuracy (0\.[5-9]|1\.0)\d*, nodes differ by [\d.]+ %\n$")
        self.assertEqual(self.run_example("own_network"), line, "dropout in it is repeatable")

    def test_own_dataset(self):
        self.assertRegex(self.run_example("own_dataset"), r"^spirals on 4 nodes: accuracy (0\.9\d+|1\.000)\n$")
        self.assert_refused("own_dataset", "data.turns=11", "data.turns = 11.000000: at most 10")
        self.assert_refused("own_dataset", "data.turnd=1", "there is no key data.turnd; did you mean 'data.turns'?")
        self.assert_refused("own_dataset", "data.name=spiral",
                            "data.name = \"spiral\" does not exist; did you mean 'spirals'?")

    # Steps of the closed form: x goes to 3.5, and the rate, which ends at 0, lets the nodes agree.
    STRATEGY = (r"\Astep  250: nodes differ by \d+\.\d\d %\nstep  500: [^\n]+\nstep  750: [^\n]+\n"
                r"step 1000: nodes differ by 0\.00 %\nx = 3\.500 where the sum has its minimum at 3\.5\n\Z")

    def test_own_strategy(self):
        self.assertRegex(self.run_example("own_strategy"), self.STRATEGY)
        self.assert_refused("own_strategy", "strategy.evry=2",
                            "there is no key strategy.evry; did you mean 'strategy.every'?")

    def test_own_async_strategy(self):
        """Coded and asynchronous: what it finds depends on who was quick, but not by much."""
        for codec in ("int8", "none", "topk:0.5"):
            with self.subTest(codec):
                # The pauses keep six threads on few cores at about one pace.
                line = self.run_example("own_async_strategy", f"compress.codec={codec}", "cluster.stall=[0.1, 0.01]",
                                        folder="own_strategy")
                self.check_async_answer(line, codec)

    def check_async_answer(self, line, codec):
        found = re.fullmatch(r"x = (\d\.\d) where the sum has its minimum at 3\.5; nodes differ by (\d+) %; codec (.*)\n", line)
        self.assertTrue(found, line)
        self.assertTrue(3 <= float(found[1]) <= 4 and int(found[2]) < 10 and found[3] == codec, line)

    def test_own_async_strategy_on_the_grid(self):
        here = ("grid.listen=127.0.0.1:0", "grid.multicast=false")
        words = [self.program("own_async_strategy", "own_strategy"), "--found", "grid.wait_for=2", *here]
        with subprocess.Popen(words, cwd=self.folder, stdout=subprocess.PIPE, text=True) as founder:
            self.addCleanup(founder.kill)
            invitation = founder.stdout.readline().strip()
            self.assertTrue(invitation.startswith("VECHE1-"), invitation)
            joined = self.run_example("own_async_strategy", "--join", invitation, *here, folder="own_strategy")
            lines = founder.communicate(timeout=LONGEST)[0]
        self.assertEqual(founder.returncode, 0)
        for line in lines, joined:
            self.check_async_answer(line, "int8")

    def test_own_strategy_in_a_job(self):
        launchers = [words.split() for words in os.environ["MPIRUNS"].split(":") if words]
        self.assertNotEqual(launchers, [], "no mpirun was found")
        alone = self.run_example("own_strategy")
        for launcher in launchers:
            with self.subTest(launcher[0]):
                self.assertEqual(call(*launcher, "-np", 2, self.program("own_strategy"), cwd=self.folder), alone)


if __name__ == "__main__":
    unittest.main()
