"""The page of `veche serve`: a picture chosen or drawn, and every node's answer beside the averaged model's."""

import json
import unittest

from browser import BrowserTest, By
from pictures import png, write_digits
from selenium.webdriver.common.action_chains import ActionChains

MLP = {"model.name": "mlp", "model.hidden": "[16]", "data.name": "mnist", "data.path": "digits", "data.batch": 5,
       "cluster.nodes": 3, "run.steps": 4, "strategy.name": "none"}


class Tried(BrowserTest):
    def setUp(self):
        super().setUp()
        self.images, _ = write_digits(self.folder / "digits")
        self.train("a", MLP)
        self.serve("serve", "runs/a")
        self.browser.get(self.address)
        self.until(lambda: "mlp" in self.text("about"))

    def rows(self, name):
        return self.browser.execute_script("return [...document.querySelectorAll(`#${arguments[0]} tr`)].map(row => [...row.cells].map(cell => cell.textContent))", name)

    def test_a_chosen_picture_is_answered_by_every_node(self):
        (self.folder / "seven.png").write_bytes(png(8, 8, self.images[0]))
        self.browser.find_element(By.ID, "file").send_keys(str(self.folder / "seven.png"))
        self.until(lambda: len(self.rows("nodes")) == 3)
        asked = lambda *words: json.loads(self.veche("predict", "runs/a", "seven.png", "--json", *words).stdout)["predictions"][0]
        told = lambda answer: [answer["class"], f"{100 * answer['probability']:.1f} %"]
        self.assertEqual(self.rows("classes")[0][:2], told(asked()))
        self.assertEqual([row[1:3] for row in self.rows("nodes")], [told(asked("--node", i)) for i in range(3)])
        self.assertEqual(self.text("who"), "the average of 3 nodes")
        self.assert_usable("serve_page")

    def test_a_drawn_picture_is_answered(self):
        paper = self.browser.find_element(By.ID, "paper")
        ActionChains(self.browser).move_to_element_with_offset(paper, -60, -60).click_and_hold().move_by_offset(100, 0).move_by_offset(-60, 120).release().perform()
        self.until(lambda: len(self.rows("classes")) > 1)
        drawn = self.rows("classes")
        self.browser.find_element(By.ID, "clear").click()
        self.browser.find_element(By.ID, "ask").send_keys("\n")  # by keyboard
        self.until(lambda: self.rows("classes") not in ([], drawn))

    def test_what_is_no_picture_is_told(self):
        self.expected = ("422",)
        (self.folder / "words.png").write_text("hello")
        self.browser.find_element(By.ID, "file").send_keys(str(self.folder / "words.png"))
        self.until(lambda: "neither JPEG nor PNG" in self.text("told"))


if __name__ == "__main__":
    unittest.main()
