"""In a kernel of Jupyter: progress, pictures and tables, and an interrupt that saves and leaves the kernel alive."""

import pathlib
import queue
import re
import tempfile
import time
import unittest

from jupyter_client.manager import KernelManager
from python_loops import environment

LONGEST = 60  # seconds of one cell on a busy machine
LONG = """
import veche
CONFIG = {"model": {"name": "quadratic", "a": [1, 2, 3, 4], "b": [4, 3, 2, 1]}, "run": {"name": "long", "checkpoint_every": 50}}
"""
LOOP = """
import torch
model = torch.nn.Linear(4, 1)
optimizer = veche.Optimizer(torch.optim.SGD(model.parameters(), lr=0.01), model, strategy="none", keep=False)
"""


class Cell:
    """What one cell has told until now."""

    def __init__(self, notebook, code):
        # A cell that fails would take those with it that come soon after it.
        self.notebook, self.request = notebook, notebook.client.execute(code, stop_on_error=False)
        self.printed, self.shown, self.error, self.done = "", {}, "", False

    def until(self, told):
        deadline = time.monotonic() + LONGEST
        while not told(self):
            assert time.monotonic() < deadline, (self.printed[-500:], self.error)
            try:
                message = self.notebook.client.get_iopub_msg(timeout=1)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") == self.request:
                self.take(message["msg_type"], message["content"])
        return self

    def take(self, kind, content):
        if kind == "stream":
            self.printed += content["text"]
        elif kind in ("execute_result", "display_data"):
            self.shown = content["data"]
        elif kind == "error":
            self.error = f"{content['ename']}: {content['evalue']}"
        elif kind == "status" and content["execution_state"] == "idle":
            self.done = True


class Notebook(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        # No file of the user's: settings, histories and connections lie in the test's folder.
        changes = {"PYDEVD_DISABLE_FILE_VALIDATION": "1"} | {name: folder.name for name in ("HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR")}
        cls.kernel = KernelManager(connection_file=str(cls.folder / "kernel.json"), ip="127.0.0.1")
        cls.kernel.start_kernel(cwd=folder.name, env=environment(**changes))
        cls.client = cls.kernel.blocking_client()
        cls.client.start_channels()
        cls.addClassCleanup(cls.kernel.shutdown_kernel, now=True)
        cls.addClassCleanup(cls.client.stop_channels)
        cls.client.wait_for_ready(timeout=LONGEST)
        cls.run_cell(LONG)

    @classmethod
    def run_cell(cls, code):
        cell = Cell(cls, code).until(lambda cell: cell.done)
        assert not cell.error, cell.error
        return cell

    def interrupted(self, code, told):
        cell = Cell(self, code).until(lambda cell: re.search(told, cell.printed) or cell.done)
        self.assertFalse(cell.done, cell.error)
        self.kernel.interrupt_kernel()
        return cell.until(lambda cell: cell.done)

    def test_progress_and_interrupt(self):
        """The line is drawn again, an interrupt saves, and the next cell goes on."""
        cell = self.interrupted("veche.train(CONFIG, steps=10**9)", r"\rstep \d+/1000000000 .*\d steps/s")
        self.assertRegex(cell.error, r"^KeyboardInterrupt: stopped after step \d+, saved; go on with veche\.train\(resume='.*long'\)")
        step = int(re.search(r"after step (\d+)", cell.error)[1])
        self.assertTrue((self.folder / "runs" / "long" / "checkpoint" / f"step-{step}").is_dir())
        resumed = self.run_cell(f"result = veche.train(resume='runs/long', steps={step + 10})\nprint(result.summary['steps'])\nresult")
        self.assertIn(f"\n{step + 10}\n", "\n" + resumed.printed.replace("\r", "\n"))
        self.assertIn(f"resumed after step {step}", resumed.printed)
        self.assertIn(f"<tr><td>steps</td><td>{step + 10:,}</td></tr>", resumed.shown["text/html"])

    def test_pictures_and_tables(self):
        self.assertRegex(self.run_cell("veche.topology('ring:4')").shown["text/html"], "<svg")
        table = self.run_cell("veche.compare(CONFIG, strategy=['allreduce', 'consensus'], steps=5)").shown
        self.assertEqual(table["text/html"].count("<tr"), 3)

    def test_a_loop_is_interrupted(self):
        """The step under way is whole, the cell ends, and the loop can go on in the next one."""
        self.run_cell(LOOP)
        forever = "while True:\n    model(torch.ones(1, 4)).sum().backward()\n    optimizer.step()\n"
        cell = self.interrupted(forever + "    if optimizer.steps == 20: print('under way', flush=True)", "under way")
        self.assertRegex(cell.error, "^KeyboardInterrupt")
        more = self.run_cell("before = optimizer.steps\noptimizer.step()\nprint(before >= 20, optimizer.steps - before)\noptimizer.finish()")
        self.assertIn("True 1", more.printed)


if __name__ == "__main__":
    unittest.main()
