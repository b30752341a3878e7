"""Completion by bash: the keys that a person presses, in a real bash, and the lists that it would show."""

import os
import pathlib
import pty
import re
import select
import subprocess
import time
import unittest

from veche_runs import LONGEST, QUADRATIC, VECHE, RunsTest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# Ctrl-T tells the line as readline has it.
RULES = r"""bind 'set enable-bracketed-paste off'; bind 'set bell-style none'; bind 'set completion-query-items -1'
bind -x '"\C-t": printf "LINE<%s>\n" "$READLINE_LINE"'; echo RE""ADY
"""


class Terminal:
    """An interactive bash that has read the script."""

    def __init__(self, folder, script):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update(PATH=f"{pathlib.Path(VECHE).parent}:{os.environ['PATH']}", TERM="dumb", PS1="")
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        self.seen = ""
        os.write(self.terminal, f". {script}\n{RULES}".encode())
        self.read_until(r"READY")

    def read_until(self, pattern):
        deadline = time.monotonic() + LONGEST
        while not (found := re.search(pattern, self.seen)):
            if not select.select([self.terminal], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"no {pattern} in {self.seen!r}")
            self.seen += os.read(self.terminal, 65536).decode()
        self.seen = self.seen[found.end():]
        return found

    def completed(self, keys):
        """The line after these keys and Tab; it is then thrown away."""
        os.write(self.terminal, keys.encode() + b"\t\x14")
        line = self.read_until(r"LINE<([^>]*)>")[1]
        os.write(self.terminal, b"\x15")
        return line

    def close(self):
        os.write(self.terminal, b"\x15exit\n")
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


class Completion(RunsTest):
    def setUp(self):
        super().setUp()
        self.script = self.folder / "veche.bash"
        self.script.write_text(self.veche("completion", "bash").stdout)

    def shown(self, *pieces, breaks="$COMP_WORDBREAKS"):
        """What bash would offer at the end of the line that these pieces make; bash's own pieces are given."""
        line = "veche " + "".join(pieces)
        words = ["veche", *(piece for piece in pieces if piece != " ")] + ([""] if pieces[-1] == " " else [])
        program = f'. {self.script}; COMP_WORDBREAKS="{breaks}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _veche; printf "%s\\n" "${{COMPREPLY[@]}}"'
        done = subprocess.run(["bash", "--norc", "-c", program, "bash", *words], cwd=self.folder, text=True, timeout=LONGEST,
                              capture_output=True, env={**os.environ, "PATH": f"{pathlib.Path(VECHE).parent}:{os.environ['PATH']}",
                                                        "COMP_LINE": line, "COMP_POINT": str(len(line))})
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split())

    def test_keys_that_people_press(self):
        self.train("first", QUADRATIC, {"run.steps": 1})
        (self.folder / "my.toml").write_text("")
        (self.folder / "images").mkdir()
        terminal = Terminal(self.folder, self.script)
        self.addCleanup(terminal.close)
        for typed, line in {
                "veche tr": "veche train ",
                "veche train --resu": "veche train --resume ",
                "veche train --set strat": "veche train --set strategy.",
                "veche train --set strategy.na": "veche train --set strategy.name=",
                "veche train --set strategy.name=con": "veche train --set strategy.name=consensus ",
                "veche train --set=strategy.name=con": "veche train --set=strategy.name=consensus ",
                "veche train --set strategy.name=gossip --set strategy.dr": "veche train --set strategy.name=gossip --set strategy.draw=",
                "veche train --set strategy.name=gossip --set strategy.draw=m":
                    "veche train --set strategy.name=gossip --set strategy.draw=matching ",
                "veche train --compare strategy=allreduce,gos": "veche train --compare strategy=allreduce,gossip ",
                "veche train --set compress.codec=tops": "veche train --set compress.codec=tops",
                "veche train --set compress.codec=topk": "veche train --set compress.codec=topk:",
                "veche train m": "veche train my.toml ",
                "veche train --set data.path=im": "veche train --set data.path=images/",
                "veche train --set run.out=im": "veche train --set run.out=images/",
                "veche train --set strategy.name=allreduce --set strategy.table=m":
                    "veche train --set strategy.name=allreduce --set strategy.table=my.toml ",
                "veche train --resume ": "veche train --resume runs/first ",
                "veche watch ru": "veche watch runs/first ",
                "veche model show resnet1": "veche model show resnet1",
                "veche model export runs/fi": "veche model export runs/first ",
                "veche topology tor": "veche topology torus ",
        }.items():
            with self.subTest(typed):
                self.assertEqual(terminal.completed(typed), line)

    def test_lists(self):
        """From the same tables as the checks of options and keys."""
        strategies = re.findall(r"^### (\S+)", self.veche("train", "--keys").stdout, re.M)
        self.assertEqual(self.shown("train", " ", "--set", " ", "strategy.name", "="), set(strategies))
        self.assertEqual(self.shown("train", " ", "--set", " ", "strategy.name=", breaks=" "),
                         {f"strategy.name={name}" for name in strategies})
        commands = re.findall(r"^  ([a-z]+)  ", self.veche("--help").stdout.split("Subcommands:")[1], re.M)
        self.assertEqual(self.shown(" "), set(commands))
        self.assertLessEqual({"--set", "--resume", "--json", "--quiet", "--help"}, self.shown("train", " ", "-"))
        self.assertEqual(self.shown("model", " ", "show", " ", "cnn", " ", "--cut", " "), {"time", "parameters", "layers"})
        self.assertEqual(self.shown("train", " ", "--set", " ", "run.trace", "="), {"true", "false"})
        for key, some in {"model.name": {"mlp", "resnet18"}, "data.partition": {"iid"}, "topology.graph": {"ring", "torus"},
                          "topology.weights": {"metropolis"}, "compress.codec": {"none", "topk:"},
                          "cluster.transport": {"auto", "threads", "mpi", "simulated"}, "data.uneven": {"wait", "repeat"}}.items():
            self.assertLessEqual(some, self.shown("train", " ", "--set", " ", key, "="), key)
        self.assertEqual(self.shown("train", " ", "--nonsense", " ", "--set", " ", "nonsense."), set())

    def test_the_installed_script_is_the_one_that_is_printed(self):
        self.assertEqual(self.script.read_text(), (SOURCE / "cli/completion/completion.bash").read_text())


if __name__ == "__main__":
    unittest.main()
