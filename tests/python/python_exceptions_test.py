"""Exceptions of Python parts end a run and come out as the same objects, with their tracebacks."""

import gc
import os
import subprocess
import sys
import traceback
import unittest
import weakref

import own_parts
import veche
from own_parts import QUADRATIC
from veche_runs import RunsTest

JOB = """
import sys
sys.path.insert(0, {folder!r})
import own_parts, veche
veche.train(own_parts.QUADRATIC, set={{"strategy.name": "breaks", "strategy.node": 5}}, keep=False, progress=False)
"""


class Exceptions(RunsTest):
    def raised(self, name, keys={}, **options):
        """The exception as it is: assertRaises takes its traceback away."""
        try:
            veche.train(QUADRATIC, set={"strategy.name": name, **keys}, **{"keep": False, **options})
        except BaseException as error:
            return error
        self.fail("nothing was raised")

    @staticmethod
    def frames(error):
        return [frame for frame, _ in traceback.walk_tb(error.__traceback__)]

    def names(self, error):
        return [frame.f_code.co_name for frame in self.frames(error)]

    def test_the_same_object_with_its_traceback(self):
        made = []

        class Mine(Exception):
            pass

        @veche.strategy("raises")
        class Raises:
            def after_step(self, step):
                if self.me == 3 and step == 2:
                    self.deeper()
                self.channel.barrier()

            def deeper(self):
                made.append(Mine("no luck"))
                raise made[0]

        error = self.raised("raises")
        self.assertIs(error, made[0])
        names = self.names(error)
        self.assertLess(names.index("after_step"), names.index("deeper"))
        self.assertLess(names.index("run_to_the_end"), names.index("after_step"))

    def test_in_the_constructor_and_in_finish(self):
        for where in ("__init__", "start", "before_backward", "after_backward", "finish"):
            def method(self, step=0):
                raise ZeroDivisionError("in " + self.options["where"])

            veche.strategy("raises-in", where="")(type("RaisesIn", (), {where: method}))
            with self.assertRaisesRegex(ZeroDivisionError, "^in " + where):
                veche.train(QUADRATIC, set={"strategy.name": "raises-in", "strategy.where": where}, keep=False)

    def test_a_request_error_is_one(self):
        @veche.strategy("refuses")
        class Refuses:
            def __init__(self):
                raise veche.RequestError("strategy.every: not today")

        error = self.raised("refuses", keep=True, out=self.folder)
        self.assertIs(type(error), veche.RequestError)
        self.assertEqual(str(error), "strategy.every: not today")
        self.assertIn("__init__", self.names(error))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_the_cause_and_not_its_consequences(self):
        self.assertEqual(str(self.raised("breaks")), "no luck in step 20")

    def test_a_lost_peer(self):
        lost = []

        @veche.strategy("watches")
        class Watches:
            def after_step(self, step):
                if self.me == 1:
                    raise LookupError("gone")
                try:
                    self.channel.receive(1)
                except veche.PeerLost as error:
                    lost.append(error.peer)
                    raise

        with self.assertRaisesRegex(LookupError, "gone"):
            veche.train(QUADRATIC, set={"strategy.name": "watches"}, keep=False)
        self.assertEqual(set(lost), {1})

    def test_of_a_helper(self):
        @veche.strategy("helper-breaks")
        class HelperBreaks:
            def start(self):
                if self.me == 2:
                    self.spawn(self.help)

            def help(self):
                raise LookupError("in a helper")

            def after_step(self, step):
                self.channel.barrier()

        with self.assertRaisesRegex(LookupError, "in a helper"):
            veche.train(QUADRATIC, set={"strategy.name": "helper-breaks"}, keep=False)

    def test_of_the_library_inside_a_strategy(self):
        @veche.strategy("no-copies", codec="copies")
        class NoCopies:
            def start(self):
                self.compressor.copies([1])

        error = self.raised("no-copies")
        self.assertIs(type(error), veche.RunError)
        self.assertIn("only with a codec", str(error))
        self.assertIn("start", self.names(error))

    def test_wrong_answers(self):
        @veche.strategy("answers")
        class Answers:
            def after_backward(self, step):
                return "mine"

        with self.assertRaisesRegex(ValueError, "must return None, \"own\", \"shared\" or \"used\", not 'mine'"):
            veche.train(QUADRATIC, set={"strategy.name": "answers"}, keep=False)

        veche.strategy("one-state")(type("OneState", (), {"state": "momentum"}))
        self.assertEqual(str(self.raised("one-state", keep=True, out=self.folder)), "state must be a list of names")

        @veche.strategy("forgets-state")
        class ForgetsState:
            state = ["momentum"]

        with self.assertRaisesRegex(AttributeError, "state names momentum, which __init__ has not made"):
            veche.train(QUADRATIC, set={"strategy.name": "forgets-state"}, out=self.folder)

    def test_frames_hold_no_memory_of_the_run(self):
        frames = [frame for frame in self.frames(self.raised("breaks")) if frame.f_code.co_name == "after_step"]
        self.assertEqual([frame.f_locals for frame in frames], [{}])  # `kept` was a view of the parameters

    def test_nothing_is_kept_afterwards(self):
        error = self.raised("breaks")
        kept = weakref.ref(error)
        del error
        gc.collect()
        self.assertIsNone(kept())

    def test_in_virtual_time(self):
        with self.assertRaisesRegex(LookupError, "no luck in step 20"):
            veche.simulate(QUADRATIC, set={"strategy.name": "breaks"}, keep=False)

    @unittest.skipUnless(os.environ.get("MPIRUN"), "no mpirun")
    def test_ranks(self):
        done = subprocess.run([*os.environ["MPIRUN"].split(), "-np", "2", sys.executable, "-B", "-c",
                               JOB.format(folder=os.path.dirname(own_parts.__file__))],
                              cwd=self.folder, capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("NoLuck: no luck in step 20", done.stderr)
        self.assertIn("in after_step", done.stderr)  # the traceback of the rank that raised
        self.assertIn("direct cause", done.stderr)


if __name__ == "__main__":
    unittest.main()
