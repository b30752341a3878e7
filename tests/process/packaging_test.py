"""The unit of systemd and the container's file, as far as they can be tried without starting either."""

import json
import os
import pathlib
import re
import subprocess
import unittest

from veche_runs import LONGEST, RunsTest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
UNIT = SOURCE / "packaging/veche-member@.service"


class Unit(RunsTest):
    def verified(self, text):
        """What systemd says of the unit's own lines; that this folder has no other units is not of interest."""
        (self.folder / UNIT.name).write_text(text)
        done = subprocess.run(["systemd-analyze", "verify", self.folder / "veche-member@bank.service"], capture_output=True, text=True,
                              timeout=LONGEST, env=os.environ | {"SYSTEMD_UNIT_PATH": str(self.folder), "LC_ALL": "C"})
        return [line for line in done.stderr.splitlines() if re.search(rf"{re.escape(UNIT.name)}:\d+:|[Uu]nknown|is not executable", line)]

    def test_systemd_understands_it(self):
        text = UNIT.read_text().replace("/usr/bin/veche", os.environ["VECHE"])
        self.assertEqual(self.verified(text), [])
        self.assertEqual(len(self.verified(text.replace("Restart=", "Restarts="))), 1)

    def test_its_command_is_one_of_the_program(self):
        words = re.search(r"^ExecStart=/usr/bin/veche (.*)$", UNIT.read_text(), re.M)[1].replace("%i", "bank").replace(" $ARGUMENTS", "")
        done = self.veche(*words.split())
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Aveche: [^\n]*runs/bank[^\n]*\n\Z")
        self.assertIn("RestartPreventExitStatus=2\n", UNIT.read_text())


class Container(unittest.TestCase):
    def test_it_names_what_exists(self):
        text = (SOURCE / "Containerfile").read_text()
        for file in re.findall(r"^COPY (scripts/\S+)", text, re.M):
            self.assertTrue((SOURCE / file).exists(), file)
        section = re.search(r"^RUN scripts/setup (\w+)", text, re.M)[1]
        self.assertIn(f"\n  {section}) packages", (SOURCE / "scripts/setup").read_text())
        presets = {preset["name"]: preset for preset in json.loads((SOURCE / "CMakePresets.json").read_text())["configurePresets"]}
        preset = presets[re.search(r"--preset (\w+)", text)[1]]
        self.assertEqual(preset["binaryDir"].replace("${sourceDir}/", ""), re.search(r"cmake --build (\S+)", text)[1])
        self.assertEqual(preset["cacheVariables"]["VECHE_TESTS"], "OFF")
        ignored = (SOURCE / ".containerignore").read_text().split()
        self.assertNotIn("examples", ignored)


if __name__ == "__main__":
    unittest.main()
