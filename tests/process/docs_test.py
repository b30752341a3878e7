"""What the pages and comments say of the source is true: the map, who includes what, and every file, target and preset that
is named."""

import collections
import graphlib
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [*(ROOT / name for name in ("README.md", "README.ru.md", "CONTRIBUTING.md", "CHANGELOG.md")), *sorted((ROOT / "docs").rglob("*.md"))]
# Pages that a program writes.
GENERATED = {"configuration.md", "thesis.md", "gallery.md"}
WIDTH, PARAGRAPH = 100, 5
# Pages name files from the root, or as the source includes them.
ROOTS = [ROOT, ROOT / "src/veche", ROOT / "src/veche/data", ROOT / "include", ROOT / "bench", ROOT / "python"]
FOLDERS = ("src", "include", "cli", "bench", "tests", "examples", "python")
NEW_FILE = "`, the whole file:"  # what a page asks the reader to make
SOURCE = r"(?<![\w/.-])((?:[\w.*-]+/)+[\w.*-]+\.(?:h|cc|py|toml|md|map|cmake|proto|json)\b)"
MAY_INCLUDE = {"base": set(), "graph": {"base"}, "comm": {"base"}, "compress": {"base"}, "data": {"base"}, "model": {"base"},
               "train": {"base", "graph", "comm", "compress", "data", "model"},
               "runtime": {"base", "graph", "comm", "compress", "data", "model", "train"}}

# Not checked: in data/, parsers make sets and sets open what parsers know; the vocabulary of a resumed run and the text that
# a run writes as a sample come from the inference on its saved models; an imported module is a flat vector too.
BACK = {*(("data", kind, "sets") for kind in ("formats", "text", "table")), ("runtime", "config", "inference"), ("runtime", "plan", "inference"),
        ("model/torch", "import", "learner")}
# Folders of train/: each includes only those before it.
TRAIN_LAYERS = ("measure", "compression", "optim", "pipeline", "loop", "async", "node", "strategies", "views")


def exists(name):
    return any(any(root.glob(name)) for root in ROOTS)


