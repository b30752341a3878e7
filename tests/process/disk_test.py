"""The disk is full, gone or somebody else's: nothing is lost in silence, nothing saved is lost, and nobody hangs."""

import contextlib
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import unittest

from events_test import frames
from veche_runs import LONGEST, QUADRATIC, SMALL, RunsTest, assignments, is_whole, put_in_the_way, wait_for

MEASURED = QUADRATIC | {"run.steps": 10**9, "run.eval_every": 10**4, "run.checkpoint_every": 10**9}


class DiskTest(RunsTest):
    def start_told(self, *words, **options):
        """A process, and what it has told on standard error so far."""
        file = self.folder / "told"
        with open(file, "w") as out:
            return self.start(*words, stderr=out, stdout=subprocess.DEVNULL, **options), file.read_text

    def limited(self, size, *words):
        """veche, none of whose files may have more bytes than `size`: a disk that is full for everybody's tests."""
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return self.veche(*words, preexec_fn=limit, restore_signals=False)

    def small_disk(self, kilobytes):
        """A disk of the test's own under runs/, or None where mounting is not allowed."""
        runs = self.folder / "runs"
        runs.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", runs], capture_output=True)
        if done.returncode != 0:
            return None
        self.addCleanup(subprocess.run, ["umount", "-l", runs], check=True)
        return runs

    @staticmethod
    def fill(disk):
        file = disk / "filler"
        with open(file, "wb", buffering=0) as out, contextlib.suppress(OSError):
            for size in (4096, 1):
                with contextlib.suppress(OSError):
                    while out.write(bytes(size)):
                        pass
        return file

    def assert_one_sentence(self, done, code, *parts):
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertRegex(done.stderr, r"\A(note: [^\n]+\n)*veche: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, done.stderr)

    def assert_lines_whole(self, run):
        text = (run.path / "metrics.jsonl").read_text()
        self.assertTrue(text == "" or text.endswith("\n"), "half a line")
        for line in text.splitlines():
            json.loads(line)
        for file in run.path.glob("events.out.*"):
            list(frames(file.read_bytes()))


class Full(DiskTest):
    def full_for_a_while(self, fill, empty, reason):
        """A run goes on while fill(process, run) holds, until empty(what that returned, process)."""
        process, told = self.start_told("train", "-q", *assignments(MEASURED, {"run.name": "mine"}), restore_signals=False)
        run = self.run_path("mine")
        file = run.path / "metrics.jsonl"
        lines = lambda: len(file.read_text().splitlines()) if file.exists() else 0
        self.assertTrue(wait_for(lambda: lines() >= 2, process))
        filled = fill(process, run)
        self.assertTrue(wait_for(told, process), "lost in silence")
        self.assertRegex(told(), rf"\Anote: runs/mine/\S+ cannot be written: {reason}; the run continues")
        self.assert_lines_whole(run)
        before = lines()
        empty(filled, process)
        self.assertTrue(wait_for(lambda: lines() > before + 1, process))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(LONGEST), 130, told())
        self.assertIn("note: runs/mine/metrics.jsonl is written again, and nothing was lost\n", told())
        self.assertEqual(told().count("note: "), 2)
        self.assert_lines_whole(run)
        steps = [line["step"] for line in run.metrics()]
        self.assertEqual(steps, [10**4 * (i + 1) for i in range(len(steps))])

    def test_for_a_while(self):
        def limit(process, run):
            before = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
            size = (run.path / "metrics.jsonl").stat().st_size
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size + 100, before[1]))
            return before

        self.full_for_a_while(limit, lambda before, process: resource.prlimit(process.pid, resource.RLIMIT_FSIZE, before),
                              "File too large")

    def test_for_a_while_of_a_real_disk(self):
        disk = self.small_disk(2000)
        if disk is None:
            self.skipTest("mounting is not allowed here: test_for_a_while needs no disk of its own")
        self.full_for_a_while(lambda process, run: self.fill(disk), lambda filler, process: filler.unlink(),
                              "No space left on device")

    def test_to_the_end(self):
        settings = QUADRATIC | {"run.steps": 1000, "run.eval_every": 10, "run.checkpoint_every": 100, "run.name": "mine"}
        done = self.limited(12000, "train", "-q", *assignments(settings))
        run = self.run_path("mine")
        self.assert_one_sentence(done, 1, "note: runs/mine/", "the run continues", "veche: runs/mine/metrics.jsonl cannot be written: "
                                 "File too large, so it lacks ", " measurements", "records")
        self.assert_lines_whole(run)
        self.assertEqual(run.steps(), [900, 1000])  # the model matters more
        self.assertTrue(all(is_whole(file) for file in run.checkpoint_files(1000)))
        missing = int(done.stderr.split("so it lacks ")[1].split()[0])
        self.assertEqual(len(run.metrics()) + missing, 100)
        again = self.veche("train", "-q", "--resume", run.path)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(run.summary()["steps"], 1000)

    def test_for_the_model(self):
        settings = SMALL | {"model.hidden": "[100]", "run.steps": 4, "run.checkpoint_every": 2, "run.name": "mine"}
        done = self.limited(20000, "train", "-q", *assignments(settings))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Aveche: runs/mine/checkpoint/unfinished-2/node-\d cannot be written: File too large\n\Z")
        run = self.run_path("mine")
        self.assertEqual(list(run.path.rglob("*.new")), [])
        self.assertEqual(self.veche("train", "-q", "--resume", run.path).returncode, 0)

    def test_at_the_start(self):
        words = ["train", "-q", *assignments(QUADRATIC, {"run.steps": 3, "run.name": "mine", "run.out": "a/b"})]
        self.assert_one_sentence(self.limited(50, *words), 1, "a/b/mine/config.toml cannot be written: File too large")
        self.assertFalse((self.folder / "a").exists(), "a trace was left")
        done = self.veche(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_at_the_start_of_a_real_disk(self):
        disk = self.small_disk(100)
        if disk is None:
            self.skipTest("mounting is not allowed here: test_at_the_start needs no disk of its own")
        filler = self.fill(disk)
        words = ["train", "-q", *assignments(QUADRATIC, {"run.steps": 3, "run.name": "mine"})]
        self.assert_one_sentence(self.veche(*words), 1, "No space left on device")
        self.assertEqual(list(disk.iterdir()), [filler])
        filler.unlink()
        done = self.veche(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_for_an_export(self):
        self.train("mine", SMALL, {"run.steps": 1})
        (self.folder / "old.safetensors").write_text("old")
        for name in ("old.safetensors", "new.safetensors"):
            done = self.limited(100, "model", "export", "runs/mine", name)
            self.assert_one_sentence(done, 1, f"{name} cannot be written: File too large")
        self.assertEqual((self.folder / "old.safetensors").read_text(), "old")
        self.assertEqual(sorted(os.listdir(self.folder)), ["old.safetensors", "runs"])


class LeftByAKill(DiskTest):
    def test_a_name_is_free_until_there_is_a_configuration(self):
        for left in ([], ["config.toml.new"], ["config.toml.new", "lock"]):
            path = self.folder / "runs/mine"
            path.mkdir(parents=True)
            for name in left:
                (path / name).write_text("[run]\nna")
            run = self.train("mine", QUADRATIC, {"run.steps": 3})
            self.assertEqual(list(run.path.glob("*.new")), [])
            shutil.rmtree(self.folder / "runs")

    def test_a_folder_of_somebody_else_is_not_taken(self):
        path = self.folder / "runs/mine"
        path.mkdir(parents=True)
        (path / "thesis.tex").write_text("precious")
        done = self.veche("train", *assignments(QUADRATIC, {"run.name": "mine"}))
        self.assert_one_sentence(done, 2, 'run.name = "mine" is taken')
        self.assertEqual(os.listdir(path), ["thesis.tex"])

    def test_new_files_never_matter(self):
        run = self.train("mine", QUADRATIC, {"run.steps": 3})
        for name in ("config.toml", "metrics.jsonl", "summary.json", "layout.json"):
            (run.path / f"{name}.new").write_text("half a ")
        done = self.veche("train", "-q", "--resume", run.path, "--set", "run.steps=5")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(list(run.path.glob("*.new")), [])
        self.assertEqual(run.summary()["steps"], 5)


class InTheWay(DiskTest):
    def test_a_folder_for_a_file_and_a_file_for_a_folder(self):
        for name in ("metrics.jsonl", "summary.json", "layout.json", "checkpoint"):
            with self.subTest(name):
                run = self.train(f"of-{name}", QUADRATIC, {"run.steps": 3})
                place = run.path / name
                put_in_the_way(place)
                before = sorted(run.path.rglob("*")), (run.path / "config.toml").read_text()
                done = self.veche("train", "--resume", run.path, "--set", "run.steps=10000")
                self.assert_one_sentence(done, 2, str(place))
                self.assertEqual((sorted(run.path.rglob("*")), (run.path / "config.toml").read_text()), before)

    def test_a_folder_that_cannot_be_written_to(self):
        run = self.train("mine", QUADRATIC, {"run.steps": 3})
        (run.path / "lock").unlink()
        run.path.chmod(0o500)
        self.addCleanup(run.path.chmod, 0o700)
        if os.access(run.path, os.W_OK):  # root may all the same
            frozen = subprocess.run(["chattr", "+i", run.path], capture_output=True)
            if frozen.returncode != 0:
                self.skipTest("root, on a file system on which nothing is immutable")
            self.addCleanup(subprocess.run, ["chattr", "-i", run.path], check=True)
        done = self.veche("train", "--resume", run.path, "--set", "run.steps=10000")
        self.assert_one_sentence(done, 2, "runs/mine", "the run cannot continue")

    def test_a_run_folder_that_vanishes(self):
        for name, often in (("measured", {}), ("saved", {"run.checkpoint_every": 10**4})):
            with self.subTest(name):
                process, told = self.start_told("train", "-q", *assignments(MEASURED, often, {"run.name": name}))
                run = self.run_path(name)
                self.assertTrue(wait_for(lambda: (run.path / "metrics.jsonl").exists() and run.metrics(), process))
                while run.path.exists():
                    shutil.rmtree(run.path, ignore_errors=True)
                if not often:
                    self.assertTrue(wait_for(told, process))
                    self.assertIn(f"runs/{name}/metrics.jsonl was removed", told())
                    process.send_signal(signal.SIGINT)
                self.assertEqual(process.wait(LONGEST), 1)
                self.assertRegex(told(), rf"veche: runs/{name}/\S+ [^\n]+\n\Z")
                self.assertFalse(run.path.exists(), "came back as a ruin")


class Places(DiskTest):
    def setUp(self):
        super().setUp()
        self.run_a = self.train("a", SMALL, {"run.steps": 2, "run.checkpoint_every": 1})

    def test_an_export_keeps_links_and_devices(self):
        (self.folder / "far").mkdir()
        (self.folder / "far/model").write_text("old")
        (self.folder / "link").symlink_to("far/model")
        os.mkfifo(self.folder / "pipe")
        (self.folder / "link to it").symlink_to("pipe")
        if os.geteuid() == 0:  # none that anybody needs
            os.mknod(self.folder / "device", 0o600 | stat.S_IFCHR, os.makedev(1, 7))
        self.assertEqual(self.veche("model", "export", "runs/a", "link").returncode, 0)
        self.assertTrue((self.folder / "link").is_symlink())
        self.assertGreater((self.folder / "far/model").stat().st_size, 1000)
        places = sorted(os.listdir(self.folder))
        for place in set(places) - {"far", "link", "runs"}:
            self.assert_one_sentence(self.veche("model", "export", "runs/a", place), 2, place, "a regular file or a new name")
            self.assertFalse((self.folder / place).is_file())
        self.assertEqual(sorted(os.listdir(self.folder)), places)
        self.assertEqual(os.listdir(self.folder / "far"), ["model"])

    def test_an_export_says_which_checkpoint_it_passed_over(self):
        with open(self.run_a.checkpoint_files(2)[0], "r+b") as file:
            file.truncate(200)
        done = self.veche("model", "export", "runs/a", "x")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"\Anote: [^\n]*step-2/node-0 is damaged and passed over: [^\n]+\nx: [^\n]* of step 1,")


    def test_a_pipe_in_place_of_a_file_is_not_waited_for(self):
        def with_pipe(step):
            file = self.run_a.checkpoint_files(step)[0]
            file.unlink()
            os.mkfifo(file)

        why = "it is a device or a pipe, not a file"
        with_pipe(2)
        self.assertRegex(self.veche("model", "export", "runs/a", "x").stderr, rf"node-0 [^\n]*{why}\nx: [^\n]* of step 1,")
        with_pipe(1)
        for words in (["train", "--resume", "runs/a"], ["model", "export", "runs/a", "y"],
                      ["predict", "runs/a", "runs/a/config.toml"]):
            self.assert_one_sentence(self.veche(*words), 2, "runs/a/checkpoint/step-1/node-0", why)
        run = self.train("b", QUADRATIC, {"run.steps": 3})
        (run.path / "progress.jsonl").unlink()
        os.mkfifo(run.path / "progress.jsonl")
        done = self.veche("train", "--resume", "runs/b", "--set", "run.steps=6")
        self.assert_one_sentence(done, 2, "runs/b/progress.jsonl is a device or the like")


class TwoPrograms(DiskTest):
    def test_on_one_folder(self):
        process = self.start("train", "-q", *assignments(MEASURED, {"run.name": "mine", "run.checkpoint_every": 10**4}))
        run = self.run_path("mine")
        self.assertTrue(wait_for(lambda: len(run.steps()) >= 2, process))
        config = (run.path / "config.toml").read_text()
        for words in (["--resume", run.path, "--set", "run.steps=7"], ["--resume", f"{run.path}/"]):
            done = self.veche("train", *words)
            self.assert_one_sentence(done, 2, f"{run.path} is being trained by process {process.pid} on ")
        self.assert_one_sentence(self.veche("train", *assignments(MEASURED, {"run.name": "mine"})), 2, "is taken")
        self.assertEqual((run.path / "config.toml").read_text(), config)
        for i in range(5):  # reading is no harm
            done = self.veche("model", "export", run.path, "x.safetensors")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("note: ", done.stderr)
        self.assertIsNone(process.poll())
        process.kill()
        process.wait(LONGEST)
        last = run.steps()[-1]
        done = self.veche("train", "-q", "--resume", run.path, "--set", f"run.steps={last + 3}")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_from_the_very_beginning(self):
        process = self.start("train", "-q", *assignments(MEASURED, {"run.name": "mine"}))
        run = self.run_path("mine")
        self.assertTrue(wait_for(lambda: (run.path / "config.toml").exists(), process))
        self.assert_one_sentence(self.veche("train", "--resume", run.path), 2, "is being trained by")

    def test_that_start_at_once_get_a_folder_each(self):
        words = ["train", "-q", *assignments(QUADRATIC, {"run.steps": 3})]
        processes = [self.start(*words) for _ in range(4)]
        self.assertEqual([process.wait(LONGEST) for process in processes], [0] * 4)
        self.assertEqual(len(os.listdir(self.folder / "runs")), 4)
        named = [self.start(*words, "--set", "run.name=mine") for _ in range(4)]
        self.assertEqual(sorted(process.wait(LONGEST) for process in named), [0, 2, 2, 2])


if __name__ == "__main__":
    unittest.main()
