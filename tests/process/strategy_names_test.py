"""Strategies declare what they can do: outside their folder and the registry no code knows a strategy by its name."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STRATEGIES = ROOT / "src/veche/train/strategies"
# Where a name is a user's input, not a decision: the default strategy, the name of a benchmark, the runs of a gallery.
ALLOWED = {"include/veche/settings.h": {"consensus"}, "cli/bench": {"allreduce"}, "cli/topology/gallery.cc": {"consensus", "local-sgd"}}
COMMON_WORDS = {"none"}  # values of many other keys
# A measured table says which key reads it.
ALLOWED_KEYS = {"src/veche/comm/allreduce/allreduce_table.cc": {"table"}}
COMMENT = re.compile(r"//[^\n]*")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def names():
    found = set()
    for file in STRATEGIES.rglob("*.cc"):
        found |= set(re.findall(r'\binfo\.name = "([\w-]+)"|\bsilent\("([\w-]+)"', file.read_text()))
    return {name for pair in found for name in pair if name} - COMMON_WORDS


def allowed(path):
    return next((words for place, words in ALLOWED.items() if path.startswith(place)), set())


def names_in(text, known):
    """The strategies that code names in string literals: as the whole literal, or in quotes inside one."""
    literals = LITERAL.findall(COMMENT.sub("", text))
    inside = {word for literal in literals for word in re.findall(r'\\"([\w-]+)\\"', literal)}
    return (set(literals) | inside) & known


def keys_in(text):
    """The keys of strategies that code names in string literals."""
    return {key for literal in LITERAL.findall(COMMENT.sub("", text)) for key in re.findall(r"\bstrategy\.(\w+)", literal)} - {"name", "h"}


class StrategyNames(unittest.TestCase):
    def test_found(self):
        self.assertLessEqual({"allreduce", "consensus", "gossip", "hogwild", "local-sgd", "parameter-server", "single"}, names())

    def test_a_name_in_code_is_noticed(self):
        known = {"gossip", "local-sgd"}
        self.assertEqual(names_in('if (info.name == "gossip") return;', known), {"gossip"})
        self.assertEqual(names_in(r'refuse("choose strategy.name = \"local-sgd\"");', known), {"local-sgd"})
        self.assertEqual(keys_in(r'refuse("leave out strategy.outer, or strategy.name"); // "strategy.x"'), {"outer"})
        self.assertEqual(names_in('// "gossip" of a comment\nend.gossip.move("local");', known), set())

    def test_only_strategies_know_their_names(self):
        known = names()
        looked_at = 0
        for folder in ("src", "cli", "web", "include"):
            for file in (ROOT / folder).rglob("*.[hc]*"):
                path = file.relative_to(ROOT).as_posix()
                if file.name.endswith("_test.cc") or STRATEGIES in file.parents or not path.endswith((".h", ".cc")):
                    continue
                looked_at += 1
                self.assertEqual(names_in(file.read_text(), known) - allowed(path), set(),
                                 f"{path}: let StrategyInfo declare it (include/veche/strategy_info.h)")
                self.assertEqual(keys_in(file.read_text()) - ALLOWED_KEYS.get(path, set()), set(),
                                 f"{path}: let StrategyInfo say what depends on keys of one strategy")
        self.assertGreater(looked_at, 400)

    def test_a_new_one_is_a_file_and_a_line(self):
        """Every function of strategies.def is defined in this folder, and every definition has a line."""
        listed = re.findall(r"^VECHE_STRATEGY\((\w+)\)", (STRATEGIES / "strategies.def").read_text(), re.M)
        defined = [name for file in STRATEGIES.rglob("*.cc")
                   for name in re.findall(r"^StrategyInfo (\w+)_strategy\(\) \{", file.read_text(), re.M)]
        self.assertEqual(sorted(listed), sorted(defined))


if __name__ == "__main__":
    unittest.main()
