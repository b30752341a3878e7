#include "veche/train/compression/coded_mixer.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "veche/vector_math.h"

namespace veche {
namespace {

struct Neighbours {
  std::set<NodeId> sources, readers;
};

// In any round.
Neighbours neighbours_of(int me, const Topology& topology) {
  Neighbours all;
  for (std::uint64_t round = 0; round < topology.period(); ++round) {
    const auto mixing = topology.at(round);
    for (const Weight& weight : mixing->row(me))
      if (weight.node != me) all.sources.insert(NodeId{weight.node});
    for (const int reader : mixing->readers(me)) all.readers.insert(NodeId{reader});
  }
  if (topology.period() == 0)  // drawn anew in every round, pair by pair
    for (const int node : topology.graph().neighbors(me)) {
      all.sources.insert(NodeId{node});
      all.readers.insert(NodeId{node});
    }
  return all;
}

double weight_of(const Mixing& mixing, int reader, int source) {
  const auto row = mixing.row(reader);
  const auto found = std::ranges::find(row, source, &Weight::node);
  return found == row.end() ? 0 : found->value;
}

std::vector<NodeId> listed(const std::set<NodeId>& nodes) { return {nodes.begin(), nodes.end()}; }

}  // namespace

bool is_symmetric(const Topology& topology) {
  for (std::uint64_t round = 0; round < topology.period(); ++round) {
    const auto mixing = topology.at(round);
    for (int node = 0; node < mixing->nodes(); ++node)
      for (const Weight& weight : mixing->row(node))
        if (std::abs(weight_of(*mixing, weight.node, node) - weight.value) > 1e-12) return false;
  }
  return true;
}

CodedMixer::CodedMixer(Coder& coder, Channel& channel, const Topology& topology)
    : coder_(coder), channel_(channel), fixed_(topology.period() == 1) {
  const Neighbours around = neighbours_of(channel.me().value, topology);
  if (coder.how().spec.edges_only())
    edges_.emplace(coder, channel, coder.whole(true), listed(around.sources));
  else
    copies_.emplace(coder, channel, coder.whole(true), listed(around.sources), listed(around.readers),
                    fixed_ ? Copies::Told::to_all : Copies::Told::to_each);
}

void CodedMixer::start(std::span<const float> x) {
  if (copies_) copies_->start(x);
}

void CodedMixer::mix(const Mixing& mixing, std::span<float> x, bool floats, const Active& active) {
  if (edges_ && !floats) return mix_by_power(mixing, x);
  exchange(mixing, x, floats, active);
  if (active && !active(channel_.me().value)) return;
  if (floats)
    take_floats(mixing.row(channel_.me().value), x);
  else
    go_towards(mixing, x);
}

// Where one copy of a node serves all its readers, all of them must get every code: a node with an
// active reader sends to all.
void CodedMixer::exchange(const Mixing& mixing, std::span<const float> x, bool floats, const Active& active) {
  const int me = channel_.me().value;
  const auto tells = [&](int node) { return !active || std::ranges::any_of(mixing.readers(node), active); };
  const auto told = [&](std::optional<NodeId> reader) {
    return floats ? copies_->encode_full(x, reader) : copies_->encode(x, reader);
  };
  if (tells(me) && !mixing.readers(me).empty()) {
    Message to_all;
    if (fixed_) to_all = told({});
    for (const int reader : mixing.readers(me))
      copies_->send(NodeId{reader}, fixed_ ? to_all : told(NodeId{reader}));
  }
  for (const Weight& weight : mixing.row(me)) {
    if (weight.node == me || !tells(weight.node)) continue;
    const NodeId source{weight.node};
    const Message message = channel_.expect(source);
    floats ? copies_->apply_full(source, message) : copies_->apply(source, message);
  }
}

// Gives the same bits as mixing without a codec.
void CodedMixer::take_floats(std::span<const Weight> row, std::span<float> x) {
  std::vector<std::span<const float>> inputs;
  std::vector<float> weights;
  const std::vector<float> mine(x.begin(), x.end());
  for (const Weight& weight : row) {
    inputs.push_back(weight.node == channel_.me().value ? std::span<const float>(mine)
                                                        : copies_->of(NodeId{weight.node}));
    weights.push_back(static_cast<float>(weight.value));
  }
  weighted_sum(x, inputs, weights);
}

void CodedMixer::go_towards(const Mixing& mixing, std::span<float> x) {
  const int me = channel_.me().value;
  pulls_.clear();
  for (const Weight& weight : mixing.row(me)) {
    if (weight.node == me) continue;
    const NodeId other{weight.node};
    // What this node gives to a reader it subtracts from itself; otherwise the mean would change.
    const bool both_ways = fixed_ || weight_of(mixing, weight.node, me) == weight.value;
    pulls_.push_back(
        {copies_->of(other), both_ways ? copies_->own(other) : std::span<const float>(), weight.value});
  }
  if (!fixed_)
    for (const int reader : mixing.readers(me))
      if (const double taken = weight_of(mixing, reader, me); weight_of(mixing, me, reader) != taken)
        pulls_.push_back({{}, copies_->own(NodeId{reader}), taken});
  move(x, coder_.how().gamma, pulls_);
}

void CodedMixer::mix_by_power(const Mixing& mixing, std::span<float> x) {
  const int me = channel_.me().value;
  std::vector<PowerEdges::Edge> edges;
  for (const Weight& weight : mixing.row(me))
    if (weight.node != me) edges.push_back({NodeId{weight.node}, weight.value});
  edges_->mix(edges, x);
}

void CodedMixer::add_state(SavedState& state) {
  if (copies_) copies_->add_state(state);
  if (edges_) edges_->add_state(state);
}

double CodedMixer::remembered_squared(std::span<const float> x) const {
  return copies_ ? copies_->remembered_squared(x) : 0;
}

}  // namespace veche
