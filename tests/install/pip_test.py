"""`pip install . --no-build-isolation` into a virtual environment: a package that needs nothing else of the build."""

import os
import shutil
import subprocess
import unittest

from installed import BUILD, SOURCE, InstalledTest, call

CODE = """
import veche
from importlib.metadata import version
small = {"model": {"name": "mlp", "hidden": [8]},
         "data": {"name": "synthetic", "samples": 100, "test_samples": 20, "shape": [1, 4, 4]}}
print(veche.train(small, steps=2, keep=False).nodes, veche.topology("ring:4").nodes, version("veche"), veche.__file__)
print(*{line.split()[-1] for line in open("/proc/self/maps") if "veche" in line})
"""


class Pip(InstalledTest):
    """What is taken is of this build: building it again is what `pages_test` does for all."""

    @classmethod
    def install(cls):
        cls.prefix = cls.shared / "env"
        call("/usr/bin/python3", "-m", "venv", "--system-site-packages", cls.prefix, cwd=cls.shared)
        # A copy, because setuptools writes beside the sources.
        source = cls.shared / "source"
        source.mkdir()
        for name in ("pyproject.toml", "setup.py", "README.md", "CMakeLists.txt"):
            shutil.copy(SOURCE / name, source)
        shutil.copytree(SOURCE / "python", source / "python", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        call(cls.prefix / "bin/pip", "install", ".", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "-q",
             cwd=source, env=os.environ | {"VECHE_BUILD": str(BUILD)})
        shutil.rmtree(source)

    def test_trains_with_its_own_library_and_leaves_nothing(self):
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        said = call(self.prefix / "bin/python", "-c", CODE, cwd=self.folder, env=environment)
        packages = self.found("lib/python3*/site-packages")
        first, mapped = said.splitlines()
        version = self.version()
        self.assertEqual(first, f"4 4 {version} {packages}/veche/__init__.py")
        for file in mapped.split():
            self.assertTrue(file.startswith(f"{packages}/veche/"), file)
        self.assertIn(f"{packages}/veche/lib/veche/veche_torch.so", mapped)
        self.assertTrue((packages / "veche/py.typed").is_file() and (packages / "veche/_veche.pyi").is_file())
        call(self.prefix / "bin/pip", "uninstall", "-q", "-y", "veche", cwd=self.folder)
        self.assertEqual(list(self.prefix.glob("lib/python3*/site-packages/veche*")), [])
        done = subprocess.run([self.prefix / "bin/python", "-c", "import veche"], cwd=self.folder, capture_output=True, text=True,
                              env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"})
        self.assertIn("ModuleNotFoundError", done.stderr)


if __name__ == "__main__":
    unittest.main()
