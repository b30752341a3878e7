#include <algorithm>
#include <cmath>
#include <deque>

#include "veche/collectives.h"
#include "veche/errors.h"
#include "veche/group.h"
#include "veche/train/compression/copies.h"
#include "veche/train/strategies/common_keys.h"
#include "veche/train/strategies/strategies.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

// The [strategy] section.
struct MoshpitOptions {
  explicit MoshpitOptions(const Options& options)
      : every(every_in(options)),
        rounds(static_cast<std::uint64_t>(options.get<std::int64_t>("rounds"))),
        sides(options.get<std::vector<std::int64_t>>("grid", {})) {}

  const std::uint64_t every, rounds;
  const std::vector<std::int64_t> sides;  // empty: a square
};

// Nodes are laid on a virtual grid. Each round the nodes of every line along one axis average, the
// next round along the next axis. On a full grid one round of all axes is the exact mean; the sum
// over nodes is kept on any grid.
class Moshpit : public Strategy, public MeasuredStrategy {
 public:
  explicit Moshpit(StrategyContext context)
      : context_(std::move(context)), coder_(context_), options_(context_.options) {
    const std::vector<std::int64_t> sides = grid();
    std::int64_t stride = 1;
    for (std::size_t axis = 0; axis < sides.size(); ++axis) {
      add_axis(axis, stride, sides[axis]);
      stride *= sides[axis];
    }
  }

  void start() override {
    for (Copies& copies : copies_) copies.start(context_.learner.parameters());
  }

  void after_step(std::uint64_t step) override {
    if (!due(step, options_.every)) return;
    for (std::uint64_t round = 0; round < options_.rounds; ++round) {
      const std::size_t axis = (step / options_.every * options_.rounds + round) % lines_.size();
      if (coder_.on())
        average_coded(lines_[axis], copies_[axis], !coder_.codes(step));
      else
        average(lines_[axis]);
    }
  }

  SavedState state() override {
    SavedState all;
    coder_.add_state(all);
    for (Copies& copies : copies_) copies.add_state(all);
    return all;
  }
  Coding coding() const override {
    Coding all = coder_.counted();
    for (const Copies& copies : copies_)
      all.remembered_squared += copies.remembered_squared(context_.learner.parameters());
    return all;
  }

 private:
  std::vector<std::int64_t> grid() const {
    const auto nodes = static_cast<std::int64_t>(context_.nodes());
    std::vector<std::int64_t> sides = options_.sides;
    if (sides.empty()) {
      const auto side =
          std::max<std::int64_t>(2, std::llround(std::ceil(std::sqrt(static_cast<double>(nodes)))));
      sides = {side, side};
    }
    std::int64_t cells = 1;
    for (const std::int64_t side : sides) cells *= std::max<std::int64_t>(side, 0);
    if (cells < nodes)
      throw RequestError("strategy.grid has " + std::to_string(cells) + " cells for " +
                         std::to_string(nodes) + " nodes; give sides whose product is at least that");
    return sides;
  }

  void add_axis(std::size_t axis, std::int64_t stride, std::int64_t side) {
    const auto me = static_cast<std::int64_t>(context_.me());
    const std::int64_t start = me - me / stride % side * stride;
    std::vector<NodeId> members;
    for (std::int64_t k = 0; k < side; ++k)
      if (const std::int64_t node = start + k * stride; node < static_cast<std::int64_t>(context_.nodes()))
        members.push_back(NodeId{static_cast<int>(node)});
    endpoints_.push_back(make_group(context_.channel.endpoint, std::move(members)));
    lines_.push_back(context_.channel.child(axis, *endpoints_.back()));
    if (!coder_.on()) return;
    Channel& line = lines_.back();
    std::vector<NodeId> others;
    for (int node = 0; node < line.size(); ++node)
      if (node != line.me().value) others.push_back(NodeId{node});
    copies_.emplace_back(coder_, line, coder_.whole(true), others, others, Copies::Told::to_all);
  }

  void average(Channel& line) {
    const std::span<float> x = context_.learner.parameters();
    scale(x, 1.0F / static_cast<float>(line.size()));
    all_reduce(line, x);
  }

  // CHOCO on the complete graph of a line. Before compress.start the copies are the models
  // themselves.
  void average_coded(Channel& line, Copies& copies, bool floats) {
    if (line.size() == 1) return;
    const std::span<float> x = context_.learner.parameters();
    const Message told = floats ? copies.encode_full(x) : copies.encode(x);
    for (const NodeId other : copies.readers()) copies.send(other, told);
    std::vector<Pull> pulls;
    for (const NodeId other : copies.sources()) {
      const Message heard = line.expect(other);
      floats ? copies.apply_full(other, heard) : copies.apply(other, heard);
      pulls.push_back({copies.of(other), copies.own(), 1.0 / line.size()});
    }
    move(x, floats ? 1 : coder_.how().gamma, pulls);
  }

  StrategyContext context_;
  Coder coder_;
  std::deque<Copies> copies_;  // by axis; empty without a codec
  const MoshpitOptions options_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::deque<Channel> lines_;  // by axis
};

}  // namespace

StrategyInfo moshpit_strategy() {
  StrategyInfo info;
  info.name = "moshpit";
  info.rule = "x <- mean of x in small groups along one axis of a virtual grid after the other";
  info.keys = {every_key(),
               whole_key("rounds", 1, "axes at a time; as many as the grid has: the exact mean"),
               {.name = "grid",
                .kind = KeySpec::Kind::wholes,
                .fallback = {},
                .help = "sides of the grid, such as [4, 4]; square when absent",
                .least = 1}};
  info.shorthand = "every";
  info.coded.exchange = CodedExchange::copies;
  info.make = [](StrategyContext context) { return std::make_unique<Moshpit>(std::move(context)); };
  return info;
}

}  // namespace veche
