#include "veche/runtime/config/config_keys.h"

#include <limits>

#include "veche/data/sets/source.h"
#include "veche/train/optim/optimizer.h"
#include "veche/train/optim/rate_schedule.h"
#include "veche/train/pipeline/schedule.h"

namespace veche {
namespace {

using Kind = KeySpec::Kind;

Value text(std::string value) { return {std::move(value)}; }
Value whole(std::int64_t value) { return {value}; }
Value real(double value) { return {value}; }
Value flag(bool value) { return {value}; }

constexpr double kMostNodes = 1e5;
constexpr double kMostEpochs = 1e9;

// A table, a key a line or two: clang-format would give every field its own.
// clang-format off
std::vector<KeySpec> run_keys() {
  return {
      {.name = "name", .kind = Kind::text, .fallback = {}, .help = "the run's folder; made up when absent"},
      {.name = "out", .kind = Kind::text, .fallback = text("runs"), .help = "where runs' folders are"},
      {.name = "seed", .kind = Kind::whole, .fallback = whole(1), .help = "fixes everything random", .least = 0,
       .most = 9.3e18},
      {.name = "epochs", .kind = Kind::real, .fallback = {}, .help = "passes over the data; 0.5 is half of one",
       .least = 0, .above_least = true, .most = kMostEpochs},
      {.name = "steps", .kind = Kind::whole, .fallback = {}, .help = "instead of epochs", .least = 1},
      {.name = "target_accuracy", .kind = Kind::real, .fallback = {},
       .help = "stop when the averaged model reaches it, such as 0.9", .least = 0, .above_least = true},
      {.name = "eval", .kind = Kind::text, .fallback = text("average"),
       .help = "whose models are tested on the way: average, all or sample:K; at the end all, of more than 64 nodes 64, K or all"},
      {.name = "eval_every", .kind = Kind::whole, .fallback = whole(0), .help = "steps; 0: every epoch",
       .least = 0},
      {.name = "checkpoint_every", .kind = Kind::whole, .fallback = whole(0), .help = "steps; 0: every epoch",
       .least = 0},
      {.name = "trace", .kind = Kind::flag, .fallback = flag(false),
       .help = "trace.json in the run's folder: what every node did when, for chrome://tracing or ui.perfetto.dev"},
  };
}

std::vector<KeySpec> model_keys() {
  return {
      {.name = "name", .kind = Kind::text, .fallback = text("cnn"), .help = "see `veche model ls`; any wrn-D-K too"},
      {.name = "classes", .kind = Kind::whole, .fallback = {}, .help = "as many as the data have", .least = 2,
       .most = 1e6},
      {.name = "norm", .kind = Kind::text, .fallback = {},
       .help = "normalisation: batch, group:G, layer or none; the model's own when absent"},
      {.name = "stem", .kind = Kind::text, .fallback = text("auto"),
       .help = "how a network for 224x224 pixels begins: small keeps the resolution, auto does up to 64 pixels",
       .choices = {"auto", "small", "large"}},
      {.name = "dropout", .kind = Kind::real, .fallback = {}, .help = "probability; the model's own when absent",
       .least = 0, .most = 1, .below_most = true},
      {.name = "stochastic_depth", .kind = Kind::real, .fallback = {},
       .help = "probability that the last residual branch is left out; the model's own when absent", .least = 0,
       .most = 1, .below_most = true},
      {.name = "label_smoothing", .kind = Kind::real, .fallback = {},
       .help = "this much of a label is spread over all classes in training", .least = 0, .most = 1, .below_most = true},
      {.name = "hidden", .kind = Kind::wholes, .fallback = {}, .help = "widths of mlp's hidden layers",
       .least = 1, .most = 1e9, .may_be_empty = true},
      {.name = "file", .kind = Kind::text, .fallback = {}, .help = "torchscript: the module's file, see docs/own-models.md"},
      {.name = "init", .kind = Kind::text, .fallback = {}, .help = "a safetensors file with the weights to start from"},
      {.name = "prune", .kind = Kind::real, .fallback = {},
       .help = "this part of the weights, the smallest, becomes zero and stays so", .least = 0, .most = 1, .below_most = true},
      {.name = "prune_at", .kind = Kind::real, .fallback = real(1), .help = "epochs before the cut", .least = 0,
       .most = kMostEpochs},
      {.name = "prune_until", .kind = Kind::real, .fallback = {}, .help = "cut gradually until this epoch", .least = 0,
       .most = kMostEpochs},
      {.name = "device", .kind = Kind::text, .fallback = text("cpu"),
       .help = "where the network computes: the processor, or the CUDA devices that a process sees, node by node",
       .choices = {"cpu", "cuda"}},
      {.name = "threads", .kind = Kind::whole, .fallback = whole(0),
       .help = "that compute a node's batch together, on as many cores; 0: one", .least = 0, .most = 1024},
      {.name = "a", .kind = Kind::list, .fallback = {}, .help = "quadratic: curvature of each node, number or list"},
      {.name = "b", .kind = Kind::list, .fallback = {}, .help = "quadratic: optimum of each node, number or list"},
      {.name = "length", .kind = Kind::whole, .fallback = {}, .help = "vector: how many floats", .least = 1, .most = 1e12},
      {.name = "start", .kind = Kind::text, .fallback = text("equal"),
       .help = "initial parameters of the nodes; different: each node draws its own", .choices = {"equal", "different"}},
      {.name = "x0", .kind = Kind::any, .fallback = {}, .help = "quadratic: where all nodes start"},
  };
}

std::vector<KeySpec> data_keys() {
  return {
      {.name = "name", .kind = Kind::text, .fallback = {},
       .help = "a known data set; `fashion-mnist` when neither this nor path is given", .choices = data_names()},
      {.name = "path", .kind = Kind::texts, .fallback = {},
       .help = "where its files are, or a set of your own: a folder, an archive or a packed set (docs/data.md); "
               "with partition = folders one path a node, or a folder of such"},
      {.name = "folder", .kind = Kind::text, .fallback = text("data"), .help = "where `veche data fetch` puts known sets"},
      {.name = "size", .kind = Kind::whole, .fallback = {},
       .help = "image files: the side of the images wanted; the shorter side is resized to it and the middle taken",
       .least = 1, .most = 4096},
      {.name = "bad", .kind = Kind::text, .fallback = text("refuse"),
       .help = "a damaged sample ends the run, or another of its class takes its place", .choices = {"refuse", "skip"}},
      {.name = "batch", .kind = Kind::whole, .fallback = whole(25), .help = "samples per node and step", .least = 1,
       .most = 1e9},
      {.name = "partition", .kind = Kind::text, .fallback = {},
       .help = "how samples are divided: iid, proportional (to cluster.speed; the default where that is given), "
               "sizes:[..], dirichlet:ALPHA, classes:K, folders"},
      {.name = "uneven", .kind = Kind::text, .fallback = text("wait"),
       .help = "nodes with fewer batches than others go on mixing until the next epoch, or begin theirs anew",
       .choices = {"wait", "repeat"}},
      {.name = "shuffle", .kind = Kind::text, .fallback = text("local"),
       .help = "what nodes do with their samples before each epoch: local keeps them, partial:Q exchanges the part Q "
               "with others, global divides all anew"},
      {.name = "augment", .kind = Kind::text, .fallback = text("default"),
       .help = "random changes of training images: none, or of crop:P, flip, cutout:S, resized-crop joined by +; "
               "default: what is customary for the set"},
      {.name = "workers", .kind = Kind::whole, .fallback = whole(1),
       .help = "threads that prepare batches ahead of the steps; 0: each node its own when it needs them",
       .least = 0, .most = 256},
      {.name = "shape", .kind = Kind::wholes, .fallback = {}, .help = "synthetic: channels, height, width"},
      {.name = "samples", .kind = Kind::whole, .fallback = {}, .help = "synthetic: training samples", .least = 1},
      {.name = "test_samples", .kind = Kind::whole, .fallback = {}, .help = "synthetic: test samples", .least = 1},
      {.name = "classes", .kind = Kind::whole, .fallback = {}, .help = "synthetic: classes", .least = 2},
      {.name = "noise", .kind = Kind::real, .fallback = {}, .help = "synthetic: noise over the pattern", .least = 0},
  };
}

std::vector<KeySpec> optimizer_keys() {
  return {
      {.name = "name", .kind = Kind::text, .fallback = text("adam"), .help = "sgd, adam, adamw or lars",
       .choices = optimizer_names()},
      {.name = "lr", .kind = Kind::real, .fallback = {}, .help = "learning rate: sgd 0.05, adam 0.001, lars 1", .least = 0,
       .most = std::numeric_limits<float>::max()},
      {.name = "momentum", .kind = Kind::real, .fallback = real(0), .help = "sgd, lars", .least = 0},
      {.name = "nesterov", .kind = Kind::flag, .fallback = flag(false), .help = "sgd: Nesterov's form"},
      {.name = "beta1", .kind = Kind::real, .fallback = real(0.9), .help = "adam", .least = 0, .most = 1,
       .below_most = true},
      {.name = "beta2", .kind = Kind::real, .fallback = real(0.999), .help = "adam", .least = 0, .most = 1,
       .below_most = true},
      {.name = "epsilon", .kind = Kind::real, .fallback = real(1e-8), .help = "adam", .least = 0},
      {.name = "weight_decay", .kind = Kind::real, .fallback = real(0), .help = "pull towards zero", .least = 0},
      {.name = "decay_norms", .kind = Kind::flag, .fallback = flag(true),
       .help = "false: weight decay (and lars's ratio) spare norms and biases"},
      {.name = "trust", .kind = Kind::real, .fallback = real(0.001),
       .help = "lars: how far a layer goes, in lengths of its weights", .least = 0, .above_least = true},
      {.name = "clip", .kind = Kind::real, .fallback = real(0), .help = "largest norm of a gradient; 0: any",
       .least = 0},
      {.name = "schedule", .kind = Kind::text, .fallback = text("constant"), .help = "of the learning rate",
       .choices = schedule_names()},
      {.name = "milestones", .kind = Kind::reals, .fallback = {}, .help = "multi-step: epochs at which it drops",
       .least = 0, .most = kMostEpochs, .may_be_empty = true},
      {.name = "gamma", .kind = Kind::real, .fallback = real(0.1), .help = "multi-step: factor", .least = 0},
      {.name = "warmup_epochs", .kind = Kind::real, .fallback = real(0), .help = "linear rise at the start",
       .least = 0, .most = kMostEpochs},
      {.name = "scale_lr", .kind = Kind::flag, .fallback = flag(false),
       .help = "multiply the rate by the number of nodes"},
  };
}

std::vector<KeySpec> cluster_keys() {
  return {
      {.name = "nodes", .kind = Kind::whole, .fallback = whole(4), .help = "how many; under mpirun one a rank, or more",
       .least = 1, .most = kMostNodes},
      {.name = "transport", .kind = Kind::text, .fallback = text("auto"),
       .help = "the engine; auto: mpi when started by mpirun or srun, else threads; simulated: virtual time, docs/simulation.md",
       .choices = {"auto", "threads", "mpi", "simulated"}},
      {.name = "slots", .kind = Kind::whole, .fallback = whole(0), .help = "nodes computing at once; 0: the cores",
       .least = 0, .most = kMostNodes},
      {.name = "speed", .kind = Kind::reals, .fallback = {}, .help = "relative speed of each node, such as [1, 1, 0.5]",
       .least = 0, .above_least = true},
      {.name = "train_every", .kind = Kind::any, .fallback = {},
       .help = "qt: a node trains at every qt-th step; a number, or one a node; follows from speed"},
      {.name = "mix_every", .kind = Kind::any, .fallback = {},
       .help = "qc: a node mixes after every qc-th step (consensus); a number, or one a node"},
      {.name = "rest", .kind = Kind::flag, .fallback = {},
       .help = "nodes sleep after computing, so that they are as unequal as speed says; by default where they share one "
               "machine, and not on several hosts, which are as quick as they are"},
      {.name = "stall", .kind = Kind::reals, .fallback = {},
       .help = "random pauses after computing: probability and longest seconds, such as [0.01, 0.5]"},
      {.name = "lose", .kind = Kind::real, .fallback = real(0),
       .help = "probability that what a node has computed is lost", .least = 0, .most = 1, .below_most = true},
      {.name = "work", .kind = Kind::text, .fallback = text("shared"),
       .help = "asynchronous nodes: quick ones make more of the steps, or all make as many",
       .choices = {"shared", "equal"}},
  };
}

std::vector<KeySpec> topology_keys() {
  return {
      {.name = "graph", .kind = Kind::text, .fallback = text("ring"), .help = "see docs/topologies.md"},
      {.name = "weights", .kind = Kind::text, .fallback = text("metropolis"), .help = "see docs/topologies.md"},
  };
}

std::vector<KeySpec> compress_keys() {
  return {
      {.name = "codec", .kind = Kind::text, .fallback = text("none"),
       .help = "how what nodes send is said in fewer bytes: none, or one of docs/compression.md such as topk:0.01"},
      {.name = "error_feedback", .kind = Kind::flag, .fallback = {},
       .help = "codecs remember what they leave out and add it to what is sent next; by default where they are biased"},
      {.name = "gamma", .kind = Kind::any, .fallback = text("auto"),
       .help = "of the way between copies of models, how much is gone in a round (CHOCO); auto: the codec's own"},
      {.name = "small", .kind = Kind::whole, .fallback = whole(0), .help = "tensors with fewer floats travel as they are",
       .least = 0},
      {.name = "start", .kind = Kind::real, .fallback = real(0), .help = "epochs without the codec first; steps where there is no data set",
       .least = 0, .most = kMostEpochs},
      {.name = "lossless", .kind = Kind::text, .fallback = text("none"), .help = "packs codes once more",
       .choices = {"none", "zstd"}},
      {.name = "vote", .kind = Kind::flag, .fallback = flag(false), .help = "sign with allreduce: the sign that most nodes have"},
  };
}

std::vector<KeySpec> pipeline_keys() {
  return {
      {.name = "stages", .kind = Kind::whole, .fallback = whole(1),
       .help = "parts that the model's layers are cut into, each on a node of its own; 1: every node has the whole model", .least = 1, .most = kMostNodes},
      {.name = "micro_batches", .kind = Kind::whole, .fallback = {},
       .help = "parts of a batch that follow each other through the stages; by default 4 a stage, as far as the batch has samples", .least = 1},
      {.name = "schedule", .kind = Kind::text, .fallback = text("1f1b"), .help = "in which order they go forward and back",
       .choices = schedule_words()},
      {.name = "cut", .kind = Kind::any, .fallback = text("time"),
       .help = "where: so that stages take the same time (measured; operations over speed in virtual time), have as many parameters, or as many layers; "
               "or a list with the first block of each stage but the first", .choices = {"time", "parameters", "layers"}},
      {.name = "recompute", .kind = Kind::any, .fallback = flag(false),
       .help = "stages keep only what came in, and go forward again before they go back: true, false, or except-last", .choices = {"except-last"}},
  };
}

std::vector<KeySpec> network_keys() {
  return {
      {.name = "platform", .kind = Kind::text, .fallback = {}, .help = "a file of SimGrid's, whose hosts the nodes are, in the order of their names"},
      {.name = "bandwidth", .kind = Kind::any, .fallback = text("1Gbps"),
       .help = "of a node's link, each way, such as \"100Mbps\"; one for all, or a list with one a node"},
      {.name = "latency", .kind = Kind::any, .fallback = text("50us"), .help = "of a node's link, such as \"5ms\"; one, or a list"},
      {.name = "sites", .kind = Kind::tables, .fallback = {},
       .help = "groups of nodes behind a shared link: [{nodes = 8, bandwidth = .., latency = .., uplink = \"100Mbps\", uplink_latency = ..}, ..]"},
      {.name = "shape", .kind = Kind::text, .fallback = text("star"),
       .help = "all links meet in the middle, or every two nodes have one of their own", .choices = {"star", "full"}},
      {.name = "model", .kind = Kind::text, .fallback = text("LV08"),
       .help = "of TCP: LV08 was fitted to measurements, CM02 is bandwidth and latency alone", .choices = {"LV08", "CM02"}},
      {.name = "crosstraffic", .kind = Kind::flag, .fallback = flag(true), .help = "what flows one way takes 5 % of the way back"},
      {.name = "duplex", .kind = Kind::flag, .fallback = flag(true),
       .help = "large messages of two nodes to each other go both ways at once; false: in turn, as measured with Open MPI over TCP"},
      {.name = "jitter", .kind = Kind::any, .fallback = text("0s"), .help = "each message leaves up to so much later; the seed decides"},
      {.name = "loss_of_nodes", .kind = Kind::tables, .fallback = {},
       .help = "hosts that go: {node = 3, at = \"10s\", for = \"5s\"}, for good without `for`; or at random, {every = \"1h\", for = \"1min\"}, one node or all; or a list"},
      {.name = "speed", .kind = Kind::any, .fallback = {},
       .help = "operations a second that a node computes; one number, or a list; 1e10, or the platform's"},
      {.name = "seconds_per_step", .kind = Kind::real, .fallback = {},
       .help = "what a step's computing takes, measured, instead of counting operations", .least = 0, .most = 1e9},
      {.name = "learning", .kind = Kind::text, .fallback = text("real"),
       .help = "real: gradients are computed as well; none: only messages and time", .choices = {"real", "none"}},
  };
}

std::vector<KeySpec> grid_keys() {
  return {
      {.name = "admit", .kind = Kind::text, .fallback = text("invited"),
       .help = "who comes with an invitation is let in, or waits for `veche grid members RUN --admit ID`",
       .choices = {"invited", "approved"}},
      {.name = "wait_for", .kind = Kind::whole, .fallback = whole(1), .help = "members that begin together: nobody trains before so many are in", .least = 1,
       .most = 1024},
      {.name = "wait_limit", .kind = Kind::text, .fallback = text("1h"),
       .help = "the longest time to wait for them; a member then ends"},
      {.name = "name", .kind = Kind::text, .fallback = text(""), .help = "of this member, for people; the host's when empty"},
      {.name = "partition", .kind = Kind::text, .fallback = text("wait"),
       .help = "members that are cut off from most others wait for them, or go on as a run of their own", .choices = {"wait", "fork"}},
      {.name = "data", .kind = Kind::text, .fallback = text("own"),
       .help = "each member trains on what its data.path holds, or all have one set, which is divided among them",
       .choices = {"own", "common"}},
      {.name = "weight", .kind = Kind::text, .fallback = text("samples"),
       .help = "a member counts by its samples, or all count the same and those with fewer begin theirs anew",
       .choices = {"samples", "equal"}},
      {.name = "listen", .kind = Kind::text, .fallback = text("0.0.0.0:0"),
       .help = "HOST:PORT where this member can be reached; port 0: any"},
      {.name = "address", .kind = Kind::texts, .fallback = {},
       .help = "HOST:PORT that others are told; those of this host when absent"},
      {.name = "relay", .kind = Kind::flag, .fallback = flag(false),
       .help = "this member joins others that cannot reach each other; all that it forwards is encrypted from end to end"},
      {.name = "multicast", .kind = Kind::flag, .fallback = flag(true),
       .help = "members on the local network find each other where the addresses that they know do not answer"},
      {.name = "upnp", .kind = Kind::flag, .fallback = flag(false),
       .help = "asks the router, where one answers, for a port that leads to this member"},
      {.name = "dht", .kind = Kind::text, .fallback = text(""),
       .help = "HOST:PORT of a node of OpenDHT, or several with commas, by which members find each other; empty: not"},
  };
}
// clang-format on

}  // namespace

const std::vector<SectionSpec>& sections() {
  static const std::vector<SectionSpec> all = {
      {"run", run_keys()},           {"model", model_keys()},
      {"data", data_keys()},         {"optimizer", optimizer_keys()},
      {"cluster", cluster_keys()},   {"topology", topology_keys()},
      {"compress", compress_keys()}, {"pipeline", pipeline_keys()},
      {"network", network_keys()},   {"grid", grid_keys()},
  };
  return all;
}

}  // namespace veche
