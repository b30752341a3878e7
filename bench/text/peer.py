"""The peer of `veche bench text`: GPT-2 as it is usually written for PyTorch 1.13, driven over standard input.

Requests and answers are JSON objects, one per line:
  {"do": "make", "layers", "heads", "width", "context", "symbols", "batch", "weights", "tokens"}
      files: float32 weights in the order of named_parameters(), matrices (in, out); int32 tokens, windows of
      context + 1, as many batches as there are.                                -> {"parameters": n}
  {"do": "run", "steps": n}      train n steps, batch after batch               -> {"seconds": s, "losses": [...]}
  {"do": "continue", "prompt": [tokens], "tokens": n}
      the likeliest token n times, with a cache of keys and values              -> {"seconds": s, "tokens": [...]}
Errors are answered with {"error": text}.
"""
import json
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read by the libraries when loaded
import numpy
import torch
from torch import nn
import torch.nn.functional as F


class LayerNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, None, 1e-5)


class Attention(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width, bias=False)
        self.c_proj = nn.Linear(width, width, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(context, context)).view(1, 1, context, context))

    def forward(self, x, cache=None):
        n, length, width = x.shape
        q, k, v = (t.view(n, length, self.heads, -1).transpose(1, 2) for t in self.c_attn(x).split(width, dim=2))
        if cache is not None:
            if cache:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            cache[:] = [k, v]
        scores = (q @ k.transpose(-2, -1)) * (width // self.heads) ** -0.5
        if length > 1:
            scores = scores.masked_fill(self.mask[:, :, :length, :length] == 0, float("-inf"))
        return self.c_proj((F.softmax(scores, -1) @ v).transpose(1, 2).contiguous().view(n, length, width))


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width, bias=False)
        self.c_proj = nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.ln_1, self.attn = LayerNorm(width), Attention(width, heads, context)
        self.ln_2, self.mlp = LayerNorm(width), Mlp(width)

    def forward(self, x, cache=None):
        x = x + self.attn(self.ln_1(x), cache)
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    def __init__(self, layers, heads, width, context, symbols):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(symbols, width), nn.Embedding(context, width)
        self.h = nn.ModuleList([Block(width, heads, context) for _ in range(layers)])
        self.ln_f = LayerNorm(width)
        self.lm_head = nn.Linear(width, symbols, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, tokens, caches=None, first=0):
        x = self.wte(tokens) + self.wpe(torch.arange(first, first + tokens.shape[1]))
        for i, block in enumerate(self.h):
            x = block(x, None if caches is None else caches[i])
        return self.lm_head(self.ln_f(x if caches is None else x[:, -1:]))


def new_optimizer(model):
    parameters = list(model.parameters())
    groups = [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": 0.1},
              {"params": [p for p in parameters if p.dim() == 1], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99), foreach=True)


def train_step(model, optimizer, windows):
    logits = model(windows[:, :-1])
    loss = F.cross_entropy(logits.view(-1, logits.size(-1)), windows[:, 1:].reshape(-1))
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss


class Trainer:
    def __init__(self, request):
        self.model = Gpt(*(request[key] for key in ("layers", "heads", "width", "context", "symbols")))
        weights = torch.from_numpy(numpy.fromfile(request["weights"], dtype=numpy.float32))
        start = 0
        with torch.no_grad():
            for name, p in self.model.named_parameters():
                part = weights[start:start + p.numel()]
                p.copy_(part.view(p.t().shape).t() if "c_" in name else part.view(p.shape))
                start += p.numel()
        if start != weights.numel():
            raise ValueError("the weights do not fit the model")
        self.parameters = start
        self.optimizer = new_optimizer(self.model)
        tokens = torch.from_numpy(numpy.fromfile(request["tokens"], dtype=numpy.int32)).long()
        self.batches = tokens.view(-1, request["batch"], request["context"] + 1)
        self.step = 0

    def run(self, steps):
        losses = []
        start = time.perf_counter()
        for _ in range(steps):
            losses.append(train_step(self.model, self.optimizer, self.batches[self.step % len(self.batches)]).item())
            self.step += 1
        return {
  "seconds" : time.perf_counter() - start, "losses" : losses}

    @torch.no_grad()
    def go_on(self, prompt, tokens):
        start = time.perf_counter()
        caches = [[] for _ in self.model.h]
        made, given, seen = [], torch.tensor([prompt]), 0
        for _ in range(tokens):
            logits = self.model(given, caches, seen)
            seen += given.shape[1]
            given = logits[:, -1].argmax(-1, keepdim=True)
            made.append(given.item())
        return {"seconds": time.perf_counter() - start, "tokens": made}


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    trainer = None
    for line in sys.stdin:
        try:
            request = json.loads(line)
            if request["do"] == "make":
                trainer = Trainer(request)
                result = {"parameters": trainer.parameters}
            elif request["do"] == "run":
                result = trainer.run(request["steps"])
            else:
                result = trainer.go_on(request["prompt"], request["tokens"])
        except Exception as error:
            result = {"error": repr(error)}
        print(json.dumps(result), flush=True)


main()
