"""The first page's short paths: every command in them runs, and the Russian page has the same commands."""

import os
import pathlib
import re
import subprocess
import unittest

from veche_runs import LONGEST, SMALL, VECHE, RunsTest, assignments

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What makes a command short enough for a test; the command itself stays as the page has it.
LOOPBACK = {"grid.listen": "127.0.0.1:0", "grid.multicast": "false"}
SHORT = {
    "build/veche topology torus:4x6 --weights optimal": {},
    "build/veche train --compare strategy=allreduce,consensus,gossip --repeat 3": {**SMALL, "run.steps": 2},
    "build/veche report runs/compare-DATE": {},
    "build/veche train my.toml --set strategy.name=local-sgd --set compress.codec=topk:0.02": {"run.steps": 2},
    "build/veche grid start my.toml --set grid.wait_for=4 > invitation": {**LOOPBACK, "run.steps": 5, "run.name": "four"},
    "build/veche grid join VECHE1-...": LOOPBACK,
    "build/veche data inspect clients.csv": {},
    "build/veche grid start bank.toml --set data.path=clients.csv > invitation": {**LOOPBACK, "run.steps": 5},
    "build/veche predict runs/bank rows.csv --out answers.csv": {},
    "build/veche simulate examples/which-strategy/sites.toml": {**SMALL, "run.steps": 2},
    "examples/which-strategy/compare": None,  # simulate_test runs it
    "build/veche simulate my.toml --compare strategy=allreduce,consensus,local-sgd:16": {"run.steps": 2},
}


def blocks_of(page):
    """The commands of a page, block by block, without comments."""
    for block in re.findall(r"^```\w*\n(.*?)^```$", page.read_text(), re.M | re.S):
        yield [line for line in (re.sub(r"\s+# .*", "", line).strip() for line in block.splitlines()) if line]


class FirstPage(RunsTest):
    def setUp(self):
        super().setUp()
        (self.folder / "build").mkdir()
        (self.folder / "build/veche").symlink_to(VECHE)
        (self.folder / "examples").symlink_to(ROOT / "examples")
        # A path in a file is looked for beside the file.
        (self.folder / "my.toml").write_text(
            '[model]\nname = "mlp"\nhidden = [32]\n[data]\nname = "synthetic"\nsamples = 300\ntest_samples = 50\nshape = [1,8,8]\n')
        (self.folder / "bank.toml").write_text(
            '[run]\nname = "bank"\n[model]\nname = "mlp"\nhidden = [8]\n[data]\npath = "clients.csv"\ntarget = "missed"\n')
        rows = [f"{age},{(7 * age) % 5},{'yes' if age % 3 == 0 else 'no'}" for age in range(20, 80)]
        for name in ("clients.csv", "rows.csv"):
            (self.folder / name).write_text("\n".join(["age,late,missed", *rows]) + "\n")

    def path(self, number):
        text = (ROOT / "README.md").read_text()
        paths = text[text.index("## Four short paths"):text.index("## From Python")]
        return [line for line in re.findall(r"^```\n(.*?)^```$", paths, re.M | re.S)[number].splitlines() if line]

    def run_command(self, command):
        """In a shell, as a reader would."""
        short = SHORT[command]
        if short is None:
            return
        command, _, target = command.partition(" > ")
        for made in self.folder.glob("runs/compare-*"):
            command = command.replace("runs/compare-DATE", f"runs/{made.name}")
        words = " ".join(f"'{word}'" if "[" in word else word for word in assignments(short))
        with open(self.folder / (target or "out"), "w") as out:
            done = subprocess.Popen(f"exec {command} {words}", shell=True, cwd=self.folder, stdout=out, stderr=subprocess.PIPE, text=True,
                                    stdin=subprocess.DEVNULL)
        self.addCleanup(self.end, done)
        return done

    def ends_well(self, process):
        _, said = process.communicate(timeout=LONGEST)
        self.assertEqual(process.returncode, 0, said)

    def invitation(self):
        for _ in iter(lambda: (self.folder / "invitation").read_text().endswith("\n"), True):
            os.sched_yield()
        return (self.folder / "invitation").read_text().strip()

    def test_every_command_is_known(self):
        self.assertEqual([line for number in range(4) for line in self.path(number)], list(SHORT))

    def test_algorithms(self):
        for command in self.path(0):
            self.ends_well(self.run_command(command))

    def test_slow_links(self):
        train, start, join = self.path(1)
        self.ends_well(self.run_command(train))
        members = [self.run_command(start)]
        invitation = self.invitation()
        SHORT[join.replace("VECHE1-...", invitation)] = SHORT[join]
        members += [self.run_command(join.replace("VECHE1-...", invitation)) for _ in range(3)]
        for member in members:
            self.ends_well(member)

    def test_data_apart(self):
        for command in self.path(2):
            self.ends_well(self.run_command(command))
        self.assertIn("missed", (self.folder / "answers.csv").read_text().splitlines()[0])

    def test_which_method(self):
        for command in self.path(3):
            if process := self.run_command(command):
                self.ends_well(process)

    def test_both_languages_have_the_same_commands(self):
        self.assertEqual([*blocks_of(ROOT / "README.md")], [*blocks_of(ROOT / "README.ru.md")])
        grid = "\n".join(line for block in blocks_of(ROOT / "docs/grid.md") for line in block)
        self.assertIn("\n".join(next(blocks_of(ROOT / "docs/ru/grid.md"))), grid)
        algorithms = [line for block in blocks_of(ROOT / "docs/algorithms.md") for line in block]
        for line in next(blocks_of(ROOT / "docs/ru/algorithms.md")):
            self.assertIn(line, algorithms)


if __name__ == "__main__":
    unittest.main()