def anchors_of(page):
    """The names that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links_of(page):
    """Relative links and pictures of a page, as (file, anchor)."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'<img src="([^"]+)"', text):
        if not re.match(r"[a-z]+:", link):
            file, _, anchor = link.partition("#")
            yield (page.parent / file if file else page), anchor


def prose_of(page):
    """Runs of lines that are read as one paragraph, as (number of the first line, lines): neither tables nor code nor headings."""
    paragraph, first, code = [], 0, False
    for number, line in enumerate([*page.read_text().splitlines(), ""], 1):
        fence = line.lstrip().startswith("```")
        code ^= fence
        prose = line.strip() and not (fence or code or re.match(r"[|#<]|!\[|    ", line) and not paragraph)
        if paragraph and (not prose or re.match(r" *([-*]|\d+\.) ", line)):
            yield first, paragraph
            paragraph = []
        if prose:
            first = first if paragraph else number
            paragraph.append(line)


def folders_of_the_map():
    """The paths that the drawing of docs/architecture.md names, by indentation."""
    drawing = (ROOT / "docs/architecture.md").read_text().split("```")[1]
    above = []
    for line in drawing.strip("\n").splitlines():
        indent, name = re.match(r"( *)(\S+)/ ", line).groups()
        above = above[:len(indent) // 2] + [name]
        yield "/".join(above)


class Docs(unittest.TestCase):
    def test_the_map_is_the_tree(self):
        drawn = list(folders_of_the_map())
        self.assertEqual(sorted(drawn), sorted(set(drawn)))
        for folder in drawn:
            self.assertTrue((ROOT / folder).is_dir(), f"docs/architecture.md draws {folder}, which does not exist")
        there = {folder.relative_to(ROOT).as_posix() for folder in (ROOT / "src/veche").rglob("*") if folder.is_dir()}
        self.assertEqual(there - set(drawn), set(), "docs/architecture.md does not draw them")

    def test_dependencies_point_one_way(self):
        for part, allowed in MAY_INCLUDE.items():
            for file in (ROOT / "src/veche" / part).rglob("*.[hc]*"):
                for included in re.findall(r'^#include "veche/(\w+)/', file.read_text(), re.M):
                    if not file.name.endswith("_test.cc"):
                        self.assertIn(included, allowed | {part}, f"{file.relative_to(ROOT)} includes veche/{included}/")
        for file in (ROOT / "include/veche").iterdir():
            for included in re.findall(r'^#include "(.*)"', file.read_text(), re.M):
                self.assertTrue((ROOT / "include" / included).is_file(), f"{file.name} includes {included}")

    def test_folders_of_training_are_layers(self):
        train, allowed = ROOT / "src/veche/train", set()
        self.assertEqual({folder.name for folder in train.iterdir() if folder.is_dir()}, set(TRAIN_LAYERS))
        for layer in TRAIN_LAYERS:
            allowed.add(layer)
            for file in (file for file in (train / layer).rglob("*.[hc]*") if not file.name.endswith("_test.cc")):
                for included in re.findall(r'^#include "veche/train/(\w+)/', file.read_text(), re.M):
                    self.assertIn(included, allowed, f"{file.relative_to(ROOT)} includes veche/train/{included}/")

    def test_folders_beside_each_other_include_one_way(self):
        source, below = ROOT / "src/veche", collections.defaultdict(lambda: collections.defaultdict(set))
        for file in source.rglob("*.[hc]*"):
            here = file.relative_to(source).parts
            for included in re.findall(r'^#include "veche/(.*)"', file.read_text(), re.M) if not file.name.endswith("_test.cc") else []:
                there, common = pathlib.Path(included).parts, 0
                while here[common] == there[common] and common + 1 < min(len(here), len(there)):
                    common += 1
                # Both lie in folders of one folder. What lies in that folder itself is common to them, or made of them.
                edge = "/".join(here[:common]), here[common], there[common]
                if (source / included).exists() and common + 1 < min(len(here), len(there)) and edge not in BACK:
                    below[edge[0]][edge[1]].add(edge[2])
        self.assertIn("async", below["train"]["node"])
        for folder, edges in below.items():
            try:
                graphlib.TopologicalSorter(edges).prepare()
            except graphlib.CycleError as error:
                self.fail(f"folders of {folder}/ include each other: {', '.join(error.args[1])}")

    def test_public_headers_name_no_private_file(self):
        folders = "|".join(folder.name for folder in (ROOT / "src/veche").iterdir() if folder.is_dir())
        self.assertIn("runtime", folders)
        private = re.compile(rf"(?<![\w/.-])(?:(?:veche/)?(?:{folders})/|(?:src|cli|bench|tests)/)[\w/.-]*")
        for file in (ROOT / "include/veche").iterdir():
            self.assertEqual(private.findall(file.read_text()), [], f"{file.name} names what is not installed")

    def test_files_that_are_named_exist(self):
        named, wrong = 0, set()
        for page in PAGES:
            text = re.sub(r"^```(cpp|diff)\n.*?^```$", "", page.read_text(), flags=re.M | re.S)
            for name in re.findall(SOURCE, text):
                named += 1
                if not exists(name) and not (page.parent / name).exists() and name + NEW_FILE not in text and "NAME" not in name:
                    wrong.add(f"{page.name} names {name}")
            for name in re.findall(r"`([\w.-]+\.(?:h|cc|py))`", text):
                if not any(any(ROOT.glob(f"{folder}/**/{name}")) for folder in FOLDERS):
                    wrong.add(f"{page.name} names {name}")
            for file, anchor in links_of(page):
                if not file.exists():
                    wrong.add(f"{page.name} links to {file}")
                elif anchor and anchor not in anchors_of(file):
                    wrong.add(f"{page.name} links to {file.name}#{anchor}")
        self.assertGreater(named, 50)
        self.assertEqual(wrong, set())

    def test_every_page_is_reached_from_the_readme(self):
        reached, new = set(), [ROOT / "README.md"]
        while new:
            page = new.pop()
            reached.add(page)
            new += {file.resolve() for file, _ in links_of(page) if file.suffix == ".md"} - reached
        self.assertEqual([page.name for page in PAGES if page not in reached], [])

    def test_paragraphs_are_short(self):
        long = []
        for page in PAGES:
            for number, lines in prose_of(page) if page.name not in GENERATED else []:
                if len(lines) > PARAGRAPH or any(len(line) > WIDTH for line in lines):
                    long.append(f"{page.name}:{number} has {len(lines)} lines, of at most {max(map(len, lines))} characters")
        self.assertEqual(long, [])

    def test_files_that_comments_name_exist(self):
        files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.suffix in (".h", ".cc", ".py")]
        comments = [(file, text) for file in files for text in re.findall(r"(?://|^ *#) (.*)", file.read_text(), re.M)]
        named = [(file, name) for file, text in comments for name in re.findall(SOURCE, text) if "DIR" not in name]
        self.assertGreater(len(named), 30)
        included = {name for file in files for name in re.findall(r'#include [<"]([^>"]+)', file.read_text())}  # of other libraries
        self.assertEqual([f"{file.relative_to(ROOT)} names {name}" for file, name in named
                          if not exists(name) and name not in included], [])

    def benchmarks_page(self, *files):
        return subprocess.run([ROOT / "scripts/benchmarks-page", *files], capture_output=True, text=True, timeout=100)

    def test_the_page_of_benchmarks_is_what_was_recorded(self):
        self.assertEqual(self.benchmarks_page().stdout, (ROOT / "docs/benchmarks.md").read_text(),
                         "run scripts/benchmarks-page --write")

    def test_recorded_benchmarks_make_a_column_for_each_kind_of_machine(self):
        def case(name, ratio, verdict="kept", spread=0.1, peer="PyTorch", bench="step"):
            return {"bench": bench, "name": name, "peer": peer, "ratio": ratio, "spread": spread, "required": 1.3, "verdict": verdict}
        sizes = [case(f"{size} KB", 1 + size / 10, peer=f"{peer}, best other", bench="allreduce")
                 for size, peer in enumerate(("ring", "tree") * 4)]
        lines = [{"processor": "A", "cores": 2, "instruction_set": "avx2", "cases": [case("cnn", 1.2), case("mlp", 1.4)]},
                 {"processor": "B", "cores": 1, "instruction_set": "avx512", "cases": [case("cnn", 12.34, "unsure", 0.45), *sizes]},
                 {"processor": "A", "cores": 2, "instruction_set": "avx2", "cases": [case("cnn", 1.25, "missed")]},
                 {"processor": "A", "cores": 2, "instruction_set": "avx2", "quick": True, "cases": [case("cnn", 9)]}]
        with tempfile.TemporaryDirectory() as folder:
            page, record = pathlib.Path(folder) / "page.md", pathlib.Path(folder) / "record.jsonl"
            page.write_text("before\n<!-- made by scripts/benchmarks-page -->\nold\n<!-- end -->\nafter\n")
            record.write_text("".join(json.dumps({"date": "2026-01-02", **line}) + "\n" for line in lines))
            text = self.benchmarks_page(page, record).stdout
            self.assertEqual(text.splitlines(), [
                "before", "<!-- made by scripts/benchmarks-page -->",
                "| bench | case | beside | A, 2 cores, avx2 | B, 1 core, avx512 | promised |", "|---|---|---|---|---|---|",
                "| `step` | cnn | PyTorch | 1.25x (missed) | 12x (unsure: spread 45 %) | 1.30x |",
                "|  | mlp | PyTorch | 1.40x |  | 1.30x |",
                "| `allreduce` | all cases | best other |  | 1.00x to 1.70x, 8 of 8 kept | 1.30x |", "",
                "Last measured: A, 2 cores, avx2: 2026-01-02; B, 1 core, avx512: 2026-01-02.", "<!-- end -->", "after"])
            record.write_text(record.read_text() + "{}\n")
            wrong = self.benchmarks_page(page, record)
            self.assertEqual((wrong.returncode, wrong.stdout), (1, ""))
            self.assertIn("record.jsonl:5 is not a line", wrong.stderr)

    def test_the_program_of_the_library_page_compiles(self):
        page = (ROOT / "docs/library.md").read_text()
        program, = (text for text in re.findall(r"^```cpp\n(.*?)^```$", page, re.M | re.S) if "int main" in text)
        done = subprocess.run(["c++", "-std=c++20", "-Wall", "-Werror", "-fsyntax-only", f"-I{ROOT}/include", "-x", "c++", "-"],
                              input=program, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_library_has_its_licence(self):
        setup = (ROOT / "scripts/setup").read_text()
        libraries = {name for section in ("libraries", "data", "modules")
                     for name in re.search(rf"^{section}=\((.*?)\)", setup, re.M | re.S)[1].split()}
        table = (ROOT / "docs/dependencies.md").read_text().split("## Licences")[1].split("\n## ")[0]
        rows = {name for row in re.findall(r"^\| (`.*?`) \|", table, re.M) for name in re.findall(r"`(.*?)`", row)}
        self.assertEqual(rows, libraries)
        bundled = json.loads((ROOT / "web/watch/front/package-lock.json").read_text())["packages"]
        for path, package in bundled.items():
            name = path.removeprefix("node_modules/")
            if name and not name.startswith("@esbuild/"):
                self.assertIn(f"{name} {package['version']}", table.replace("uPlot", "uplot"))

    def test_commands_that_are_named_exist(self):
        makefile = (ROOT / "Makefile").read_text()
        presets = {preset["name"] for preset in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]}
        cmake = "".join(file.read_text() for file in ROOT.glob("**/CMakeLists.txt") if "build" not in file.parts)
        for page in PAGES:
            text = page.read_text()
            for target in re.findall(r"^make (\w+)|`make (\w+)", text, re.M):
                self.assertTrue(re.search(rf"(?m)^(\w+ )*{''.join(target)}( \w+)*:", makefile), f"{page.name} names make {target}")
            for preset in re.findall(r"--preset (\w+)", text):
                self.assertIn(preset, presets, page.name)
            for program in re.findall(r"build/\w+/bin/(\w+)", text):
                self.assertTrue(re.search(rf"\({program}\b|OUTPUT_NAME {program}\b", cmake), f"{page.name} names {program}")


if __name__ == "__main__":
    unittest.main()
