"""The Debian packages: what they say of themselves, and that what is in them runs and can be built on."""

import gzip
import os
import pathlib
import subprocess
import unittest

from installed import BUILD, COMPILER, LONGEST, SOURCE, InstalledTest, call
from veche_runs import FASHION, SMALL, assignments

CPACK = os.environ["CPACK"]


class Packages(InstalledTest):
    @classmethod
    def install(cls):
        call(CPACK, "--config", BUILD / "CPackConfig.cmake", "-B", cls.shared / "made", cwd=cls.shared)
        cls.packages = sorted((cls.shared / "made").glob("*.deb"))
        for package in cls.packages:
            call("dpkg-deb", "-x", package, cls.shared / "unpacked", cwd=cls.shared)
        cls.prefix = cls.shared / "unpacked/usr"

    def field(self, package, name):
        return call("dpkg-deb", "-f", package, name, cwd=self.folder).strip()

    def names(self, package, field):
        """The packages that a field names, without their versions."""
        return {item.split()[0] for item in self.field(package, field).split(",") if item.strip()}

    def test_what_they_say(self):
        version = self.version()
        architecture = call("dpkg", "--print-architecture", cwd=self.folder).strip()
        self.assertEqual([file.name for file in self.packages],
                         [f"{name}_{version}_{architecture}.deb" for name in ("libveche-dev", "python3-veche", "veche")])
        dev, python, veche = self.packages
        self.assertEqual(self.field(dev, "Depends"), f"veche (= {version})")
        self.assertLessEqual({"veche", "python3", "python3-numpy", "libc6"}, self.names(python, "Depends"))
        # The demo's engine is needed, a cluster's is not.
        self.assertLessEqual({"libc6", "libtorch1.13", "libfmt9"}, self.names(veche, "Depends"))
        self.assertNotIn("mpi", self.field(veche, "Depends"))
        self.assertIn("dataset-fashion-mnist", self.names(veche, "Recommends"))
        self.assertIn("libopenmpi3", self.names(veche, "Recommends"))
        for package in self.packages:
            self.assertRegex(self.field(package, "Description"), r"\A[^\n]{10,60}\n [^ \n]")

    def test_nothing_twice_and_nothing_elsewhere(self):
        listings = [call("dpkg-deb", "-c", package, cwd=self.folder).splitlines() for package in self.packages]
        files = [{line.split()[5] for line in lines if not line.startswith("d")} for lines in listings]
        dev, python, veche = files
        self.assertEqual(sum(map(len, files)), len(dev | python | veche))
        self.assertEqual([path for path in dev | python | veche if not path.startswith("./usr/")], [])
        self.assertIn("./usr/lib/python3/dist-packages/veche/py.typed", python)
        self.assertEqual([path for path in python if "/lib/" in path and "/python3/dist-packages/veche/" not in path], [])
        self.assertIn("./usr/bin/veche", veche)
        self.assertIn("./usr/include/veche/veche.h", dev)
        self.assertIn("./usr/share/zsh/vendor-completions/_veche", veche)
        self.assertIn("./usr/share/doc/veche/examples/veche-member@.service", veche)
        self.assertIn("./usr/share/veche/examples/index.tsv", veche)

    def test_lintian_finds_nothing_wrong(self):
        """Errors and warnings; overrides are in cmake/debian, each with its reason."""
        done = subprocess.run(["lintian", "--fail-on", "error,warning", "--allow-root", *self.packages], cwd=self.folder,
                              capture_output=True, text=True, timeout=LONGEST)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_licences(self):
        """Each package names them, and so does the source: LICENSE is the text that Debian has."""
        for name in ("veche", "libveche-dev", "python3-veche"):
            text = (self.prefix / f"share/doc/{name}/copyright").read_text()
            self.assertIn("License: Apache-2.0\n", text)
            self.assertIn("uPlot", text)
        self.assertEqual((SOURCE / "LICENSE").read_text().strip(),
                         pathlib.Path("/usr/share/common-licenses/Apache-2.0").read_text().strip())
        version = self.version()
        changes = gzip.decompress((self.prefix / "share/doc/veche/changelog.gz").read_bytes()).decode()
        self.assertTrue(changes.startswith(f"veche ({version}) "))

    def test_runs_the_demo(self):
        """In short; its images are the package's recommendation, a synthetic set stands in where they are not installed."""
        settings = {"run.steps": 2} if FASHION.exists() else SMALL | {"run.steps": 2}
        done = self.veche("train", *assignments(settings), veche=self.prefix / "bin/veche")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(list((self.folder / "runs").iterdir())), 1)

    def test_python(self):
        code = ("import veche; result = veche.train({'model': {'name': 'mlp', 'hidden': [8]}, 'data': {'name': 'synthetic', "
                "'samples': 100, 'test_samples': 20, 'shape': [1, 4, 4]}}, steps=2, keep=False); print(result.nodes, veche.__file__)")
        said = call("/usr/bin/python3", "-B", "-c", code, cwd=self.folder,
                    env=os.environ | {"PYTHONPATH": str(self.prefix / "lib/python3/dist-packages")})
        self.assertEqual(said, f"4 {self.prefix}/lib/python3/dist-packages/veche/__init__.py\n")

    def test_a_program_is_built_on_it(self):
        flags = call("pkg-config", "--cflags", "--libs", "veche", cwd=self.folder, env=self.environment()).split()
        self.assertIn(str(self.prefix), str(pathlib.Path(flags[0].removeprefix("-I")).resolve()))
        call(COMPILER, "-std=c++20", SOURCE / "examples/own_learner/main.cc", "-o", "own", *flags, cwd=self.folder)
        lines = call(self.folder / "own", cwd=self.folder, env=self.environment()).splitlines()
        self.assertEqual(len(lines), 4)
        for line in lines:
            self.assertRegex(line, r"^y = (2\.9|3\.0)\d\d x -(1\.9|2\.0)\d\d$")


if __name__ == "__main__":
    unittest.main()
