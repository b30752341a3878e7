"""gpt_reference.py PROGRAM: compares the language models of PROGRAM (gpt.cc) with GPT-2 written in PyTorch.

The model is written here a second time, in the layout of Hugging Face's GPT-2. Its weights go to Veche as safetensors
files, and what Veche made of them comes back as such: the weights under the same names; logits, losses and gradients,
which must agree to 1e-5 of their size; and the losses of twenty steps of AdamW, to 1e-4. A text that Veche continues
with a cache must be token by token the one of a full pass for every token.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    import onnx
    import onnx.numpy_helper
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError as error:
    print("skipped: one of the Debian packages python3-torch, python3-onnx is missing (%s)" % error)
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from weights_page import read_weights, write_weights

CLOSE = 1e-5
STEPS = 1e-4
BATCH, STEP_COUNT = 4, 20
RATE, BETA2, DECAY = 1e-3, 0.99, 0.1


class Conv1D(nn.Module):
    def __init__(self, inputs, outputs, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.empty(outputs)) if bias else None

    def forward(self, x):
        return x @ self.weight if self.bias is None else x @ self.weight + self.bias


class LayerNorm(nn.Module):
    def __init__(self, width, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))
        self.bias = nn.Parameter(torch.empty(width)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class Attention(nn.Module):
    def __init__(self, width, heads, context, bias):
        super().__init__()
        self.heads = heads
        self.register_buffer("bias", torch.tril(torch.ones(1, 1, context, context)))  # as the published file has it
        self.c_attn = Conv1D(width, 3 * width, bias)
        self.c_proj = Conv1D(width, width, bias)

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = [t.view(n, length, self.heads, -1).transpose(1, 2) for t in self.c_attn(x).split(width, dim=2)]
        scores = q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5
        scores = scores.masked_fill(self.bias[:, :, :length, :length] == 0, float("-inf"))
        return self.c_proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(n, length, width))


class Mlp(nn.Module):
    def __init__(self, width, bias):
        super().__init__()
        self.c_fc = Conv1D(width, 4 * width, bias)
        self.c_proj = Conv1D(4 * width, width, bias)

    def forward(self, x):
        x = self.c_fc(x)
        return self.c_proj(0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3))))


class Block(nn.Module):
    def __init__(self, width, heads, context, bias):
        super().__init__()
        self.ln_1 = LayerNorm(width, bias)
        self.attn = Attention(width, heads, context, bias)
        self.ln_2 = LayerNorm(width, bias)
        self.mlp = Mlp(width, bias)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Body(nn.Module):
    def __init__(self, c):
        super().__init__()
        width = c["width"]
        self.wte = nn.Embedding(c["symbols"], width)
        self.wpe = nn.Embedding(c["context"], width)
        self.h = nn.ModuleList([Block(width, c["heads"], c["context"], c["bias"]) for _ in range(c["layers"])])
        self.ln_f = LayerNorm(width, c["bias"])

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return self.ln_f(x)


class Gpt(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.transformer = Body(c)
        self.lm_head = nn.Linear(c["width"], c["symbols"], bias=False)
        if c["tied"]:
            self.lm_head.weight = self.transformer.wte.weight
        for name, p in self.named_parameters():  # far from what training begins with, so that every part is seen
            nn.init.normal_(p, 1.0 if "ln_" in name and name.endswith("weight") else 0.0, 0.15)

    def forward(self, tokens):
        return self.lm_head(self.transformer(tokens))


CASES = [
    {"model": "gpt", "layers": 2, "heads": 3, "width": 30, "context": 21, "symbols": 17, "bias": True, "tied": True,
     "stages": 3, "micro_batches": 2},
    {"model": "gpt-nano", "layers": 4, "heads": 4, "width": 128, "context": 64, "symbols": 65, "bias": False,
     "tied": True, "stages": 2, "micro_batches": 4, "masked": True},
    {"model": "gpt2", "layers": 1, "heads": 2, "width": 64, "context": 40, "symbols": 101, "bias": True, "tied": False,
     "stages": 2, "micro_batches": 1},
]


def instance_norm(x, scale, shift, epsilon):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / numpy.sqrt(variance + epsilon) * scale[:, None] + shift[:, None]


def softmax(x, axis):
    e = numpy.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def reshape(x, shape):
    return x.reshape([x.shape[i] if extent == 0 else extent for i, extent in enumerate(shape)])


def cut(x, start, end, axis, step):
    place = [slice(None)] * x.ndim
    place[axis[0]] = slice(start[0], end[0], step[0])
    return x[tuple(place)]


# The operators as ONNX's documentation defines them, no more of each than the models need.
OPERATORS = {
    "Add": lambda a, b: a + b,
    "Div": lambda a, b: a / b,
    "Gather": lambda table, index: table[index],
    "InstanceNormalization": instance_norm,
    "MatMul": lambda a, b: a @ b,
    "Mul": lambda a, b: a * b,
    "Reshape": reshape,
    "Slice": cut,
    "Softmax": softmax,
    "Tanh": numpy.tanh,
    "Transpose": lambda x, perm: x.transpose(perm),
}


def run_onnx(path, tokens):
    """What the file computes, by numpy: Debian has no runtime that takes token ids."""
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    values = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    values[model.graph.input[0].name] = tokens
    for node in model.graph.node:
        settings = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
        values[node.output[0]] = OPERATORS[node.op_type](*[values[name] for name in node.input], **settings)
    return torch.from_numpy(values[model.graph.output[0].name])


class Checker:
    def __init__(self):
        self.failures = 0
        self.worst = {}

    def compare(self, what, ours, reference, tolerance):
        error = ((ours - reference).norm() / reference.norm().clamp(min=1e-30)).item()
        kind = what.split(":")[0]
        self.worst[kind] = max(self.worst.get(kind, 0.0), error)
        if ours.shape != reference.shape or not error <= tolerance:
            self.failures += 1
            print("DIFFERS %s: relative error %.2g" % (what, error))


def loss_of(model, windows, weights):
    logits = model(windows[:, :-1])
    each = F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten(), reduction="none")
    return each.mean() if weights is None else (each * weights).sum() / weights.sum()


def greedy(model, tokens, context, length):
    """The likeliest token again and again, by a full pass each time. A full context loses its older half."""
    written, logits = [], []
    for _ in range(length):
        logits.append(model(torch.tensor([tokens]))[0, -1])
        written.append(int(logits[-1].argmax()))
        if len(tokens) == context:
            tokens = tokens[-(context // 2):]
        tokens = tokens + written[-1:]
    return written, torch.stack(logits)


def prepare(folder, number, case):
    torch.manual_seed(number)
    model = Gpt(case)
    windows = torch.randint(0, case["symbols"], (BATCH * STEP_COUNT, case["context"] + 1))
    weights = (torch.rand(BATCH * case["context"]) < 0.7).float() if case.get("masked") else None
    case.update({"weights": "%d.weights" % number, "tokens": "%d.tokens" % number, "result": "%d.result" % number,
                 "target_weights": "%d.mask" % number, "batch": BATCH, "rate": RATE, "beta2": BETA2,
                 "weight_decay": DECAY, "prompt": 5, "length": 5 * case["context"] // 2, "onnx": "%d.onnx" % number})
    published = case["model"] == "gpt2" and case["tied"]
    write_weights(folder / case["weights"], model.transformer if published else model)
    (folder / case["tokens"]).write_bytes(windows.int().numpy().tobytes())
    (folder / case["target_weights"]).write_bytes(b"" if weights is None else weights.numpy().tobytes())
    return model, windows, weights


def check(folder, case, model, windows, weights, checker):
    ours = read_weights(folder / case["result"])
    parameters = dict(model.named_parameters())
    for name, p in parameters.items():
        if not torch.equal(ours["weight." + name], p):
            checker.failures += 1
            print("DIFFERS weight %s" % name)
    if len([name for name in ours if name.startswith("weight.")]) != len(parameters):
        checker.failures += 1
        print("DIFFERS the number of tensors")
    with torch.no_grad():
        checker.compare("logits", ours["logits"], model(windows[:1, :-1])[0], CLOSE)
        written, logits = greedy(model, windows[0, :case["prompt"]].tolist(), case["context"], case["length"])
        checker.compare("greedy logits", ours["greedy.logits"], logits, CLOSE)
        if ours["greedy"].int().tolist() != written:
            checker.failures += 1
            print("DIFFERS the text that %s continues" % case["model"])
        checker.compare("onnx", run_onnx(folder / case["onnx"], windows[:3, :-1].numpy()), model(windows[:3, :-1]), CLOSE)
    first = windows[:BATCH]
    loss = loss_of(model, first, weights)
    loss.backward()
    for name in ("loss", "test", "cut.loss", "cut.test"):
        checker.compare(name, ours[name], loss.detach().view(1), CLOSE)
    for name, p in parameters.items():
        checker.compare("gradient: " + name, ours["gradient." + name], p.grad, CLOSE)
        checker.compare("gradient of stages: " + name, ours["cut.gradient." + name], p.grad, CLOSE)
    decayed = [p for p in parameters.values() if p.dim() > 1]
    plain = [p for p in parameters.values() if p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": decayed}, {"params": plain, "weight_decay": 0.0}], lr=RATE,
                                  betas=(0.9, BETA2), weight_decay=DECAY)
    for step in range(STEP_COUNT):
        optimizer.zero_grad()
        loss = loss_of(model, windows[step * BATCH:(step + 1) * BATCH], None)
        checker.compare("steps: %d" % step, ours["losses"][step], loss.detach(), STEPS)
        loss.backward()
        optimizer.step()


def main():
    torch.set_num_threads(1)
    checker = Checker()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        references = [prepare(folder, number, case) for number, case in enumerate(CASES)]
        (folder / "index.json").write_text(json.dumps(CASES))
        subprocess.run([sys.argv[1], str(folder)], check=True)
        for case, reference in zip(CASES, references):
            check(folder, case, *reference, checker)
    print("worst errors:", ", ".join("%s %.1e" % item for item in checker.worst.items()))
    sys.exit(1 if checker.failures else 0)


if __name__ == "__main__":
    main()
