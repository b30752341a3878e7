"""TensorBoard's event files, read by other means: frames by hand, messages by protoc."""

import json
import pathlib
import re
import struct
import subprocess
import unittest

from veche_runs import LONGEST, SMALL, RunsTest

HERE = pathlib.Path(__file__).parent
SETTINGS = SMALL | {"run.steps": 12, "run.eval_every": 5, "run.eval": "all"}


def crc32c(content):
    """Bit by bit, from the polynomial: slow, and nothing like the table it checks."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(content):
    crc = crc32c(content)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def frames(content):
    while content:
        length, = struct.unpack("<Q", content[:8])
        payload = content[12:12 + length]
        sums = struct.unpack("<I", content[8:12]) + struct.unpack("<I", content[12 + length:16 + length])
        assert sums == (masked(content[:8]), masked(payload)), "a checksum is wrong"
        yield payload
        content = content[16 + length:]


def decoded(message):
    done = subprocess.run(["protoc", "--decode=veche_test.Event", f"-I{HERE}", "veche_event.proto"], input=message,
                          capture_output=True, timeout=LONGEST, check=True)
    text = done.stdout.decode()
    assert not re.search(r"^\s*\d+[:{ ]", text, re.MULTILINE), f"a field that the schema does not have: {text}"
    return dict(re.findall(r"(\w+): \"?([^\"\n]*)", text))


class Events(RunsTest):
    def events(self, run):
        files = sorted(run.path.glob("events.out.tfevents.*"))
        return [[decoded(message) for message in frames(file.read_bytes())] for file in files]

    def test_checksum(self):
        self.assertEqual(crc32c(b"123456789"), 0xE3069283)  # the check value that catalogues give for CRC-32C

    def test_scalars_are_those_of_metrics(self):
        run = self.train("mine", SETTINGS)
        (head, *events), = self.events(run)
        self.assertEqual(head["file_version"], "brain.Event:2")
        lines = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual([line["step"] for line in lines], [5, 10, 12])
        expected = {}
        for line in lines:
            average = {name: value for name, value in line["average_model"].items() if name != "classes"}
            values = {"train/loss": line["train"]["loss"], "train/accuracy": line["train"]["accuracy"],
                      "learning_rate": line["learning_rate"], "disagreement/cv": line["cv"],
                      "samples_per_second": line["samples_per_second"],
                      "bytes_sent": sum(node["bytes_sent"] for node in line["nodes"]),
                      **{f"test/average_model/{name}": value for name, value in average.items()}}
            for i, node in enumerate(line["nodes"]):
                values |= {f"test/accuracy/node{i}": node["test"]["accuracy"],
                           f"test/loss/node{i}": node["test"]["loss"],
                           f"train/loss/node{i}": node["train"]["loss"],
                           f"distance_from_mean/l2/node{i}": node["l2"],
                           f"distance_from_mean/linf/node{i}": node["linf"]}
            expected |= {(line["step"], tag): value for tag, value in values.items()}
        found = {(int(event["step"]), event["tag"]): float(event.get("simple_value", 0)) for event in events}
        self.assertEqual(len(events), len(found))
        self.assertEqual(sorted(found), sorted(expected))
        for key, value in expected.items():
            self.assertAlmostEqual(found[key], value, delta=1e-6 * abs(value), msg=key)

    def test_resumed_run_overrides(self):
        run = self.train("mine", SETTINGS)
        self.assertEqual(self.veche("train", "-q", "--resume", run.path, "--set", "run.steps=20").returncode, 0)
        heads = [events[1] for events in self.events(run)]
        self.assertEqual([(head.get("status"), head["step"]) for head in heads], [(None, "5"), ("1", "13")])


if __name__ == "__main__":
    unittest.main()
