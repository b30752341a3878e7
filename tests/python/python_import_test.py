"""`import veche` is light, and its names and help are those that are promised."""

import os
import pydoc
import subprocess
import sys
import unittest

import veche

LONGEST = 100  # seconds
HEAVY = {"torch", "matplotlib", "numpy", "json", "typing", "asyncio", "multiprocessing", "logging", "inspect"}


def modules_after(code):
    """What an interpreter without a site's own imports has imported after this code."""
    done = subprocess.run([sys.executable, "-I", "-c", f"import sys; sys.path[:0] = {sys.path!r}; before = set(sys.modules)\n"
                           f"{code}\nprint(*(set(sys.modules) - before))"],
                          stdout=subprocess.PIPE, text=True, timeout=LONGEST, check=True)
    return {name.split(".")[0] for name in done.stdout.split()}


class Import(unittest.TestCase):
    def test_is_light(self):
        imported = modules_after("import veche; veche.RequestError; dir(veche)")
        self.assertIn("veche", imported)
        self.assertEqual(imported & HEAVY, set())

    def test_is_as_quick_as_numpy(self):
        """`import numpy` takes about 0.1 s on any machine of today, and `import veche` may take 0.15 s. In seconds of the
        processor, the least of some: other programs do not count."""
        code = f"import sys, time; sys.path[:0] = {sys.path!r}; start = time.process_time(); import NAME; print(time.process_time() - start)"

        def seconds(name):
            done = subprocess.run([sys.executable, "-I", "-B", "-c", code.replace("NAME", name)], stdout=subprocess.PIPE, text=True,
                                  timeout=LONGEST, check=True)
            return float(done.stdout)

        numpy, mine = (min(seconds(name) for _ in range(3)) for name in ("numpy", "veche"))
        print(f"import veche: {mine:.3f} s, import numpy: {numpy:.3f} s")
        self.assertLess(mine, 1.5 * numpy)

    def test_training_needs_neither_torch_nor_matplotlib(self):
        imported = modules_after("import veche; veche.train({'model': {'name': 'quadratic', 'a': [1, 2], 'b': [2, 1]}}, nodes=2, steps=2, "
                                 "keep=False, progress=False)")
        self.assertIn("numpy", imported)  # of the parameters
        self.assertEqual(imported & {"torch", "matplotlib"}, set())

    def test_every_name_is_there(self):
        for name in veche.__all__:
            self.assertTrue(getattr(veche, name).__doc__, name)
            self.assertIn(name, dir(veche))
        with self.assertRaisesRegex(AttributeError, "module 'veche' has no attribute 'trian'"):
            veche.trian

    def test_help_names_the_functions(self):
        text = pydoc.plain(pydoc.render_doc(veche))
        for words in ("Trains as `veche train --json` does", "Builds a graph with mixing weights", "class RequestError"):
            self.assertIn(words, text)
        self.assertNotIn("_PLACES", text)

    def test_without_torch(self):
        code = ("sys.modules['torch'] = None; import pydoc, veche; assert 'Builds a graph' in pydoc.render_doc(veche)\n"
                "try: veche.Optimizer\nexcept AttributeError as error: assert 'module \\'torch\\'' in str(error), error\n"
                "else: raise AssertionError")
        self.assertIn("veche", modules_after(code))

    def test_version_is_that_of_the_program(self):
        done = subprocess.run([os.environ["VECHE"], "--version"], stdout=subprocess.PIPE, text=True, timeout=LONGEST, check=True)
        self.assertEqual(veche.__version__, done.stdout.split()[1])

    def test_errors_are_of_one_family(self):
        self.assertTrue(issubclass(veche.PeerLost, veche.RunError))
        self.assertTrue(issubclass(veche.RunError, veche.Error) and issubclass(veche.RequestError, veche.Error))


if __name__ == "__main__":
    unittest.main()
