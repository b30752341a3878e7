"""What the installed libveche.so lets others use: what include/veche declares, what modules need, and nothing else."""

import os
import pathlib
import re
import unittest

from installed import InstalledTest, call

HERE = pathlib.Path(__file__).parent
OURS = re.compile(r"_Z(T[ISV])?NK?5veche")  # mangled: of the namespace veche
HOW = "if that is meant: UPDATE_SYMBOLS=1 ctest --preset release -R symbols_test, and look at what git diff says"


class Symbols(InstalledTest):
    def symbols(self, file, which):
        """(name, version) of each dynamic symbol; version "" where there is none."""
        lines = call("nm", "-D", "-P", "--with-symbol-versions", which, file, cwd=self.folder).splitlines()
        parts = [line.split()[0].partition("@") for line in lines]
        return {(name, version.lstrip("@")) for name, _, version in parts if not name.startswith("VECHE_")}

    def exported(self):
        return self.symbols(self.found("lib/**/libveche.so.0"), "--defined-only")

    def demangled(self, names):
        return call("c++filt", cwd=self.folder, input="\n".join(sorted(names))).splitlines()

    def test_only_ours(self):
        exported = self.exported()
        self.assertGreater(len(exported), 100)
        self.assertEqual({version for _, version in exported}, {"VECHE_0.1", "VECHE_PRIVATE"})
        self.assertEqual([name for name, _ in exported if not OURS.match(name)], [])

    def test_public_ones_are_those_of_before(self):
        names = sorted(set(self.demangled(name for name, version in self.exported() if version == "VECHE_0.1")))
        stored = HERE / "symbols.txt"
        if os.environ.get("UPDATE_SYMBOLS"):
            stored.write_text("\n".join(names) + "\n")
        before = stored.read_text().splitlines()
        gone, new = sorted(set(before) - set(names)), sorted(set(names) - set(before))
        self.assertEqual(gone, [], f"programs that use them would no longer start; {HOW}")
        self.assertEqual(new, [], f"from now on to be kept; {HOW}")

    def test_all_that_is_visible_has_a_version(self):
        """The program is linked of the same objects and shows all that they do not hide."""
        visible = {name for name, _ in self.symbols(self.prefix / "bin/veche", "--defined-only") if OURS.match(name)}
        self.assertGreater(len(visible), 100)
        missing = visible - {name for name, _ in self.exported()}
        self.assertEqual(self.demangled(missing), [], "give each a line in src/veche/symbol_versions.map")

    def test_modules_find_what_they_need(self):
        exported = {name for name, _ in self.exported()}
        for module in self.prefix.glob("lib/**/veche_*.so"):
            needed = {name for name, _ in self.symbols(module, "--undefined-only") if OURS.match(name)}
            self.assertEqual(self.demangled(needed - exported), [], module.name)
            if module.name == "veche_torch.so":
                self.assertNotEqual(needed, set(), "nothing was looked at")


if __name__ == "__main__":
    unittest.main()
