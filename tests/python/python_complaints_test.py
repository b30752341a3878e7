"""What users of other libraries complain of, by the numbers of their issues; docs/python-complaints.md has them all."""

import ast
import collections
import importlib
import pathlib
import re
import signal
import time
import unittest

import python_loops
import veche
from python_grid_test import Member
from veche_runs import LONGEST, RunsTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "python-complaints.md"
COMPAT = ("horovod", "bluefog", "topology_util")


class OnSeveralNodes(RunsTest):
    def test_on_two_nodes(self):
        distances = python_loops.numbers("complaints.py", nodes=2, folder=self.folder)
        self.assertEqual(len(distances), 6)
        for name, distance in distances.items():
            with self.subTest(name):
                self.assertLess(distance, 1e-6)

    def test_hivemind_351_a_stopped_member(self):
        """hivemind#351, #515, torchft#329: one is stopped without a word. Nobody has set a time-out. The others go on, and
        (torchft#186) share the same number of samples."""
        words = [str(6)]  # steps of two members
        members = [Member(self.folder, "a", "--found", script="complaints_member.py", words=["1", *words])]
        self.addCleanup(members[0].clear)
        invitation = members[0].wait(r"VECHE1-\S+")[0]
        for name, seed in (("b", "2"), ("c", "3")):
            members.append(Member(self.folder, name, "--join", invitation, script="complaints_member.py", words=[seed, *words]))
            self.addCleanup(members[-1].clear)
        *others, stopped = members
        for one in members:
            one.wait(r"^step \d+ 3 ")
        began = time.monotonic()
        stopped.process.send_signal(signal.SIGSTOP)
        for one in others:
            one.wait(r"^step \d+ 2 ")
        stalled = time.monotonic() - began
        print(f"a stopped member stalled the others for {stalled:.1f} s", flush=True)
        self.assertLess(stalled, LONGEST / 2)
        for one in others:
            self.assertEqual(one.end(), 0, one.lines[-5:])
        self.check_shares(others, stopped)

    def check_shares(self, others, stopped):
        """Of each step, by the members that made it."""
        samples, sizes = collections.defaultdict(list), {}
        for one in (*others, stopped):
            for line in one.lines:
                if line.startswith("step "):
                    step, members, *mine = map(int, line.split()[1:])
                    samples[step, members] += mine
                    sizes.setdefault((step, members), []).append(len(mine))
        whole = {2: 0, 3: 0}
        for (step, members), mine in samples.items():
            if len(sizes[step, members]) == members:  # else the stopped member's line is missing
                self.assertEqual(sizes[step, members], [24 // members] * members, step)
                self.assertEqual(len(set(mine)), 24, step)
                whole[members] += 1
        self.assertGreaterEqual(whole[2], 5)
        self.assertGreaterEqual(whole[3], 1)


class Names(unittest.TestCase):
    def test_bluefog_112_names_are_exported(self):
        """Every name that the pages mention is there, and stands in __all__."""
        page = (ROOT / "docs" / "python-loops.md").read_text()
        documented = {"horovod": set(re.findall(r"\bhvd\.(\w+)", page)), "bluefog": set(re.findall(r"\bbf\.(\w+)", page)),
                      "topology_util": {"ExponentialTwoGraph", "RingGraph", "StarGraph", "MeshGrid2DGraph", "FullyConnectedGraph",
                                        "GetRecvWeights", "GetSendWeights", "GetDynamicOnePeerSendRecvRanks"}}
        for name in COMPAT:
            module = importlib.import_module(f"veche.compat.{name}")
            everything = {}
            exec(f"from veche.compat.{name} import *", everything)
            self.assertGreaterEqual(len(documented[name]), 4)
            self.assertEqual(sorted(module.__all__), list(dict.fromkeys(sorted(module.__all__))), "twice")
            self.assertLessEqual(set(module.__all__), set(everything))
            public = {key for key, value in vars(module).items()
                      if not key.startswith("_") and getattr(value, "__module__", "").startswith("veche.compat")}
            self.assertEqual(public - set(module.__all__) - {"Handle", "later", "unmatched"}, set(), name)
            self.assertEqual(documented[name] - set(module.__all__), set(), name)

    def test_names_of_the_pages(self):
        pages = "".join((ROOT / "docs" / page).read_text() for page in ("python.md", "python-loops.md", "python-own.md"))
        for name in set(re.findall(r"\bveche\.(\w+)\(", pages)):
            self.assertIn(name, {*veche.__all__, "launch"})
        for name in set(re.findall(r"\bcomm\.(\w+)", pages)):
            self.assertTrue(callable(getattr(veche.comm, name)), name)


# What belongs to torch and begins with an underscore, and what happens where a torch does not have it.
PRIVATE = {
    "_per_optimizer_states": "GradScaler: a step with one raises AttributeError",
    "_version": "of a tensor, documented in torch's notes on autograd: only with overlap=True",
    "_step_count": "of schedulers, which warn without reason",
    "_opt_called": "of schedulers, which warn without reason",
    "_with_counter": "of schedulers, which otherwise count steps a second time",
    "_wrapped_by_lr_sched": "of schedulers, which otherwise count steps a second time",
}


class Private(unittest.TestCase):
    def test_private_parts_of_torch(self):
        """Imports of torch._x: none. Attributes that are not our own: those above."""
        ours, foreign = set(), collections.defaultdict(set)
        trees = {file: ast.parse(file.read_text()) for file in (ROOT / "python" / "veche").rglob("*.py")}
        for file, tree in trees.items():
            for node in ast.walk(tree):
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    names = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
                    if names[0].startswith("torch") or any(name.startswith("torch") for name in names[1:]):
                        self.assertFalse(any(part.startswith("_") for name in names for part in name.split(".")), f"{file}: {names}")
                elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                    ours.add(node.name)
                elif isinstance(node, ast.Name):
                    ours.add(node.id)
                elif isinstance(node, ast.alias):
                    ours.add(node.asname or node.name)
                elif isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("__"):
                    if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                        ours.add(node.attr)
                    elif not isinstance(node.value, ast.Name) or node.value.id != "os":
                        foreign[node.attr].add(file.name)
        package = {path.stem for path in trees} | {"_veche", "_session"}
        own = ours | package | {name for name in foreign if name.startswith(("_veche", "_bf_", "_hvd_"))}
        # `self` is an optimizer of torch's where these are set.
        strange = {name for name in foreign if name not in own} | {name for name in PRIVATE if name in foreign}
        self.assertEqual(strange, set(PRIVATE), {name: foreign[name] for name in strange})


class Page(unittest.TestCase):
    def test_each_row_names_a_test_that_is_there(self):
        rows = [line for line in PAGE.read_text().splitlines() if re.match(r"\| \w+#\d+", line)]
        self.assertGreater(len(rows), 12)
        texts = {file.name: file.read_text() for file in (ROOT / "tests" / "python").rglob("*.py")}
        for row in rows:
            file, name = re.search(r"`([\w/]+\.py)`(?:, `(\w+)`)? \|$", row).groups()
            self.assertIn(pathlib.Path(file).name, texts, row)
            if name:
                self.assertRegex(texts[pathlib.Path(file).name], rf"\b(def|class) {name}\b", row)


if __name__ == "__main__":
    unittest.main()
