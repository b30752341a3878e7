#include "veche/train/loop/progress_exchange.h"

#include <algorithm>

#include "veche/packed.h"
#include "veche/train/loop/membership.h"
#include "veche/train/loop/observer.h"

namespace veche {
namespace {

constexpr std::uint64_t kMostStepsBetweenReports = 1000;
// The first step may take no time, if its gradient was there before: it does not predict the time
// of the following ones.
constexpr std::uint64_t kMostGrowth = 32;
constexpr int kSquareOfAFew = 32;

}  // namespace

ProgressExchange::ProgressExchange(const LoopParts& loop)
    : node_(loop.node), evaluator_(loop.evaluator), records_(loop.node.membership.records()) {}

bool ProgressExchange::after_step() {
  const Time start = node_.links.now();
  bool stop = false;
  if (!under_way_ && node_.counters.step >= next_) begin();
  if (under_way_ && !answered_ && node_.counters.step >= begun_ + late_) answer();
  if (under_way_ && node_.counters.step >= begun_ + 2 * late_) stop = read_answer();
  // Nodes whose strategy never communicates wait for each other here: it counts as training time.
  node_.counters.training += node_.links.now() - start;
  return stop;
}

void ProgressExchange::settle() {
  if (!under_way_) return;
  if (!answered_) answer();
  read_answer();
}

void ProgressExchange::begin() {
  mine_ = evaluator_.take_progress();
  steps_ = node_.counters.step - begun_;
  took_ = node_.counters.training - trained_;
  begun_ = node_.counters.step;
  trained_ = node_.counters.training;
  // With long steps a user's interrupt would wait for one more step.
  late_ = answer_.seconds_per_step < kSecondsBetweenReports ? 1 : 0;
  under_way_ = true;
  answered_ = !node_.links.first();
  if (!node_.links.first()) channel().send(NodeId{0}, channel().pool.copy_of_item(mine_));
}

void ProgressExchange::answer() {
  std::vector<ProgressReport> all{mine_};
  for (int node = 1; node < channel().size(); ++node)
    all.push_back(unpack_item<ProgressReport>(channel().expect(NodeId{node}), known_as(NodeId{node}),
                                              "a progress report"));
  answer_ = {std::max(took_.count() / static_cast<double>(steps_), 1e-6),
             std::ranges::any_of(all, &ProgressReport::interrupted)};
  const Progress progress = summed(all, begun_, took_.count(), node_.links.stages());
  const bool with_nodes = records_.tells_all() && tells_nodes();
  const Message message = records_.tells_all()
                              ? channel().pool.copy_of_item(WatchedAnswer{answer_, progress, with_nodes})
                              : channel().pool.copy_of_item(answer_);
  for (int node = 1; node < channel().size(); ++node) channel().send(NodeId{node}, message);
  if (with_nodes) {
    std::vector<NodeCounters> going;
    for (const ProgressReport& report : all) going.push_back(report.going);
    const Message nodes = channel().pool.copy_of(std::span<const NodeCounters>(going));
    for (int node = 1; node < channel().size(); ++node) channel().send(NodeId{node}, nodes);
  }
  answered_ = true;
  if (Observer* observer = node_.observer()) {
    observer->on_progress(progress);
    observer->on_nodes(begun_, all);
  }
}

void ProgressExchange::hear() {
  const NodeId first = known_as(NodeId{0});
  const Message message = channel().expect(NodeId{0});
  if (!records_.tells_all()) {
    answer_ = unpack_item<Answer>(message, first, "an answer to progress reports");
    return;
  }
  const auto told = unpack_item<WatchedAnswer>(message, first, "an answer to progress reports");
  answer_ = told.answer;
  Observer* const observer = node_.observer();
  if (observer != nullptr) observer->on_progress(told.progress);
  if (!told.nodes) return;
  const Message nodes = channel().expect(NodeId{0});
  std::vector<ProgressReport> all;
  const auto nodes_here = static_cast<std::size_t>(channel().size());
  for (const NodeCounters& going :
       unpack_items<NodeCounters>(nodes, nodes_here, first, "the progress of all nodes"))
    all.emplace_back().going = going;
  if (observer != nullptr) observer->on_nodes(begun_, all);
}

// All nodes get all reports. Their interval grows with the number of nodes, to limit the traffic to
// some kilobytes per second.
bool ProgressExchange::tells_nodes() {
  if (++quiet_ < channel().size() * channel().size() / kSquareOfAFew) return false;
  quiet_ = 0;
  return true;
}

bool ProgressExchange::read_answer() {
  if (!node_.links.first()) hear();
  under_way_ = false;
  const auto steps = static_cast<std::uint64_t>(kSecondsBetweenReports / answer_.seconds_per_step);
  const std::uint64_t most = std::min(kMostStepsBetweenReports, kMostGrowth * steps_);
  next_ = begun_ + std::clamp(steps, std::uint64_t{1}, most);
  return answer_.stop;
}

}  // namespace veche
