"""Models in stages on the grid: a stage's member is killed, the replicas that have all their stages go on, a newcomer takes its
place, and where a stage is missing all wait and say so."""

import json
import signal

import at_once
from grid_test import Grid, TRAINED
from veche_runs import assignments

STAGES = {"pipeline.stages": 2, "pipeline.micro_batches": 3, "grid.data": "common"}
SLOWLY = {"cluster.stall": "[1, 0.03]"}  # so that members come and go within a few hundred steps
STEPS = 1000  # far more


class Stages(Grid):
    def found_stages(self, settings, names):
        """Members one after the other, so that each has the seat and the stage of its place."""
        first, invitation = self.found(STAGES | settings)
        all = [first]
        for name in names[1:]:
            all.append(self.member(name, "join", invitation))
            self.until_seated(first, *names[:len(all)])
        return all, invitation

    def exported(self, run, name):
        out = self.folder / f"{name}.safetensors"
        done = self.veche("model", "export", run, out)
        self.assertEqual(done.returncode, 0, done.stderr)
        content = out.read_bytes()
        header = int.from_bytes(content[:8], "little")
        tensors = json.loads(content[8:8 + header])
        tensors.pop("__metadata__")
        return tensors, content[8 + header:]

    def test_no_faults_are_the_bits_of_threads(self):
        settings = {"strategy.name": "allreduce", "run.steps": 60, "cluster.stall": "[0, 0]"}
        a, invitation = self.found(STAGES | settings)
        self.until(lambda: "no replica is complete: 1 of 2 stages" in a.told())
        b = self.member("b", "join", invitation)
        for one in (a, b):
            self.ends(one)
        threads = self.veche("train", "--quiet", *assignments(TRAINED, STAGES, settings, {
            "cluster.nodes": 2, "run.out": self.folder, "run.name": "threads"}))
        self.assertEqual(threads.returncode, 0, threads.stderr)
        whole = self.exported(self.folder / "threads", "threads")
        self.assertEqual(self.exported(a.run, "a"), whole)  # each member's folder has all stages
        self.assertEqual(self.exported(b.run, "b"), whole)

    def come_and_go(self, settings):
        """Two replicas; one loses a stage, is suspended, and goes on with a newcomer."""
        (a, b, c, d), invitation = self.found_stages(SLOWLY | settings, ["a", "b", "c", "d"])
        self.until_it_goes_on(d)
        d.process.kill()
        self.until(lambda: "replica 1 has lost stage 1 with d and is suspended" in a.told())
        self.until_it_goes_on(a)
        e = self.member("e", "join", invitation)
        self.until(lambda: "e takes stage 1 of replica 1" in a.told())
        self.until_it_goes_on(e)
        return a, b, c, e

    def test_equal_models(self):
        a, b, c, e = self.come_and_go({"strategy.name": "allreduce", "run.steps": STEPS})
        a.process.kill()  # the newcomer's replica is the only one then
        self.until(lambda: "replica 0 has lost stage 0 with a and is suspended" in c.told())
        for one in (b, c, e):
            self.ends(one)
            summary = json.loads((one.run / "summary.json").read_text())
            self.assertEqual((summary["stopped"], summary["steps"]), ("steps", STEPS), one.name)
        tensors, values = self.exported(c.run, "c")
        self.assertEqual((tensors, values), self.exported(e.run, "e"))
        self.assertEqual(len(tensors), 4)  # the weights and biases of both layers

    def test_own_models(self):
        for one in self.come_and_go({"strategy.name": "consensus", "run.steps": 10**6}):
            one.process.send_signal(signal.SIGINT)
            self.ends(one, 130)

    def test_a_stage_that_nobody_has_is_waited_for(self):
        (a, b), _ = self.found_stages({"strategy.name": "allreduce", "run.steps": 10**6}, ["a", "b"])
        self.until(lambda: (b.run / "view.json").exists())
        b.process.kill()
        self.until(lambda: "replica 0 has lost stage 1 with b and is suspended" in a.told())
        self.assertIn("no member here has stage 1: all wait until a member that had it returns", a.told())
        self.all.remove(b)
        b.end()
        again = self.member("b", "join", "--resume", b.run)  # with what its folder holds
        self.until_seated(a, "a", "b")
        self.until_it_goes_on(a)
        again.process.send_signal(signal.SIGINT)  # who leaves saves its stage as it is
        self.ends(again, 130)
        self.until(lambda: a.told().count("no member here has stage 1") == 2)
        self.assertEqual(len(list((b.run / "stage").glob("step-*"))), 1)
        self.all.remove(again)
        again.end()
        again = self.member("b", "join", "--resume", b.run)
        self.until_seated(a, "a", "b")
        self.until_it_goes_on(a)
        again.process.kill()
        self.until(lambda: a.told().count("no member here has stage 1") == 3)
        a.process.send_signal(signal.SIGINT)  # while it waits
        self.ends(a, 130)
        self.assertIn("Come back with", a.told())

    def test_wrong_input(self):
        for given, sentence in (({"grid.data": "own"}, 'choose grid.data = "common"'),
                                ({"cluster.nodes": 4}, "each member has one stage: leave out cluster.nodes"),
                                ({"cluster.nodes": 2}, "each member has one stage: leave out cluster.nodes"),
                                ({"strategy.name": "gossip", "strategy.async": "true"}, "choose the one in step"),
                                ({"strategy.name": "local-sgd", "strategy.outer": "nesterov"}, "leave out strategy.outer"),
                                ({"compress.codec": "fp16"}, 'leave out compress.codec, or choose strategy.name = "consensus"'),
                                ({"compress.codec": "sign", "compress.vote": "true"}, "leave out compress.codec"),
                                ({"strategy.name": "parameter-server", "compress.codec": "int8"}, "leave out compress.codec"),
                                ({"strategy.name": "parameter-server", "strategy.delay": 1}, "leave out strategy.delay"),
                                ({"pipeline.stages": 20}, "choose at most"),
                                ({"strategy.name": "single"}, "choose another")):
            with self.subTest(given):
                done = self.veche("grid", "start", *assignments(TRAINED, STAGES, {"strategy.name": "allreduce"}, given,
                                                                {"run.out": self.folder / "refused", "grid.listen": "127.0.0.1:0"}))
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(sentence, done.stderr)
                self.assertFalse((self.folder / "refused").exists())


if __name__ == "__main__":
    at_once.main(2)
