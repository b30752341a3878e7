"""What the tests of the installed tree share."""

import os
import pathlib
import shutil
import subprocess
import tempfile

from veche_runs import RunsTest

BUILD = pathlib.Path(os.environ["VECHE_BUILD"])
CMAKE = os.environ["CMAKE"]
COMPILER = os.environ["CXX"]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
LONGEST = 280  # seconds: libtorch's headers on a busy machine


def call(*words, cwd, **options):
    """Runs something to its end; what it printed, or an AssertionError with all it said."""
    done = subprocess.run(list(map(str, words)), cwd=cwd, capture_output=True, text=True, timeout=LONGEST, **options)
    if done.returncode != 0:
        raise AssertionError(f"{words} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class InstalledTest(RunsTest):
    """One installed tree for all tests of a class, in `prefix`; each test has a folder of its own besides."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="veche-installed-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared)
        cls.prefix = cls.shared / "moved"
        cls.install()

    @classmethod
    def install(cls):
        call(CMAKE, "--install", BUILD, "--prefix", cls.shared / "first", cwd=cls.shared)
        (cls.shared / "first").rename(cls.prefix)  # nothing installed may remember where it was

    @classmethod
    def found(cls, pattern):
        """The one installed file that fits."""
        file, = cls.prefix.glob(pattern)
        return file

    @classmethod
    def environment(cls, **more):
        folder = cls.found("lib/**/libveche.so.0").parent
        return os.environ | {"PKG_CONFIG_PATH": str(folder / "pkgconfig"), "LD_LIBRARY_PATH": str(folder)} | more
