#include "veche/runtime/config/config_keys.h"

#include <algorithm>
#include <limits>

#include "veche/compress/codec_spec.h"
#include "veche/data/division/partition.h"
#include "veche/data/sets/source.h"
#include "veche/graph/families/spec.h"
#include "veche/graph/weights/mixing.h"
#include "veche/model/zoo.h"
#include "veche/runtime/config/key_line.h"
#include "veche/train/optim/optimizer.h"
#include "veche/train/optim/rate_schedule.h"
#include "veche/train/pipeline/schedule.h"

// The table of keys. A line: the key's name, the member of the section's struct (veche/settings.h)
// that it fills, its description, and what its value may be. The member gives the type and the
// default.

namespace veche {
namespace {

using Kind = KeySpec::Kind;

constexpr double kMostNodes = 1e5;
constexpr double kMostEpochs = 1e9;

std::vector<std::string> graph_words() { return {spec_families().begin(), spec_families().end()}; }
std::vector<std::string> weight_words() { return {weight_rules().begin(), weight_rules().end()}; }

// "topk:" for "topk:F": the user types the number.
std::vector<std::string> codec_words() {
  std::vector<std::string> names;
  for (const CodecHelp& codec : codec_help())
    names.push_back(codec.word.substr(0, std::min(codec.word.find(':'), codec.word.size() - 1) + 1));
  return names;
}

// clang-format off
SectionSpec run_section() {
  const Line<RunSettings> key{&Settings::run};
  return {"run", {
      key("name", &RunSettings::name, "the run's folder; made up when absent", {.members_own = true}),
      key("out", &RunSettings::out, "where runs' folders are", {.path = true, .members_own = true}),
      key("seed", &RunSettings::seed, "fixes everything random", {.least = 0, .most = 9.3e18}),
      key("epochs", &RunSettings::epochs,
          "passes over the data; 0.5 is half of one",
          {.least = 0, .above_least = true, .most = kMostEpochs, .may_change = true}),
      key("steps", &RunSettings::steps, "instead of epochs", {.least = 1, .may_change = true}),
      key("target_accuracy", &RunSettings::target_accuracy,
          "stop when the averaged model reaches it, such as 0.9",
          {.least = 0, .above_least = true, .may_change = true}),
      key("eval", &RunSettings::eval,
          "whose models are tested on the way: average, all or sample:K; at the end all, of more than 64 nodes 64, "
          "K or all", {.may_change = true}),
      key("eval_every", &RunSettings::eval_every, "steps; 0: every epoch", {.least = 0, .may_change = true}),
      key("checkpoint_every", &RunSettings::checkpoint_every, "steps; 0: every epoch",
          {.least = 0, .may_change = true}),
      key("trace", &RunSettings::trace,
          "trace.json in the run's folder: what every node did when, for chrome://tracing or ui.perfetto.dev",
          {.may_change = true}),
  }};
}

SectionSpec model_section() {
  const Line<ModelSettings> key{&Settings::model};
  return {"model", {
      key("name", &ModelSettings::name, "see `veche model ls`; any wrn-D-K too", {.words = model_names}),
      key("classes", &ModelSettings::classes, "as many as the data have", {.least = 2, .most = 1e6}),
      key("norm", &ModelSettings::norm, "normalisation: batch, group:G, layer or none; the model's own when absent"),
      key("stem", &ModelSettings::stem,
          "how a network for 224x224 pixels begins: small keeps the resolution, auto does up to 64 pixels",
          {.choices = {"auto", "small", "large"}}),
      key("dropout", &ModelSettings::dropout,
          "probability; the model's own when absent", {.least = 0, .most = 1, .below_most = true}),
      key("stochastic_depth", &ModelSettings::stochastic_depth,
          "probability that the last residual branch is left out; the model's own when absent",
          {.least = 0, .most = 1, .below_most = true}),
      key("label_smoothing", &ModelSettings::label_smoothing,
          "this much of a label is spread over all classes in training", {.least = 0, .most = 1, .below_most = true}),
      key("hidden", &ModelSettings::hidden,
          "widths of mlp's hidden layers", {.least = 1, .most = 1e9, .may_be_empty = true}),
      key("file", &ModelSettings::file, "torchscript: the module's file, see docs/own-models.md", {.path = true}),
      key("init", &ModelSettings::init, "a safetensors file with the weights to start from",
          {.path = true, .of_run = true}),
      key("prune", &ModelSettings::prune,
          "this part of the weights, the smallest, becomes zero and stays so",
          {.least = 0, .most = 1, .below_most = true}),
      key("prune_at", &ModelSettings::prune_at, "epochs before the cut", {.least = 0, .most = kMostEpochs}),
      key("prune_until", &ModelSettings::prune_until,
          "cut gradually until this epoch", {.least = 0, .most = kMostEpochs}),
      key("device", &ModelSettings::device,
          "where the network computes: the processor, or the CUDA devices that a process sees, node by node",
          {.choices = {"cpu", "cuda"}, .members_own = true, .of_run = true}),
      key("threads", &ModelSettings::threads,
          "that compute a node's batch together, on as many cores; 0: one",
          {.least = 0, .most = 1024, .members_own = true, .may_change = true, .of_run = true}),
      key("a", &ModelSettings::a, "quadratic: curvature of each node, number or list", {.kind = Kind::list}),
      key("b", &ModelSettings::b, "quadratic: optimum of each node, number or list", {.kind = Kind::list}),
      key("length", &ModelSettings::length, "vector: how many floats", {.least = 1, .most = 1e12}),
      key("start", &ModelSettings::start,
          "initial parameters of the nodes; different: each node draws its own",
          {.of_run = true}),
      key("x0", &ModelSettings::x0, "quadratic: where all nodes start"),
  }};
}

SectionSpec data_section() {
  const Line<DataSettings> key{&Settings::data};
  return {"data", {
      key("name", &DataSettings::name,
          "a known data set; `fashion-mnist` when neither this nor path is given", {.choices = data_names()}),
      key("path", &DataSettings::path,
          "where its files are, or a set of your own: a folder, an archive or a packed set (docs/data.md); with "
          "partition = folders one path a node, or a folder of such", {.path = true, .members_own = true}),
      key("folder", &DataSettings::folder, "where `veche data fetch` puts known sets",
          {.path = true, .members_own = true}),
      key("size", &DataSettings::size,
          "image files: the side of the images wanted; the shorter side is resized to it and the middle taken",
          {.least = 1, .most = 4096}),
      key("bad", &DataSettings::bad,
          "a damaged sample ends the run, or another of its class takes its place", {.choices = {"refuse", "skip"}}),
      key("batch", &DataSettings::batch, "samples per node and step", {.least = 1, .most = 1e9}),
      key("partition", &DataSettings::partition,
          "how samples are divided: iid, proportional (to cluster.speed; the default where that is given), "
          "sizes:[..], dirichlet:ALPHA, classes:K, folders", {.follows = true, .words = partition_names}),
      key("uneven", &DataSettings::uneven,
          "nodes with fewer batches than others go on mixing until the next epoch, or begin theirs anew"),
      key("shuffle", &DataSettings::shuffle,
          "what nodes do with their samples before each epoch: local keeps them, partial:Q exchanges the part Q "
          "with others, global divides all anew"),
      key("augment", &DataSettings::augment,
          "random changes of training images: none, or of crop:P, flip, cutout:S, resized-crop joined by +; "
          "default: what is customary for the set"),
      key("workers", &DataSettings::workers,
          "threads that prepare batches ahead of the steps; 0: each node its own when it needs them",
          {.least = 0, .most = 256, .members_own = true}),
      key("shape", &DataSettings::shape, "synthetic: channels, height, width"),
      key("samples", &DataSettings::samples, "synthetic: training samples", {.least = 1}),
      key("test_samples", &DataSettings::test_samples, "synthetic: test samples", {.least = 1}),
      key("classes", &DataSettings::classes, "synthetic: classes", {.least = 2}),
      key("noise", &DataSettings::noise, "synthetic: noise over the pattern", {.least = 0}),
  }};
}

SectionSpec optimizer_section() {
  const Line<OptimizerSettings> key{&Settings::optimizer};
  return {"optimizer", {
      key("name", &OptimizerSettings::name, "sgd, adam, adamw or lars", {.choices = optimizer_names()}),
      key("lr", &OptimizerSettings::lr,
          "learning rate: sgd 0.05, adam 0.001, lars 1",
          {.follows = true, .least = 0, .most = std::numeric_limits<float>::max()}),
      key("momentum", &OptimizerSettings::momentum, "sgd, lars", {.least = 0}),
      key("nesterov", &OptimizerSettings::nesterov, "sgd: Nesterov's form"),
      key("beta1", &OptimizerSettings::beta1, "adam", {.least = 0, .most = 1, .below_most = true}),
      key("beta2", &OptimizerSettings::beta2, "adam", {.least = 0, .most = 1, .below_most = true}),
      key("epsilon", &OptimizerSettings::epsilon, "adam", {.least = 0}),
      key("weight_decay", &OptimizerSettings::weight_decay, "pull towards zero", {.least = 0}),
      key("decay_norms", &OptimizerSettings::decay_norms,
          "false: weight decay (and lars's ratio) spare norms and biases"),
      key("trust", &OptimizerSettings::trust,
          "lars: how far a layer goes, in lengths of its weights", {.least = 0, .above_least = true}),
      key("clip", &OptimizerSettings::clip, "largest norm of a gradient; 0: any", {.least = 0}),
      key("schedule", &OptimizerSettings::schedule, "of the learning rate", {.choices = schedule_names()}),
      key("milestones", &OptimizerSettings::milestones,
          "multi-step: epochs at which it drops", {.least = 0, .most = kMostEpochs, .may_be_empty = true}),
      key("gamma", &OptimizerSettings::gamma, "multi-step: factor", {.least = 0}),
      key("warmup_epochs", &OptimizerSettings::warmup_epochs,
          "linear rise at the start", {.least = 0, .most = kMostEpochs}),
      key("scale_lr", &OptimizerSettings::scale_lr, "multiply the rate by the number of nodes"),
  }};
}

SectionSpec cluster_section() {
  const Line<ClusterSettings> key{&Settings::cluster};
  return {"cluster", {
      key("nodes", &ClusterSettings::nodes,
          "how many; under mpirun one a rank, or more",
          {.least = 1, .most = kMostNodes, .members_own = true, .may_change = true}),
      key("transport", &ClusterSettings::transport,
          "the engine; auto: mpi when started by mpirun or srun, else threads; simulated: virtual time, "
          "docs/simulation.md", {.may_change = true}),
      key("slots", &ClusterSettings::slots,
          "nodes computing at once; 0: the cores",
          {.least = 0, .most = kMostNodes, .members_own = true, .may_change = true}),
      key("speed", &ClusterSettings::speed,
          "relative speed of each node, such as [1, 1, 0.5]", {.least = 0, .above_least = true}),
      key("train_every", &ClusterSettings::train_every,
          "qt: a node trains at every qt-th step; a number, or one a node; follows from speed"),
      key("mix_every", &ClusterSettings::mix_every,
          "qc: a node mixes after every qc-th step (consensus); a number, or one a node"),
      key("rest", &ClusterSettings::rest,
          "nodes sleep after computing, so that they are as unequal as speed says; by default where they share one "
          "machine, and not on several hosts, which are as quick as they are"),
      key("stall", &ClusterSettings::stall,
          "random pauses after computing: probability and longest seconds, such as [0.01, 0.5]"),
      key("lose", &ClusterSettings::lose,
          "probability that what a node has computed is lost", {.least = 0, .most = 1, .below_most = true}),
      key("work", &ClusterSettings::work,
          "asynchronous nodes: quick ones make more of the steps, or all make as many",
          {.choices = {"shared", "equal"}}),
  }};
}

SectionSpec topology_section() {
  const Line<TopologySettings> key{&Settings::topology};
  return {"topology", {
      key("graph", &TopologySettings::graph, "see docs/topologies.md", {.may_change = true, .words = graph_words}),
      key("weights", &TopologySettings::weights, "see docs/topologies.md",
          {.may_change = true, .words = weight_words}),
  }};
}

SectionSpec compress_section() {
  const Line<CompressSettings> key{&Settings::compress};
  return {"compress", {
      key("codec", &CompressSettings::codec,
          "how what nodes send is said in fewer bytes: none, or one of docs/compression.md such as topk:0.01",
          {.words = codec_words}),
      key("error_feedback", &CompressSettings::error_feedback,
          "codecs remember what they leave out and add it to what is sent next; by default where they are biased"),
      key("gamma", &CompressSettings::gamma,
          "of the way between copies of models, how much is gone in a round (CHOCO); auto: the codec's own"),
      key("small", &CompressSettings::small, "tensors with fewer floats travel as they are", {.least = 0}),
      key("start", &CompressSettings::start,
          "epochs without the codec first; steps where there is no data set", {.least = 0, .most = kMostEpochs}),
      key("lossless", &CompressSettings::lossless, "packs codes once more", {.choices = {"none", "zstd"}}),
      key("vote", &CompressSettings::vote, "sign with allreduce: the sign that most nodes have"),
  }, {.follows_strategy = true}};
}

SectionSpec pipeline_section() {
  const Line<PipelineSettings> key{&Settings::pipeline};
  return {"pipeline", {
      key("stages", &PipelineSettings::stages,
          "parts that the model's layers are cut into, each on a node of its own; 1: every node has the whole model",
          {.least = 1, .most = kMostNodes, .may_change = true}),
      key("micro_batches", &PipelineSettings::micro_batches,
          "parts of a batch that follow each other through the stages; by default 4 a stage, as far as the batch "
          "has samples", {.follows = true, .least = 1}),
      key("schedule", &PipelineSettings::schedule,
          "in which order they go forward and back", {.choices = schedule_words(), .may_change = true}),
      key("cut", &PipelineSettings::cut,
          "where: so that stages take the same time (measured; operations over speed in virtual time), have as "
          "many parameters, or as many layers; or a list with the first block of each stage but the first",
          {.choices = {"time", "parameters", "layers"}, .may_change = true}),
      key("recompute", &PipelineSettings::recompute,
          "stages keep only what came in, and go forward again before they go back: true, false, or except-last",
          {.choices = {"except-last"}, .may_change = true}),
  }, {.is_used = &Settings::is_cut}};
}

SectionSpec network_section() {
  const Line<NetworkSettings> key{&Settings::network};
  return {"network", {
      key("platform", &NetworkSettings::platform,
          "a file of SimGrid's, whose hosts the nodes are, in the order of their names", {.path = true}),
      key("bandwidth", &NetworkSettings::bandwidth,
          "of a node's link, each way, such as \"100Mbps\"; one for all, or a list with one a node"),
      key("latency", &NetworkSettings::latency, "of a node's link, such as \"5ms\"; one, or a list"),
      key("sites", &NetworkSettings::sites,
          "groups of nodes behind a shared link: [{nodes = 8, bandwidth = .., latency = .., uplink = \"100Mbps\", "
          "uplink_latency = ..}, ..]", {.kind = Kind::tables}),
      key("shape", &NetworkSettings::shape,
          "all links meet in the middle, or every two nodes have one of their own", {.choices = {"star", "full"}}),
      key("model", &NetworkSettings::model,
          "of TCP: LV08 was fitted to measurements, CM02 is bandwidth and latency alone",
          {.choices = {"LV08", "CM02"}}),
      key("crosstraffic", &NetworkSettings::crosstraffic, "what flows one way takes 5 % of the way back"),
      key("duplex", &NetworkSettings::duplex,
          "large messages of two nodes to each other go both ways at once; false: in turn, as measured with Open "
          "MPI over TCP"),
      key("jitter", &NetworkSettings::jitter, "each message leaves up to so much later; the seed decides"),
      key("loss_of_nodes", &NetworkSettings::loss_of_nodes,
          "hosts that go: {node = 3, at = \"10s\", for = \"5s\"}, for good without `for`; or at random, {every = "
          "\"1h\", for = \"1min\"}, one node or all; or a list", {.kind = Kind::tables}),
      key("speed", &NetworkSettings::speed,
          "operations a second that a node computes; one number, or a list; 1e10, or the platform's"),
      key("seconds_per_step", &NetworkSettings::seconds_per_step,
          "what a step's computing takes, measured, instead of counting operations", {.least = 0, .most = 1e9}),
      key("learning", &NetworkSettings::learning,
          "real: gradients are computed as well; none: only messages and time"),
  }, {.is_used = &Settings::is_simulated}};
}

SectionSpec grid_section() {
  const Line<GridSettings> key{&Settings::grid};
  return {"grid", {
      key("admit", &GridSettings::admit,
          "whether an invited machine joins at once, or waits for `veche grid members RUN --admit ID`",
          {.choices = {"invited", "approved"}}),
      key("wait_for", &GridSettings::wait_for,
          "members that start together: training starts when this many have joined", {.least = 1, .most = 1024}),
      key("wait_limit", &GridSettings::wait_limit, "the longest time to wait for them; a member then ends"),
      key("name", &GridSettings::name, "of this member, for people; the host's when empty", {.members_own = true}),
      key("partition", &GridSettings::partition,
          "members that are cut off from most others wait for them, or go on as a run of their own",
          {.choices = {"wait", "fork"}}),
      key("data", &GridSettings::data,
          "each member trains on what its data.path holds, or all have one set, which is divided among them"),
      key("weight", &GridSettings::weight,
          "a member counts by its samples, or all count the same and those with fewer begin theirs anew",
          {.choices = {"samples", "equal"}}),
      key("listen", &GridSettings::listen, "HOST:PORT where this member can be reached; port 0: any",
          {.members_own = true}),
      key("address", &GridSettings::address, "HOST:PORT that others are told; those of this host when absent",
          {.members_own = true}),
      key("relay", &GridSettings::relay,
          "this member joins others that cannot reach each other; all that it forwards is encrypted from end to end",
          {.members_own = true}),
      key("multicast", &GridSettings::multicast,
          "members on the local network find each other where the addresses that they know do not answer",
          {.members_own = true}),
      key("upnp", &GridSettings::upnp, "asks the router, where one answers, for a port that leads to this member",
          {.members_own = true}),
      key("dht", &GridSettings::dht,
          "HOST:PORT of a node of OpenDHT, or several with commas, by which members find each other; empty: not",
          {.members_own = true}),
  }, {.only_changed = true}};
}

// clang-format on

}  // namespace

const std::vector<SectionSpec>& sections() {
  static const std::vector<SectionSpec> all = {
      run_section(),      model_section(),    data_section(),     optimizer_section(), cluster_section(),
      topology_section(), compress_section(), pipeline_section(), network_section(),   grid_section()};
  return all;
}

const SectionKey* find_key(std::string_view name) {
  for (const SectionSpec& section : sections())
    for (const SectionKey& key : section.keys)
      if (name == section.name + "." + key.name) return &key;
  return nullptr;
}

std::vector<std::string> keys_with(bool SectionKey::*flag) {
  std::vector<std::string> names;
  for (const SectionSpec& section : sections())
    for (const SectionKey& key : section.keys)
      if (key.*flag) names.push_back(section.name + "." + key.name);
  return names;
}

const SectionSpec& find_section(std::string_view name) {
  return *std::ranges::find(sections(), name, &SectionSpec::name);
}

}  // namespace veche
