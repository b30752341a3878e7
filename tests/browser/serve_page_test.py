"""The pages of `veche serve`: pictures, rows of a table and texts, and every node's answer beside the averaged model's."""

import csv
import json
import pathlib
import re
import unittest

from browser import BrowserTest, By
from pictures import png, write_bars, write_digits
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

MLP = {"model.name": "mlp", "model.hidden": "[16]", "data.name": "mnist", "data.path": "digits", "data.batch": 5,
       "cluster.nodes": 3, "run.steps": 4, "strategy.name": "none"}
CLIENTS = {"data.path": "clients.csv", "data.test": 0.2, "model.name": "mlp", "model.hidden": "[8]", "data.batch": 10, "run.steps": 8,
           "cluster.nodes": 2, "strategy.name": "none"}
TEXT = {"data.name": "text", "data.path": "a.txt", "data.batch": 4, "model.name": "gpt", "model.layers": 1, "model.heads": 2,
        "model.width": 16, "model.context": 16, "cluster.nodes": 2, "run.steps": 6, "optimizer.name": "adamw"}


class Page(BrowserTest):
    def open(self, *words):
        self.serve("serve", *words)
        self.browser.get(self.address)
        self.until(lambda: self.text("state") == "Ready")

    def rows(self, name):
        return self.browser.execute_script("return [...document.querySelectorAll(`#${arguments[0]} tr`)].map(row => [...row.cells].map(cell => cell.textContent))", name)

    def predicted(self, *words):
        done = self.veche("predict", "runs/a", *words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["predictions"][0]

    def click(self, selector):
        self.browser.find_element(By.CSS_SELECTOR, selector).click()


def told(answer):
    return [answer["class"], f"{100 * answer['probability']:.1f}\u00a0%"]


class Pictures(Page):
    def setUp(self):
        super().setUp()
        self.images, self.labels = write_digits(self.folder / "digits")
        self.train("a", MLP)

    def assert_answers(self, file):
        self.assertEqual(self.rows("classes")[0][:2], told(self.predicted(file)))
        self.assertEqual([row[1:3] for row in self.rows("nodes")], [told(self.predicted(file, "--node", i)) for i in range(3)])
        self.assertEqual(self.text("who"), "the average of 3 nodes")

    def test_a_sample_is_answered_by_every_node(self):
        self.open("runs/a")
        self.until(lambda: self.all(".sample"))
        # Two of each class, where there are, by class.
        names = [button.text for button in self.all(".sample")]
        self.assertEqual(names, [str(label) for label in range(10) for _ in range(min(2, self.labels.count(label)))])
        index = next(i for i, label in enumerate(self.labels) if label == int(names[0]))
        (self.folder / "first.png").write_bytes(png(8, 8, self.images[index]))
        for _ in range(10):  # by keyboard: the language, the theme, three ways to ask, then the samples
            ActionChains(self.browser).send_keys(Keys.TAB).perform()
            if "sample" in self.browser.switch_to.active_element.get_attribute("class"):
                break
        ActionChains(self.browser).send_keys(Keys.ENTER).perform()
        self.until(lambda: len(self.rows("nodes")) == 3)
        self.assertEqual([button.get_attribute("aria-pressed") for button in self.all(".sample")[:2]], ["true", "false"])
        self.assert_answers("first.png")
        right = self.predicted("first.png")["label"] == self.labels[index]
        self.assertEqual(self.text("verdict"), "right" if right else f"wrong, labelled {names[0]}")
        served = self.rows("classes")[0][0]
        self.assertEqual([row.get_attribute("textContent") for row in self.all("#nodes .other th")], [row[0] for row in self.rows("nodes") if row[1] != served])
        same = sum(row[1] == served for row in self.rows("nodes"))
        self.assertEqual(self.text("agree"), f"{same} of 3 nodes say the same")
        # A line for each node stands in the bar of every class.
        self.assertEqual(len(self.all("#classes b")), 3 * len(self.all("#classes tr")))
        self.assert_usable("serve_page")

    def test_a_chosen_file_is_answered(self):
        self.open("runs/a")
        (self.folder / "seven.png").write_bytes(png(8, 8, self.images[0]))
        self.click("[data-value=choose]")
        self.browser.find_element(By.ID, "file").send_keys(str(self.folder / "seven.png"))
        self.until(lambda: len(self.rows("nodes")) == 3)
        self.assert_answers("seven.png")
        self.assert_usable()
        self.expected = ("422",)
        (self.folder / "words.png").write_text("hello")
        self.browser.find_element(By.ID, "file").send_keys(str(self.folder / "words.png"))
        self.until(lambda: "neither JPEG nor PNG" in self.text("told"))

    def test_without_the_data_there_are_no_samples(self):
        (self.folder / "digits").rename(self.folder / "elsewhere")
        self.open("runs/a")
        self.until(lambda: self.text("samples-about").startswith("There are no samples: "))
        self.assertIn("digits", self.text("samples-about"))

    def test_it_speaks_russian_and_fits_a_phone(self):
        self.as_phone()
        self.open("runs/a")
        self.until(lambda: self.all(".sample"))
        self.assert_fits_phone()
        self.click("#language")
        self.assertEqual(self.text("answer-title"), "Ответ")
        self.assertIn("среднее 3 узлов", self.text("facts"))
        self.assertEqual(self.browser.find_element(By.TAG_NAME, "html").get_attribute("lang"), "ru")
        self.click(".sample")
        self.until(lambda: len(self.rows("nodes")) == 3)
        self.assertRegex(self.rows("classes")[0][1], r"^\d+,\d\s%$")
        for way in ("draw", "choose", "samples"):
            self.click(f"[data-value={way}]")
            self.assert_fits_phone("serve_page")


class Drawn(Page):
    """The training set: bars of 20 x 4 white pixels in the middle of 28 x 28 black ones, standing and lying."""

    def setUp(self):
        super().setUp()
        write_bars(self.folder / "bars")
        self.train("a", {key: value for key, value in MLP.items() if key != "data.name"}, {"data.path": "bars", "run.steps": 40, "optimizer.lr": 0.1})
        self.open("runs/a")
        self.until(lambda: self.all(".sample"))
        self.until(lambda: self.browser.execute_script("return [...document.querySelectorAll('.sample img')].every(one => one.complete)"))
        self.click("[data-value=draw]")

    def seen(self):
        """What the model sees: brightness by row, 0 .. 255."""
        return self.browser.execute_script("""const seen = document.getElementById("seen"), {data} = seen.getContext("2d").getImageData(0, 0, seen.width, seen.height);
            return [...Array(seen.height)].map((_, y) => [...Array(seen.width)].map((_, x) => data[4 * (y * seen.width + x)]));""")

    def test_a_small_line_in_a_corner_looks_like_a_bar_of_the_set(self):
        paper = self.browser.find_element(By.ID, "paper")
        ActionChains(self.browser).move_to_element_with_offset(paper, -110, -110).click_and_hold().move_by_offset(0, 25).move_by_offset(0, 25).release().perform()
        self.until(lambda: self.rows("classes"))
        self.assertEqual(self.rows("classes")[0][0], "0")
        seen = self.seen()
        self.assertEqual((len(seen), len(seen[0]), seen[0][0]), (28, 28, 0))
        # As large, as bright and as much in the middle as a bar: ends of a pen are round, so to a pixel.
        all_of_it = sum(map(sum, seen))
        self.assertAlmostEqual(all_of_it / 255 / 784, 80 / 784, delta=0.02)
        rows = [y for y, row in enumerate(seen) if max(row) > 127]
        self.assertAlmostEqual(len(rows), 20, delta=1)
        self.assertAlmostEqual(sum((y + 0.5) * sum(row) for y, row in enumerate(seen)) / all_of_it, 14, delta=0.3)
        self.assertAlmostEqual(sum((x + 0.5) * value for row in seen for x, value in enumerate(row)) / all_of_it, 14, delta=0.3)
        self.assert_usable("serve_page_drawn")

    def test_a_line_is_drawn_with_the_keys(self):
        paper = self.browser.find_element(By.ID, "paper")
        self.click("#clear")
        paper.send_keys(Keys.ARROW_UP, Keys.SPACE, *[Keys.ARROW_RIGHT] * 8, Keys.SPACE)
        self.until(lambda: self.rows("classes"))
        self.assertEqual(self.rows("classes")[0][0], "1")
        paper.send_keys(Keys.DELETE)
        self.browser.find_element(By.ID, "ask").send_keys(Keys.ENTER)
        self.until(lambda: "Draw something" in self.browser.find_element(By.ID, "told").get_attribute("textContent"))


class Tables(Page):
    TOWNS = ("Bern", "Basel", "Genf")

    def write(self, target, values):
        rows = [["", "Bern", "2024-02-29", values(0)] if i == 0 else [20 + i % 50, self.TOWNS[i % 3], f"2024-01-{1 + i % 28:02}", values(i)] for i in range(120)]
        with open(self.folder / "clients.csv", "w", newline="") as file:
            csv.writer(file).writerows([["age", "town", "since", target], *rows])

    def fill(self, age, town, since):
        row = {"age": age, "town": town, "since": since}
        with open(self.folder / "row.csv", "w", newline="") as file:
            csv.writer(file).writerows([row.keys(), row.values()])
        self.browser.execute_script("""const [age, town, since] = document.querySelectorAll("#fields input, #fields select");
            age.value = arguments[0]; town.value = arguments[1]; since.value = arguments[2];""", *row.values())
        self.browser.find_element(By.ID, "ask").send_keys(Keys.ENTER)

    def test_a_form_of_classes(self):
        self.write("late", lambda i: "yes" if i % 50 > 25 else "no")
        self.train("a", CLIENTS, {"data.target": "late"})
        self.open("runs/a")
        self.until(lambda: len(self.all(".field")) == 3)
        self.assertEqual([field.get_attribute("type") for field in self.all(".field input, .field select")], ["number", "select-one", "date"])
        self.assertEqual([option.get_attribute("value") for option in self.all("option")], ["", *sorted(self.TOWNS)])
        for row in ((35, "Bern", "2024-01-05"), ("", "", "")):  # the second one lacks everything
            self.fill(*row)
            self.until(lambda: self.rows("classes") and self.rows("classes")[0][:2] == told(self.predicted("row.csv")))
            self.assertEqual([row[1:3] for row in self.rows("nodes")], [told(self.predicted("row.csv", "--node", i)) for i in range(2)])
        self.until(lambda: self.all(".sample"))
        self.click(".sample")
        self.until(lambda: self.text("verdict"))
        self.assert_usable("serve_page_table")
        self.as_phone()
        self.assert_fits_phone("serve_page_table")

    def test_a_form_of_numbers(self):
        self.write("price", lambda i: 1000 + 10 * (i % 50) + 0.5)
        self.train("a", CLIENTS, {"data.target": "price"})
        self.open("runs/a")
        self.until(lambda: len(self.all(".field")) == 3)
        self.fill(40, "Genf", "2024-01-09")
        self.until(lambda: len(self.rows("nodes")) == 2)
        values = [self.predicted("row.csv", *words)["value"] for words in ((), ("--node", 0), ("--node", 1))]
        shown = [float(row[0].replace(",", "")) for row in self.rows("classes")] + [float(row[1].replace(",", "")) for row in self.rows("nodes")]
        for value, words in zip(values, shown):
            self.assertAlmostEqual(words / value, 1, delta=0.005)  # three digits
        self.assert_usable()


class Texts(Page):
    RHYME = "".join(f"{count} bottles of beer on the wall, take one down.\n" for count in range(60))

    def opened(self, *settings):
        (self.folder / "a.txt").write_text(self.RHYME)
        self.train("a", TEXT, *settings)
        self.open("runs/a")

    def set(self, name, value):
        field = self.browser.find_element(By.ID, name)
        field.clear()
        field.send_keys(value)

    def test_a_text_is_continued(self):
        self.opened()
        self.until(lambda: self.all(".sample"))
        prompt = self.browser.find_element(By.CSS_SELECTOR, ".sample").text
        self.assertIn(prompt, self.RHYME)
        self.browser.find_element(By.CSS_SELECTOR, ".sample").send_keys(Keys.ENTER)
        self.assertEqual(self.browser.find_element(By.ID, "prompt").get_attribute("value"), prompt)
        self.set("tokens", 60)
        self.set("seed", 5)
        self.browser.find_element(By.ID, "go").send_keys(Keys.ENTER)
        self.until(lambda: self.text("pace").startswith("60 tokens, "))
        expected = json.loads(self.veche("generate", "runs/a", prompt, "--tokens", 60, "--seed", 5, "--json").stdout)["text"]
        self.assertEqual(self.browser.find_element(By.ID, "text").get_attribute("textContent"), expected)
        self.assert_usable("serve_page_text")
        self.expected = ("400",)
        self.set("prompt", "Q")
        self.click("#go")
        self.until(lambda: "the prompt has 'Q'" in self.text("told"))
        self.as_phone()
        self.assert_fits_phone("serve_page_text")


    def test_a_long_text_comes_in_pieces_until_it_is_stopped(self):
        # So large that it writes for much longer than the test looks.
        self.opened({"model.layers": 6, "model.heads": 4, "model.width": 512, "model.context": 64, "run.steps": 1})
        self.set("prompt", "take")
        self.set("tokens", 100_000)
        written = lambda: len(self.browser.find_element(By.ID, "text").get_attribute("textContent"))
        self.click("#go")
        self.until(lambda: written() > len("take"))
        first = written()
        self.until(lambda: written() > first)
        self.click("#stop")
        self.until(lambda: self.text("state") == "Stopped")
        self.assertTrue(self.browser.find_element(By.ID, "go").is_enabled())


class Words(unittest.TestCase):
    """What the pages may say, without a browser."""
    SERVE = pathlib.Path(__file__).resolve().parents[2] / "web/serve"

    def test_every_sentence_has_its_russian(self):
        russian = (self.SERVE / "front/russian.js").read_text()
        used = set()
        for file in [*self.SERVE.glob("*.html"), *self.SERVE.glob("front/*.html")]:
            used |= set(re.findall(r'data-say="([^"]*)"', file.read_text()))
        for file in self.SERVE.glob("front/*.js"):
            if file.name != "russian.js":
                said = re.findall(r'\bsay\(((?:[^()"]|"[^"]*")*)', file.read_text())  # the sentence, or one of two
                used |= {words for call in said for words in re.findall(r'"([^"]*)"', call)}
                used |= set(re.findall(r'\bpill\("([^"]*)"', file.read_text()))
        self.assertGreater(len(used), 50)
        self.assertEqual(sorted(words for words in used if f'"{words}": "' not in russian), [])


if __name__ == "__main__":
    unittest.main()
