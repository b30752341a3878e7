"""The bill of materials names every library that the loader would load for Veche's binaries, and each has a licence."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import pathlib
import unittest

from installed import BUILD, SOURCE, call


class Bill(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bill = json.loads(call(SOURCE / "scripts/sbom", BUILD, cwd=SOURCE))
        cls.components = {each["name"]: each for each in cls.bill["components"]}

    def test_form(self):
        self.assertEqual((self.bill["bomFormat"], self.bill["specVersion"]), ("CycloneDX", "1.4"))
        self.assertRegex(self.bill["serialNumber"], r"\Aurn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
        references = [each["bom-ref"] for each in self.bill["components"]]
        self.assertEqual(len(references), len(set(references)))
        self.assertEqual(self.bill["dependencies"][0]["dependsOn"], references)
        for each in self.bill["components"]:
            self.assertRegex(each["purl"], r"\Apkg:(deb/debian|npm)/[a-z0-9.+-]+@\S+\Z")
            self.assertTrue(each["version"] and each["licenses"][0]["license"]["name"], each)
        version = re.search(r"project\(veche VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
        self.assertEqual(self.bill["metadata"]["component"]["version"], version)

    def test_every_linked_library_is_there(self):
        """Told by dpkg-shlibdeps, which CPack asks too, and not by the script's way."""
        files = [BUILD / "bin/veche", *(file for file in BUILD.glob("lib/veche/*.so"))]
        self.assertGreater(len(files), 5)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="veche-sbom-"))
        self.addCleanup(shutil.rmtree, folder)
        (folder / "debian").mkdir()
        (folder / "debian/control").write_text("Source: veche\n\nPackage: veche\nArchitecture: any\n")
        told = subprocess.run(["dpkg-shlibdeps", "--warnings=0", "-O", *files], cwd=folder, capture_output=True, text=True, timeout=200)
        linked = {item.split()[0] for item in told.stdout.strip().partition("=")[2].split(", ")}
        self.assertGreater(len(linked), 10, told.stderr)
        missing = linked - {name for name, each in self.components.items() if each["properties"][0]["value"].startswith("linked by")}
        self.assertEqual(missing, set())

    def test_known_ones(self):
        self.assertIn("veche_torch.so", self.components["libtorch1.13"]["properties"][0]["value"])
        self.assertEqual(self.components["libtorch1.13"]["licenses"][0]["license"]["name"],
                         "BSD-3-clause; parts Apache-2.0, Expat, BSL-1.0")
        self.assertIn("nlohmann-json3-dev", self.components)
        self.assertEqual(self.components["d3-force"]["purl"], "pkg:npm/d3-force@3.0.1")
        self.assertNotIn("esbuild", self.components)


if __name__ == "__main__":
    unittest.main()
