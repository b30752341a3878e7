"""Completion in real shells: the keys that a person presses in bash and zsh, and the lists that bash and fish would show."""

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
PATH = f"{pathlib.Path(VECHE).parent}:{os.environ['PATH']}"
# How a shell is started, and what it is told first: Ctrl-T prints the line as its editor has it.
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], r"""
bind 'set enable-bracketed-paste off'; bind 'set bell-style none'; bind 'set completion-query-items -1'
. SCRIPT; bind -x '"\C-t": printf "LINE<%s>\n" "$READLINE_LINE"'; echo RE""ADY
"""),
    "zsh": (["zsh", "-f", "-i"], r"""
autoload -Uz compinit && compinit -u -D; setopt no_beep no_prompt_sp; LISTMAX=-1; . SCRIPT
tell() { print -r -- "LINE<$BUFFER>" }; zle -N tell; bindkey '^T' tell; bindkey '^U' kill-whole-line; print RE""ADY
"""),
}
# What is typed, and the line after Tab.
KEYS = {
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
}


class Terminal:
    """An interactive shell that has read the script."""

    def __init__(self, shell, folder, script):
        words, rules = SHELLS[shell]
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update(PATH=PATH, TERM="dumb", PS1="")
            os.execvp(words[0], words)
        self.seen = ""
        os.write(self.terminal, rules.lstrip().replace("SCRIPT", str(script)).encode())
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
    def script(self, shell):
        file = self.folder / f"veche.{shell}"
        file.write_text(self.veche("completion", shell).stdout)
        return file

    def shown(self, *pieces, breaks="$COMP_WORDBREAKS"):
        """What bash would offer at the end of the line that these pieces make; bash's own pieces are given."""
        line = "veche " + "".join(pieces)
        words = ["veche", *(piece for piece in pieces if piece != " ")] + ([""] if pieces[-1] == " " else [])
        program = f'. {self.script("bash")}; COMP_WORDBREAKS="{breaks}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _veche; printf "%s\\n" "${{COMPREPLY[@]}}"'
        done = subprocess.run(["bash", "--norc", "-c", program, "bash", *words], cwd=self.folder, text=True, timeout=LONGEST,
                              capture_output=True, env={**os.environ, "PATH": PATH, "COMP_LINE": line, "COMP_POINT": str(len(line))})
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split())

    def make_files(self):
        self.train("first", QUADRATIC, {"run.steps": 1})
        (self.folder / "my.toml").write_text("")
        (self.folder / "images").mkdir()

    def test_keys_that_people_press(self):
        self.make_files()
        for shell in SHELLS:
            terminal = Terminal(shell, self.folder, self.script(shell))
            self.addCleanup(terminal.close)
            for typed, line in KEYS.items():
                with self.subTest(typed, shell=shell):
                    self.assertEqual(terminal.completed(typed), line)

    def test_fish(self):
        """What it lists. It would insert what all candidates begin with, and a blank unless that ends with one of `=:/`."""
        self.make_files()
        script = self.script("fish")
        program = "source $argv[1]; for line in $argv[2..-1]; complete -C $line; echo END; end"
        done = subprocess.run(["fish", "--no-config", "-c", program, script, *KEYS], cwd=self.folder, text=True,
                              capture_output=True, timeout=LONGEST, env={**os.environ, "PATH": PATH})
        self.assertEqual(done.stderr, "")
        lists = done.stdout.split("END\n")
        self.assertEqual(lists.pop(), "")
        for (typed, line), listed in zip(KEYS.items(), lists, strict=True):
            with self.subTest(typed):
                found = [candidate.split("\t")[0] for candidate in listed.splitlines()]
                self.assertEqual(os.path.commonprefix(found) or typed.rpartition(" ")[2], line.strip().rpartition(" ")[2])
                self.assertEqual(len(found) == 1, line.endswith((" ", "=", ":", "/")))

    def test_every_candidate_is_explained_where_there_is_room(self):
        program = "source $argv[1]; complete -C 'veche train --se'"
        listed = subprocess.run(["fish", "--no-config", "-c", program, self.script("fish")], cwd=self.folder, text=True,
                                capture_output=True, timeout=LONGEST, env={**os.environ, "PATH": PATH}).stdout
        self.assertIn("--set\tsection.key=value", listed)

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

    def test_the_installed_scripts_are_those_that_are_printed(self):
        for shell in "bash", "zsh", "fish":
            self.assertEqual(self.script(shell).read_text(), (SOURCE / f"cli/completion/completion.{shell}").read_text())


if __name__ == "__main__":
    unittest.main()
