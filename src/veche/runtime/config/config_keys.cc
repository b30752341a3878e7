#include "veche/runtime/config/config_keys.h"

#include <algorithm>
#include <limits>

#include "veche/compress/codec_spec.h"
#include "veche/data/division/partition.h"
#include "veche/data/sets/source.h"
#include "veche/data/text/tokenizer.h"
#include "veche/graph/families/spec.h"
#include "veche/graph/weights/mixing.h"
#include "veche/model/zoo.h"
#include "veche/runtime/config/key_line.h"
#include "veche/train/optim/optimizer.h"

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
      key("name", &RunSettings::name, "the run's folder; generated if absent", {.members_own = true}),
      key("out", &RunSettings::out, "the folder that holds run folders", {.path = true, .members_own = true}),
      key("seed", &RunSettings::seed, "seed of all random numbers", {.least = 0, .most = 9.3e18}),
      key("epochs", &RunSettings::epochs,
          "passes over the data; 0.5 is half of one",
          {.least = 0, .above_least = true, .most = kMostEpochs, .may_change = true}),
      key("steps", &RunSettings::steps, "number of steps, instead of epochs", {.least = 1, .may_change = true}),
      key("target", &RunSettings::target,
          "stop when the averaged model is as good, such as \"perplexity < 8\", \"auc >= 0.77\", or a number for "
          "accuracy, perplexity or rmse; see docs/runs.md", {.may_change = true}),
      key("target_accuracy", &RunSettings::target_accuracy,
          "stop when the averaged model reaches it, such as 0.9; the older form of target",
          {.least = 0, .above_least = true, .may_change = true}),
      key("eval", &RunSettings::eval,
          "models to test during the run: average, all or sample:K; at the end: all, or of more than 64 "
          "nodes K models (64 for average)", {.may_change = true}),
      key("eval_every", &RunSettings::eval_every, "steps between evaluations; 0: every epoch", {.least = 0, .may_change = true}),
      key("checkpoint_every", &RunSettings::checkpoint_every, "steps between checkpoints; 0: every epoch",
          {.least = 0, .may_change = true}),
      key("trace", &RunSettings::trace,
          "write trace.json: a timeline of every node, for chrome://tracing or ui.perfetto.dev",
          {.may_change = true}),
  }};
}

