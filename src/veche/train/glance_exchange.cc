#include "veche/train/glance_exchange.h"

#include <algorithm>

namespace veche {
namespace {

constexpr std::uint64_t kMostStepsBetweenGlances = 1000;

}  // namespace

bool GlanceExchange::after_step() {
  const Time start = work_.now();
  bool stop = false;
  if (!under_way_ && work_.step() >= next_) begin();
  if (under_way_ && !answered_ && work_.step() >= begun_ + late_) answer();
  if (under_way_ && work_.step() >= begun_ + 2 * late_) stop = read_answer();
  // Nodes that never talk wait for each other here: it is part of what training takes.
  work_.add_training(work_.now() - start);
  return stop;
}

void GlanceExchange::settle() {
  if (!under_way_) return;
  if (!answered_) answer();
  read_answer();
}

void GlanceExchange::begin() {
  mine_ = work_.take_glance();
  steps_ = work_.step() - begun_;
  took_ = work_.training() - trained_;
  begun_ = work_.step();
  trained_ = work_.training();
  // Whoever wants to stop would have to wait for a long step.
  late_ = answer_.seconds_per_step < kSecondsBetweenGlances ? 1 : 0;
  under_way_ = true;
  answered_ = !work_.first();
  if (!work_.first()) channel().send(NodeId{0}, channel().pool.copy_of_item(mine_));
}

void GlanceExchange::answer() {
  std::vector<Glance> all{mine_};
  for (int node = 1; node < channel().size(); ++node)
    all.push_back(channel().expect(NodeId{node}).as<Glance>().front());
  answer_ = {std::max(took_.count() / static_cast<double>(steps_), 1e-6),
             std::ranges::any_of(all, &Glance::interrupted)};
  const Message message = channel().pool.copy_of_item(answer_);
  for (int node = 1; node < channel().size(); ++node) channel().send(NodeId{node}, message);
  answered_ = true;
  if (Observer* observer = work_.parts().observer) observer->on_progress(summed(all, begun_, took_.count()));
}

bool GlanceExchange::read_answer() {
  if (!work_.first()) answer_ = channel().expect(NodeId{0}).as<Answer>().front();
  under_way_ = false;
  const auto steps = static_cast<std::uint64_t>(kSecondsBetweenGlances / answer_.seconds_per_step);
  next_ = begun_ + std::clamp(steps, std::uint64_t{1}, kMostStepsBetweenGlances);
  return answer_.stop;
}

}  // namespace veche
