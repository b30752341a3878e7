"""`veche predict`: what it answers is what PyTorch answers with the same weights, and what the run had measured."""

import json
import pathlib
import sys
import unittest

from hostile.sets import bomb
from pictures import png, write_digits
from veche_runs import QUADRATIC, SMALL, RunsTest

try:
    import torch
except ImportError as error:
    raise SystemExit("the Debian package python3-torch is missing (%s)" % error)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from weights_page import read_weights

MLP = {"model.name": "mlp", "model.hidden": "[16]", "data.name": "mnist", "data.path": "digits", "data.batch": 5,
       "cluster.nodes": 3, "run.steps": 4, "strategy.name": "none"}


class Predict(RunsTest):
    def setUp(self):
        super().setUp()
        self.images, self.labels = write_digits(self.folder / "digits")
        self.run_of = self.train("a", MLP)
        (self.folder / "pictures").mkdir()
        for i, pixels in enumerate(self.images[:5]):
            (self.folder / f"pictures/{i}.png").write_bytes(png(8, 8, pixels))

    def asked(self, *words, expect=0):
        done = self.veche("predict", *words, "--json")
        self.assertEqual(done.returncode, expect, done.stderr)
        return json.loads(done.stdout)

    def refused(self, told, *words):
        done = self.veche("predict", *words)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertRegex(done.stderr, rf"\Aveche: [^\n]*{told}[^\n]*\n\Z")

    def test_pytorch_answers_the_same(self):
        self.veche("model", "export", "runs/a", "w.safetensors")
        weights = read_weights(self.folder / "w.safetensors")
        pixels = torch.tensor([list(image) for image in self.images[:5]], dtype=torch.float32)
        x = (pixels / 255 - 0.1307) / 0.3081
        hidden = torch.relu(x @ weights["fc1.weight"].T + weights["fc1.bias"])
        expected = torch.softmax(hidden @ weights["fc2.weight"].T + weights["fc2.bias"], 1)
        for place in ("runs/a", "w.safetensors"):
            answers = self.asked(place, "pictures", "--top", 10)["predictions"]
            self.assertEqual([answer["image"] for answer in answers], [f"pictures/{i}.png" for i in range(5)])
            for answer, row in zip(answers, expected):
                ours = {one["label"]: one["probability"] for one in answer["classes"]}
                torch.testing.assert_close(torch.tensor([ours[label] for label in range(10)]), row, rtol=1e-5, atol=1e-6)
                self.assertEqual(answer["label"], row.argmax().item())

    def test_the_test_set_is_measured_as_in_training(self):
        summary = self.run_of.summary()
        found = self.asked("runs/a", "--test")["test"]
        self.assertEqual(found["accuracy"], summary["accuracy"]["average_model"])
        self.assertAlmostEqual(found["loss"], self.run_of.metrics()[-1]["average_model"]["loss"], delta=1e-5)
        self.assertEqual(sum(map(sum, found["confusion"])), 40)
        self.assertEqual([sum(row) for row in found["confusion"]], [self.labels.count(label) for label in range(10)])
        self.assertEqual(sum(row[i] for i, row in enumerate(found["confusion"])), round(40 * found["accuracy"]))
        for node in range(3):
            own = self.asked("runs/a", "--test", "--node", node)["test"]
            self.assertEqual(own["accuracy"], summary["per_node"][node]["test"]["accuracy"])

    def test_a_packed_set_is_predicted_and_assessed(self):
        for label in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9):
            (self.folder / f"classes/{label}").mkdir(parents=True)
        for i, (pixels, label) in enumerate(zip(self.images, self.labels)):
            (self.folder / f"classes/{label}/{i:02}.png").write_bytes(png(8, 8, pixels))
        done = self.veche("data", "pack", "classes", "packed")
        self.assertEqual(done.returncode, 0, done.stderr)
        run = self.train("b", {key: value for key, value in MLP.items() if key != "data.name"} | {"data.path": "packed"})
        self.assertEqual(run.summary()["nodes"], 3)
        found = self.asked("runs/b", "packed")
        self.assertEqual(len(found["predictions"]), 40)
        truth = sum(one["label"] == one["truth"] for one in found["predictions"])
        self.assertEqual(found["assessment"]["accuracy"], truth / 40)

    def test_damaged_pictures_do_not_stop_the_others(self):
        whole = (self.folder / "pictures/1.png").read_bytes()
        (self.folder / "pictures/1.png").write_bytes(whole[:len(whole) // 2])
        found = self.asked("runs/a", "pictures", expect=1)["predictions"]
        self.assertIn("damaged PNG", found[1]["error"])
        self.assertEqual(["class" in one for one in found], [True, False, True, True, True])
        done = self.veche("predict", "runs/a", "pictures")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"veche: 1 of 5 pictures cannot be read\n\Z")

    def test_pictures_that_are_not_read_say_why(self):
        (self.folder / "pictures/a.gif").write_bytes(b"GIF89a" + bytes(20))
        (self.folder / "pictures/b.png").write_bytes(b"RIFF\0\0\0\0WEBPVP8 ")
        (self.folder / "pictures/c.jpg").write_bytes(bomb(8000, 300000))
        found = {one["image"][9:]: one for one in self.asked("runs/a", "pictures", expect=1)["predictions"]}
        self.assertIn("is a GIF picture, a format that is not read: convert", found["a.gif"]["error"])
        self.assertIn("is a WebP picture", found["b.png"]["error"])
        self.assertIn("300001 scans", found["c.jpg"]["error"])
        self.assertIn("is a GIF picture", self.asked("runs/a", "pictures/a.gif", expect=1)["predictions"][0]["error"])

    def test_weights_that_are_no_numbers(self):
        self.veche("model", "export", "runs/a", "w.safetensors")
        whole = (self.folder / "w.safetensors").read_bytes()
        (self.folder / "nan.safetensors").write_bytes(whole[:-40] + b"\0\0\xc0\x7f" * 10)
        done = self.veche("predict", "nan.safetensors", "pictures")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Aveche: the model of 'nan.safetensors' at step 4 has 10 numbers of \d+ that are NaN[^\n]*\n\Z")
        for words in (["serve", "nan.safetensors", "--port", 0], ["model", "export", "nan.safetensors", "nan.onnx"]):
            done = self.veche(*words)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("NaN", done.stderr)

    def test_sizes_and_colours_are_made_to_fit(self):
        (self.folder / "large.png").write_bytes(png(40, 20, bytes([200]) * 800))
        (self.folder / "colour.png").write_bytes(png(8, 8, bytes([200]) * 192, channels=3))
        (self.folder / "grey.png").write_bytes(png(8, 8, bytes([200]) * 64))
        answers = self.asked("runs/a", "large.png", "colour.png", "grey.png")["predictions"]
        self.assertEqual(answers[0]["classes"], answers[2]["classes"])
        self.assertEqual(answers[1]["classes"], answers[2]["classes"])

    def test_the_data_need_not_be_there(self):
        for file in (self.folder / "digits").iterdir():
            file.unlink()
        self.assertEqual(len(self.asked("runs/a", "pictures/0.png")["predictions"]), 1)
        self.refused("digits", "runs/a", "--test")

    def test_wrong_requests(self):
        self.train("q", QUADRATIC)
        self.veche("model", "export", "runs/a", "w.safetensors")
        self.refused("there is no 'runs/no'", "runs/no", "pictures")
        self.refused("there is no 'no.png'", "runs/a", "no.png")
        self.refused("nodes 0 to 2", "runs/a", "pictures", "--node", 3)
        self.refused("one model", "w.safetensors", "pictures", "--node", 0)
        self.refused("does not name its training data", "w.safetensors", "--test")
        self.refused("is not a classifier", "runs/q", "pictures")
        self.refused("name pictures", "runs/a")
        (self.folder / "empty").mkdir()
        self.refused("has no pictures", "runs/a", "empty")
        (self.folder / "junk").write_bytes(b"junk" * 100)
        self.refused("junk", "junk", "pictures")
        content = (self.folder / "w.safetensors").read_bytes()
        (self.folder / "other.safetensors").write_bytes(content.replace(b"veche.input", b"vecha.input"))
        self.refused("does not describe its model", "other.safetensors", "pictures")

    def test_synthetic_sets_come_from_the_seed(self):
        run = self.train("s", SMALL, {"run.steps": 2, "run.seed": 7})
        self.assertEqual(self.asked("runs/s", "--test")["test"]["accuracy"], run.summary()["accuracy"]["average_model"])


if __name__ == "__main__":
    unittest.main()
