#include "veche/train/glance_exchange.h"

#include <algorithm>

namespace veche {
namespace {

constexpr std::uint64_t kMostStepsBetweenGlances = 1000;

template <class T>
Message letter(Channel& channel, const T& item) {
  return channel.pool.copy_of(std::span<const T>(&item, 1));
}

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
  const double steps = static_cast<double>(std::max(work_.step() - begun_, std::uint64_t{1}));
  mine_ = work_.take_glance();
  mine_.seconds_per_step = (work_.training() - training_).count() / steps;
  mine_.steps = steps;
  begun_ = work_.step();
  training_ = work_.training();
  // Whoever wants to stop would have to wait for a long step.
  late_ = seconds_per_step_ < kSecondsBetweenGlances ? 1 : 0;
  under_way_ = true;
  answered_ = !work_.first();
  if (!work_.first()) channel().send(NodeId{0}, letter(channel(), mine_));
}

void GlanceExchange::answer() {
  std::vector<Glance> all{mine_};
  for (int node = 1; node < channel().size(); ++node)
    all.push_back(channel().expect(NodeId{node}).as<Glance>().front());
  answer_ = {std::max(mine_.seconds_per_step, 1e-6), std::ranges::any_of(all, &Glance::interrupted)};
  for (int node = 1; node < channel().size(); ++node)
    channel().send(NodeId{node}, letter(channel(), answer_));
  answered_ = true;
  if (Observer* observer = work_.parts().observer)
    observer->on_progress(summed(all, begun_, answer_.seconds_per_step * mine_.steps));
}

bool GlanceExchange::read_answer() {
  if (!work_.first()) answer_ = channel().expect(NodeId{0}).as<Answer>().front();
  under_way_ = false;
  seconds_per_step_ = answer_.seconds_per_step;
  const auto steps = static_cast<std::uint64_t>(kSecondsBetweenGlances / seconds_per_step_);
  next_ = begun_ + std::clamp(steps, std::uint64_t{1}, kMostStepsBetweenGlances);
  return answer_.stop;
}

}  // namespace veche