SectionSpec model_section() {
  const Line<ModelSettings> key{&Settings::model};
  return {"model", {
      key("name", &ModelSettings::name, "see `veche model ls`; any wrn-D-K too", {.words = model_names}),
      key("classes", &ModelSettings::classes, "number of classes; default: from the data", {.least = 2, .most = 1e6}),
      key("norm", &ModelSettings::norm, "normalisation: batch, group:G, layer or none; default: the model's own"),
      key("stem", &ModelSettings::stem,
          "how a network for 224x224 pixels begins: small keeps the resolution, auto does up to 64 pixels"),
      key("dropout", &ModelSettings::dropout,
          "probability; default: the model's own", {.least = 0, .most = 1, .below_most = true}),
      key("stochastic_depth", &ModelSettings::stochastic_depth,
          "probability that the last residual branch is left out; default: the model's own",
          {.least = 0, .most = 1, .below_most = true}),
      key("label_smoothing", &ModelSettings::label_smoothing,
          "fraction of each label that is spread over all classes in training",
          {.least = 0, .most = 1, .below_most = true}),
      key("hidden", &ModelSettings::hidden,
          "widths of mlp's hidden layers", {.least = 1, .most = 1e9, .may_be_empty = true}),
      key("layers", &ModelSettings::layers, "gpt: number of blocks", {.least = 1, .most = 10'000}),
      key("heads", &ModelSettings::heads, "gpt: heads of attention in each block", {.least = 1, .most = 10'000}),
      key("width", &ModelSettings::width, "gpt: floats per token between the blocks", {.least = 1, .most = 1e6}),
      key("context", &ModelSettings::context, "gpt: the most tokens it sees", {.least = 1, .most = 1e6}),
      key("bias", &ModelSettings::bias, "gpt: whether its layers and norms have biases; default: only gpt2"),
      key("tied", &ModelSettings::tied,
          "gpt: whether the output layer uses the embedding of the tokens; default: true"),
      key("file", &ModelSettings::file, "torchscript: the module's file, see docs/own-models.md", {.path = true}),
      key("init", &ModelSettings::init, "a safetensors file with the weights to start from",
          {.path = true, .of_run = true}),
      key("prune", &ModelSettings::prune,
          "fraction of weights to prune: the smallest become zero and stay zero",
          {.least = 0, .most = 1, .below_most = true}),
      key("prune_at", &ModelSettings::prune_at, "epoch of the cut", {.least = 0, .most = kMostEpochs}),
      key("prune_until", &ModelSettings::prune_until,
          "cut gradually until this epoch", {.least = 0, .most = kMostEpochs}),
      key("device", &ModelSettings::device,
          "where the network computes: the processor, or the CUDA devices that a process sees, node by node",
          {.members_own = true, .of_run = true}),
      key("threads", &ModelSettings::threads,
          "threads that compute one node's batch, on as many cores; 0: one",
          {.least = 0, .most = 1024, .members_own = true, .may_change = true, .of_run = true}),
      key("a", &ModelSettings::a, "quadratic: curvature of each node, number or list", {.kind = Kind::list}),
      key("b", &ModelSettings::b, "quadratic: optimum of each node, number or list", {.kind = Kind::list}),
      key("length", &ModelSettings::length, "vector: number of floats", {.least = 1, .most = 1e12}),
      key("start", &ModelSettings::start,
          "initial parameters of the nodes; different: each node draws its own",
          {.of_run = true}),
      key("x0", &ModelSettings::x0, "quadratic: initial parameters of all nodes"),
  }};
}

SectionSpec data_section() {
  const Line<DataSettings> key{&Settings::data};
  return {"data", {
      key("name", &DataSettings::name,
          "a known data set; `fashion-mnist` when neither this nor path is given", {.choices = data_names()}),
      key("path", &DataSettings::path,
          "path of the data: a known set's files, or your own folder, archive or packed set "
          "(docs/data.md); with partition = folders one path per node, or one folder with a folder or file "
          "per node", {.path = true, .members_own = true}),
      key("folder", &DataSettings::folder, "where `veche data fetch` puts known sets",
          {.path = true, .members_own = true}),
      key("size", &DataSettings::size,
          "image files: side of the images in pixels; resizes the shorter side and crops the centre",
          {.least = 1, .most = 4096}),
      key("tokenizer", &DataSettings::tokenizer,
          "text: what a token is: characters (the default), bytes, sentencepiece:FILE or "
          "sentencepiece:train:VOCAB", {.words = tokenizer_words}),
      key("test", &DataSettings::test,
          "the test set. Text: the share at the end of each file [0.1], or the path of another text. Tables: a "
          "share of the rows [0.1], another file, or an expression on a column, such as \"ID % 5 == 0\"",
          {.follows = true}),
      key("bad", &DataSettings::bad,
          "damaged samples: end the run, or replace them by another sample of the class; of a text, "
          "drop broken and unknown characters"),
      key("batch", &DataSettings::batch, "samples per node and step", {.least = 1, .most = 1e9}),
      key("accumulate", &DataSettings::accumulate,
          "batches per node and step: their gradients are summed up before the step, in the memory of one",
          {.least = 1, .most = 1e6}),
      key("global_batch", &DataSettings::global_batch,
          "samples per step of all nodes together, however many they are: each takes a share by its "
          "samples, in passes of at most `batch`", {.least = 1, .most = 1e9}),
      key("partition", &DataSettings::partition,
          "how samples are divided: iid, proportional (to cluster.speed; the default where that is given), "
          "sizes:[..], contiguous, dirichlet:ALPHA, classes:K, folders", {.follows = true, .words = partition_names}),
      key("uneven", &DataSettings::uneven,
          "nodes with fewer batches than others: keep mixing until the next epoch, or start their next "
          "epoch"),
      key("shuffle", &DataSettings::shuffle,
          "exchange of samples before each epoch: local keeps them, partial:Q exchanges the fraction Q, "
          "global divides all again"),
      key("augment", &DataSettings::augment,
          "random changes of training images: none, or crop:P, flip, cutout:S, resized-crop joined by +; "
          "default: the usual ones for the set"),
      key("workers", &DataSettings::workers,
          "threads that prepare batches ahead of the steps; 0: each node prepares its batch when it needs "
          "it",
          {.least = 0, .most = 256, .members_own = true}),
      key("shape", &DataSettings::shape, "synthetic: channels, height, width"),
      key("samples", &DataSettings::samples, "synthetic: training samples", {.least = 1}),
      key("test_samples", &DataSettings::test_samples, "synthetic: test samples", {.least = 1}),
      key("classes", &DataSettings::classes, "synthetic: classes", {.least = 2}),
      key("noise", &DataSettings::noise, "synthetic: noise over the pattern", {.least = 0}),
      key("target", &DataSettings::target, "tables: the column to predict"),
      key("ignore", &DataSettings::ignore, "tables: columns that the model does not see"),
      key("categories", &DataSettings::categories, "tables: columns that hold categories, also if they are numbers"),
      key("numbers", &DataSettings::numbers, "tables: columns that hold numbers"),
      key("dates", &DataSettings::dates, "tables: columns that hold dates"),
      key("task", &DataSettings::task,
          "tables: whether the target is a class or a number; default: by the target's values",
          {.choices = {"classification", "regression"}}),
      key("class_weights", &DataSettings::class_weights,
          "weight of each class in the training loss: balanced (the same sum for each class), or a list of "
          "numbers in the order of the classes"),
  }};
}

SectionSpec optimizer_section() {
  const Line<OptimizerSettings> key{&Settings::optimizer};
  return {"optimizer", {
      key("name", &OptimizerSettings::name, "sgd, adam, adamw, lars or muon; default for text: adamw", {.choices = optimizer_names()}),
      key("lr", &OptimizerSettings::lr,
          "learning rate: sgd 0.05, adam, adamw and muon 0.001, lars 1",
          {.follows = true, .least = 0, .most = std::numeric_limits<float>::max()}),
      key("momentum", &OptimizerSettings::momentum, "sgd, lars 0, muon 0.95", {.follows = true, .least = 0}),
      key("nesterov", &OptimizerSettings::nesterov, "Nesterov's form: sgd false, muon true", {.follows = true}),
      key("beta1", &OptimizerSettings::beta1, "adam", {.least = 0, .most = 1, .below_most = true}),
      key("beta2", &OptimizerSettings::beta2, "adam 0.999; text 0.99",
          {.follows = true, .least = 0, .most = 1, .below_most = true}),
      key("epsilon", &OptimizerSettings::epsilon, "adam", {.least = 0}),
      key("weight_decay", &OptimizerSettings::weight_decay, "weight decay coefficient: 0; text 0.1",
          {.follows = true, .least = 0}),
      key("decay_norms", &OptimizerSettings::decay_norms,
          "false: weight decay (and lars's ratio) spare norms and biases; default: true, for text false",
          {.follows = true}),
      key("trust", &OptimizerSettings::trust,
          "lars: trust coefficient (step length of a layer, relative to the norm of its weights)",
          {.least = 0, .above_least = true}),
      key("clip", &OptimizerSettings::clip, "maximum norm of a gradient; 0: no limit; default: 0, for text 1",
          {.follows = true, .least = 0}),
      key("schedule", &OptimizerSettings::schedule, "learning-rate schedule"),
      key("milestones", &OptimizerSettings::milestones,
          "multi-step: epochs at which the rate is multiplied by gamma",
          {.least = 0, .most = kMostEpochs, .may_be_empty = true}),
      key("gamma", &OptimizerSettings::gamma, "multi-step: factor", {.least = 0}),
      key("warmup_epochs", &OptimizerSettings::warmup_epochs,
          "epochs of linear warm-up", {.least = 0, .most = kMostEpochs}),
      key("warmup_steps", &OptimizerSettings::warmup_steps, "the same in steps", {.least = 0}),
      key("lr_end", &OptimizerSettings::lr_end, "cosine: learning rate at the end",
          {.least = 0, .most = std::numeric_limits<float>::max()}),
      key("scale_lr", &OptimizerSettings::scale_lr, "multiply the rate by the number of nodes"),
  }};
}

SectionSpec cluster_section() {
  const Line<ClusterSettings> key{&Settings::cluster};
  return {"cluster", {
      key("nodes", &ClusterSettings::nodes,
          "number of nodes; default under mpirun: one per rank",
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
          "qt: a node trains at every qt-th step; a number, or one per node; default: from speed"),
      key("mix_every", &ClusterSettings::mix_every,
          "qc: a node mixes after every qc-th step (consensus); a number, or one per node"),
      key("rest", &ClusterSettings::rest,
          "sleep after computing so that node speeds match cluster.speed; default: only if all nodes share "
          "one machine"),
      key("stall", &ClusterSettings::stall,
          "random pauses after computing: probability and maximum seconds, such as [0.01, 0.5]"),
      key("lose", &ClusterSettings::lose,
          "probability that the result of a node's step is lost",
          {.least = 0, .most = 1, .below_most = true}),
      key("work", &ClusterSettings::work,
          "asynchronous nodes: share the run's steps (faster nodes make more), or make equally many"),
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
          "compression of messages: none, or a codec of docs/compression.md such as topk:0.01",
          {.words = codec_words}),
      key("error_feedback", &CompressSettings::error_feedback,
          "keep what a code leaves out and add it to the next message; default: on for biased codecs"),
      key("gamma", &CompressSettings::gamma, "CHOCO step size; auto: depends on the codec"),
      key("small", &CompressSettings::small, "tensors with fewer floats are sent uncompressed", {.least = 0}),
      key("start", &CompressSettings::start,
          "epochs without compression at the start (steps without a data set)", {.least = 0, .most = kMostEpochs}),
      key("lossless", &CompressSettings::lossless, "lossless packing of codes"),
      key("vote", &CompressSettings::vote, "sign with allreduce: majority vote"),
  }, {.follows_strategy = true}};
}

SectionSpec pipeline_section() {
  const Line<PipelineSettings> key{&Settings::pipeline};
  return {"pipeline", {
      key("stages", &PipelineSettings::stages,
          "pipeline stages, each on its own node; 1: no pipeline",
          {.least = 1, .most = kMostNodes, .may_change = true}),
      key("micro_batches", &PipelineSettings::micro_batches,
          "micro-batches per batch; default: 4 per stage, at most the samples of the batch",
          {.follows = true, .least = 1}),
      key("schedule", &PipelineSettings::schedule,
          "order of forward and backward passes", {.may_change = true}),
      key("cut", &PipelineSettings::cut,
          "how to cut: equal times (measured; in virtual time operations over speed), equal parameters, "
          "equal numbers of layers, or a list with the first block of each stage but the first",
          {.choices = words_of<PipelineCut::By>(), .may_change = true}),
      key("recompute", &PipelineSettings::recompute,
          "keep only a stage's input and repeat the forward pass before the backward pass: true, false or "
          "except-last",
          {.choices = {"except-last"}, .may_change = true}),
  }, {.is_used = &Settings::is_cut}};
}

SectionSpec network_section() {
  const Line<NetworkSettings> key{&Settings::network};
  return {"network", {
      key("platform", &NetworkSettings::platform,
          "a SimGrid platform file; its hosts, sorted by name, are the nodes", {.path = true}),
      key("bandwidth", &NetworkSettings::bandwidth,
          "bandwidth of a node's link in each direction, such as \"100Mbps\"; one value, or a list with "
          "one per node"),
      key("latency", &NetworkSettings::latency,
          "latency of a node's link, such as \"5ms\"; one value, or a list with one per node"),
      key("sites", &NetworkSettings::sites,
          "groups of nodes behind a shared link: [{nodes = 8, bandwidth = .., latency = .., uplink = \"100Mbps\", "
          "uplink_latency = ..}, ..]", {.kind = Kind::tables}),
      key("shape", &NetworkSettings::shape,
          "star: all links meet in the centre; full: a link between every two nodes"),
      key("model", &NetworkSettings::model,
          "SimGrid's TCP model: LV08 (calibrated), CM02 (bandwidth and latency only)"),
      key("crosstraffic", &NetworkSettings::crosstraffic,
          "acknowledgements take 5 % of the reverse direction"),
      key("duplex", &NetworkSettings::duplex,
          "large messages of two nodes to each other go both ways at once; false: in turn, as measured with Open "
          "MPI over TCP"),
      key("jitter", &NetworkSettings::jitter, "maximum random delay of each message"),
      key("loss_of_nodes", &NetworkSettings::loss_of_nodes,
          "host failures: {node = 3, at = \"10s\", for = \"5s\"}, permanent without for; random: {every = "
          "\"1h\", for = \"1min\"}, for one node or all; or a list", {.kind = Kind::tables}),
      key("speed", &NetworkSettings::speed,
          "operations per second of a node; one number, or a list; default: 1e10, or the platform's"),
      key("seconds_per_step", &NetworkSettings::seconds_per_step,
          "measured compute time of a step, instead of counted operations", {.least = 0, .most = 1e9}),
      key("learning", &NetworkSettings::learning,
          "real: compute gradients; none: simulate only messages and time"),
  }, {.is_used = &Settings::is_simulated}};
}

SectionSpec grid_section() {
  const Line<GridSettings> key{&Settings::grid};
  return {"grid", {
      key("admit", &GridSettings::admit,
          "whether an invited machine joins at once, or waits for `veche grid members RUN --admit ID`"),
      key("wait_for", &GridSettings::wait_for,
          "members that start together: training starts when this many have joined", {.least = 1, .most = 1024}),
      key("wait_limit", &GridSettings::wait_limit, "the longest time to wait for them; then the member ends"),
      key("name", &GridSettings::name, "name of this member for people; default: the host's name", {.members_own = true}),
      key("partition", &GridSettings::partition,
          "members cut off from the majority: wait, or continue as a separate run"),
      key("data", &GridSettings::data,
          "each member trains on its own data.path, or all members share one set that is divided among them"),
      key("weight", &GridSettings::weight,
          "weight of members: by samples, or equal (members with fewer samples start their next epoch)"),
      key("listen", &GridSettings::listen, "HOST:PORT where this member can be reached; port 0: any",
          {.members_own = true}),
      key("address", &GridSettings::address, "HOST:PORT announced to others; default: this host's addresses",
          {.members_own = true}),
      key("relay", &GridSettings::relay,
          "forward traffic between members that cannot reach each other; encrypted end to end",
          {.members_own = true}),
      key("multicast", &GridSettings::multicast,
          "find members on the local network by multicast when known addresses fail",
          {.members_own = true}),
      key("upnp", &GridSettings::upnp, "request a port from the router by UPnP",
          {.members_own = true}),
      key("dht", &GridSettings::dht,
          "HOST:PORT of an OpenDHT node, or several with commas; empty: not used",
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
