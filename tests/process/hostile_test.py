"""Hostile requests, all that were ever thought of: each ends soon, with one sentence, and leaves nothing behind."""

import concurrent.futures
import os
import pathlib
import re
import resource
import shutil
import subprocess
import tempfile
import unittest

from hostile import LIGHT, files, graphs, keys, networks, requests, sets
from veche_runs import LONGEST, SMALL, VECHE, assignments

# What a library or the language says to a programmer, not Veche to a person.
RAW = re.compile(r"std::|what\(\)|terminate|bad_alloc|basic_string|\bstoi?\b|CLI::|toml::|nlohmann|json\.exception|c10|__cxa|filesystem error")
MEMORY = 8 << 30  # bytes that a process may ask for: what reads without end shall not take the machine with it


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def outcome(case):
    """What is wrong with how a case was answered; nothing: it was answered well."""
    folder = tempfile.mkdtemp(prefix="veche-hostile-")
    try:
        done = subprocess.run([VECHE, *case.words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=LONGEST, preexec_fn=limited)
        left = os.listdir(folder)
    except subprocess.TimeoutExpired:
        return "did not end"
    finally:
        shutil.rmtree(folder)
    if done.returncode != case.code:
        return f"exit code {done.returncode}, not {case.code}: {done.stderr[-300:]}"
    if case.code == 0:
        return None
    text = done.stderr.decode(errors="backslashreplace")
    if case.words[0] == "bench":  # tells what it is about to measure
        text = text[text.rstrip("\n").rfind("\n") + 1:]
    if not re.fullmatch(r"veche: [^\n]+\n", text):
        return f"not one sentence: {text[:300]!r}"
    if RAW.search(text):
        return f"raw words: {text}"
    if missing := [part for part in case.says if part not in text]:
        return f"does not say {missing}: {text}"
    if case.code == 2 and (left or done.stdout):
        return f"left {left} {done.stdout[:100]} behind: {text}"
    return None


class Hostile(unittest.TestCase):
    def answered_well(self, module):
        place = pathlib.Path(tempfile.mkdtemp(prefix="veche-hostile-"))
        self.addCleanup(shutil.rmtree, place)
        cases = list(module.cases(place))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for case, wrong in zip(cases, pool.map(outcome, cases)):
                with self.subTest(words=case.name()):
                    self.assertIsNone(wrong)

    def test_keys(self):
        self.answered_well(keys)

    def test_requests(self):
        self.answered_well(requests)

    def test_graphs(self):
        self.answered_well(graphs)

    def test_files(self):
        self.answered_well(files)

    def test_networks(self):
        self.answered_well(networks)

    def test_limits(self):
        """Limits of the shell and counts of threads that no library expects."""
        space, files = resource.RLIMIT_AS, resource.RLIMIT_NOFILE
        wide = assignments(SMALL, {"model.hidden": "[1024]", "run.steps": 1, "cluster.nodes": 2})
        for words, limits, variables, code, says in (
                (LIGHT, {space: 100 << 20}, {}, 2, "ulimit -v"),
                (LIGHT, {space: 200 << 20}, {}, 2, "ulimit -v"),
                (["--version"], {space: 150 << 20}, {}, 2, "ulimit -v"),
                (["train", "-q", *wide], {space: 700 << 20}, {}, 2, "neural networks needs? "),
                (["train", "-q", *wide], {space: 800 << 20}, {}, 2, "neural networks needs? "),
                (LIGHT, {files: 4}, {}, 2, "4 files open at a time .ulimit -n"),
                (["train", "-q", *wide], {}, {"OMP_NUM_THREADS": "100000"}, 0, "note: OMP_NUM_THREADS=100000 is ignored"),
                (LIGHT, {}, {"OMP_NUM_THREADS": "-1", "MKL_NUM_THREADS": "x"}, 0, "note: MKL_NUM_THREADS=x is ignored"),
                (LIGHT, {}, {"OMP_NUM_THREADS": "4,2"}, 0, r"\A\Z")):
            folder = tempfile.mkdtemp(prefix="veche-hostile-")
            self.addCleanup(shutil.rmtree, folder)
            with self.subTest(words=words[:1], limits=limits, variables=variables):
                done = subprocess.run([VECHE, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                      timeout=LONGEST, env=os.environ | variables,
                                      preexec_fn=lambda: [resource.setrlimit(what, (most, most)) for what, most in limits.items()])
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertRegex(done.stderr, says)
                if code != 0:
                    self.assertRegex(done.stderr, r"\Aveche: [^\n]+\n\Z")
                    self.assertEqual(os.listdir(folder), [])

    def test_sets(self):
        self.answered_well(sets)


if __name__ == "__main__":
    unittest.main()
