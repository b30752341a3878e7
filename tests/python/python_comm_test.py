"""`veche.comm`, many runs in one process, and loops that end early, fail, or are killed."""

import ctypes
import gc
import json
import os
import tempfile
import unittest
import weakref

import numpy
import python_loops
import veche

MPIRUN = os.environ.get("MPIRUN")


class LoopsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def launchers(self):
        yield {}
        if MPIRUN:
            yield {"mpirun": MPIRUN}


class Exchanges(LoopsTest):
    def test_exchanges(self):
        """In place, on arrays and tensors; wrong ones are refused; other threads go on."""
        done = python_loops.run("exchanges.py", "torch", nodes=3, folder=self.folder)
        self.assertEqual("".join(done.stdout.split()), "right" * 3)  # lines of three processes may mix

    @unittest.skipUnless(MPIRUN, "no mpirun")
    def test_exchanges_under_mpirun(self):
        done = python_loops.run("exchanges.py", nodes=3, mpirun=MPIRUN, folder=self.folder)
        self.assertEqual("".join(done.stdout.split()), "right" * 3)  # lines of three processes may mix

    def test_many_runs_leak_nothing(self):
        held = json.loads(python_loops.run("cycles.py", 1000, folder=self.folder).stdout)
        before, after = held["before"], held["after"]
        self.assertEqual((after["threads"], after["files"]), (before["threads"], before["files"]))
        # Each run has five vectors of 40 kB: one of them kept by each run would be 40 MB.
        self.assertLess(after["kilobytes"] - before["kilobytes"], 10_000)


class DlTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("kind", ctypes.c_int32), ("number", ctypes.c_int32), ("dimensions", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64)]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned of https://dmlc.github.io/dlpack, which NumPy 1.24 and torch 1.13 do not know."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", DELETER), ("flags", ctypes.c_uint64), ("tensor", DlTensor)]


class Newer:
    """An array of a library that speaks DLPack 1: nothing but the two methods."""

    def __init__(self, read_only=False, kind=1, major=1):
        self.memory, self.shape = (ctypes.c_float * 3)(1, 2, 3), (ctypes.c_int64 * 1)(2)
        self.deleted = 0
        tensor = DlTensor(ctypes.addressof(self.memory), kind, 0, 1, 2, 32, 1, self.shape, None, 4)  # the last two floats
        me = weakref.ref(self)

        def delete(_):
            me().deleted += 1

        self.managed = Versioned(major, 0, None, DELETER(delete),
                                 int(read_only), tensor)

    def __dlpack_device__(self):
        return self.managed.tensor.kind, 0

    def __dlpack__(self, *, max_version):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.managed), b"dltensor_versioned", None)


class Dlpack(unittest.TestCase):
    """One process. exchanges.py has the version of torch 1.13, on several."""

    def setUp(self):
        self.addCleanup(veche.finish)

    def test_in_place(self):
        x = Newer()
        self.assertIs(veche.comm.mix_(x, {0: 0.5}), x)
        self.assertEqual(list(x.memory), [1, 1, 1.5])
        gc.collect()
        self.assertEqual(x.deleted, 1)  # the memory was given back

    def test_refused(self):
        for options, words in (({"read_only": True}, "read-only"), ({"kind": 2}, "not in the host's memory"), ({"major": 2}, "version 2")):
            x = Newer(**options)
            with self.assertRaisesRegex(TypeError, words):
                veche.comm.allreduce_(x)
            self.assertEqual(list(x.memory), [1, 2, 3])

    def test_sent(self):
        class Doubles:
            """Only sent, so any type will do."""

            array = numpy.array([1.5, 2.5])

            def __dlpack__(self, **named):
                return self.array.__dlpack__(**named)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        self.assertEqual([list(each) for each in veche.comm.allgather(Doubles())], [[1.5, 2.5]])


class Ends(LoopsTest):
    def test_different_numbers_of_steps(self):
        """Nodes 0, 1 and 2 have 6, 9 and 12 steps: the run ends with the last of them."""
        made = python_loops.numbers("ends.py", "uneven", nodes=3, folder=self.folder)
        self.assertEqual(len(made), 10)
        for name, steps in made.items():
            with self.subTest(name):
                if "async" in name:
                    self.assertGreaterEqual(steps, 6)
                else:
                    self.assertEqual(steps, 12)

    def test_a_node_raises(self):
        """Its traceback is in the error of the others, which end."""
        for launcher in self.launchers():
            with self.subTest(**launcher):
                done = python_loops.run("ends.py", "raise", nodes=2, folder=self.folder, check=False, **launcher)
                self.assertNotEqual(done.returncode, 0)
                # Its own, and one in the error of at least one other; mpirun may cut off the rest.
                self.assertGreaterEqual(done.stderr.count("ValueError: too many cooks"), 2, done.stderr)
                self.assertIn("node 1 failed:", done.stderr)
                self.assertNotIn("Exception ignored", done.stderr)

    def test_a_node_raises_before_the_run(self):
        done = python_loops.run("ends.py", "raise-before", nodes=2, folder=self.folder, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("ValueError: too many cooks", done.stderr)
        self.assertIn("has ended before the others", done.stderr)

    def test_a_node_is_killed(self):
        done = python_loops.run("ends.py", "kill", nodes=2, folder=self.folder, check=False)
        self.assertEqual(done.returncode, 128 + 9)
        self.assertIn("process 1 was ended by signal 9", done.stderr)
        self.assertIn("node 1 is gone", done.stderr)
        self.assertNotIn("Exception ignored", done.stderr)


if __name__ == "__main__":
    unittest.main()
