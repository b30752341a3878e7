#include "veche/comm/sim/wires.h"

#include <algorithm>
#include <simgrid/kernel/Timer.hpp>

#include "veche/random.h"

namespace veche {
namespace {

namespace s4u = simgrid::s4u;

constexpr std::uint64_t kLarge = 64 << 10;  // bytes

}  // namespace

Wires::Wires(std::vector<s4u::Host*> hosts, double jitter, std::uint64_t seed, Deliver deliver)
    : hosts_(std::move(hosts)),
      jitter_(jitter),
      seed_(seed),
      deliver_(std::move(deliver)),
      away_(hosts_.size()) {
  // SimGrid's signals last as long as the process, and tell of every activity. Ours know whose they are.
  static const bool connected = [] {
    s4u::Activity::on_completion_cb([](const s4u::Activity& activity) {
      auto* const flight = activity.get_data<Flight>();
      if (flight != nullptr) flight->wires->arrived(*flight);
    });
    return true;
  }();
  (void)connected;
}

Wires::~Wires() {
  for (Flight& flight : flights_)
    if (flight.comm) flight.comm->set_data(nullptr);
}

void Wires::leave() {
  spent_.clear();
  std::vector<Letter> leaving;
  leaving.swap(posted_);
  for (Letter& letter : leaving) {
    Flight& flight = flights_.emplace_back();
    flight.wires = this;
    flight.self = std::prev(flights_.end());
    flight.letter = std::move(letter);
    conversations_[{flight.letter.from, flight.letter.to, flight.letter.tag}].push_back(&flight);
    begin(flight);
  }
  leaving.clear();
  if (posted_.empty()) posted_.swap(leaving);  // keeps its memory
}

void Wires::begin(Flight& flight) {
  ++under_way_;
  if (jitter_ == 0) return enter_lane(flight);
  const double delay = jitter_ * RandomStream(seed_, "jitter", numbers_++).uniform();
  simgrid::kernel::timer::Timer::set(s4u::Engine::get_clock() + delay,
                                     [this, &flight] { enter_lane(flight); });
}

void Wires::enter_lane(Flight& flight) {
  if (flight.state == Flight::State::gone) {
    --under_way_;
    flights_.erase(flight.self);
    return;
  }
  if (flight.letter.bytes < kLarge) return move(flight);
  std::deque<Flight*>& lane = lanes_[lane_of(flight.letter)];
  lane.push_back(&flight);
  if (lane.front() == &flight) return move(flight);
  flight.state = Flight::State::queued;
}

// The first has arrived: the next one moves.
void Wires::leave_lane(const Flight& flight) {
  if (flight.letter.bytes < kLarge) return;
  const auto lane = lanes_.find(lane_of(flight.letter));
  lane->second.pop_front();
  if (!lane->second.empty()) return move(*lane->second.front());
  lanes_.erase(lane);
}

void Wires::move(Flight& flight) {
  if (is_away(flight.letter.from) || is_away(flight.letter.to)) {
    --under_way_;
    flight.state = Flight::State::resting;
    return;
  }
  flight.state = Flight::State::moving;
  flight.comm = s4u::Comm::sendto_init(host(flight.letter.from), host(flight.letter.to));
  // SimGrid notices the end of an empty one only when something else happens.
  flight.comm->set_payload_size(std::max<std::uint64_t>(flight.letter.bytes, 1));
  flight.comm->set_data(&flight);
  flight.comm->start();
}

void Wires::arrived(Flight& flight) {
  flight.comm->set_data(nullptr);
  spent_.push_back(std::move(flight.comm));
  flight.comm = nullptr;
  flight.state = Flight::State::arrived;
  --under_way_;
  leave_lane(flight);
  const Conversation conversation{flight.letter.from, flight.letter.to, flight.letter.tag};
  const auto found = conversations_.find(conversation);
  std::deque<Flight*>& queue = found->second;
  std::vector<Letter> there;
  while (!queue.empty() && queue.front()->state == Flight::State::arrived) {
    there.push_back(std::move(queue.front()->letter));
    flights_.erase(queue.front()->self);
    queue.pop_front();
  }
  if (queue.empty()) conversations_.erase(found);
  for (Letter& letter : there) deliver_(std::move(letter));
}

void Wires::cut(NodeId host, bool for_good) {
  away_[static_cast<std::size_t>(host.value)] = true;
  for (auto at = flights_.begin(); at != flights_.end();) {
    Flight& flight = *at++;
    if (flight.letter.from != host && flight.letter.to != host) continue;
    if (flight.state == Flight::State::moving) {
      flight.comm->set_data(nullptr);
      flight.comm->cancel();
      spent_.push_back(std::move(flight.comm));
      flight.comm = nullptr;
      --under_way_;
      flight.state = Flight::State::resting;
    }
    if (for_good) forget(flight);
  }
  if (for_good)
    std::erase_if(lanes_, [&](const auto& lane) {
      return lane.first >> 32 == static_cast<std::uint32_t>(host.value) ||
             static_cast<std::uint32_t>(lane.first) == static_cast<std::uint32_t>(host.value);
    });
}

void Wires::forget(Flight& flight) {
  if (flight.state == Flight::State::gone) return;
  const auto found = conversations_.find({flight.letter.from, flight.letter.to, flight.letter.tag});
  std::erase(found->second, &flight);
  if (found->second.empty()) conversations_.erase(found);
  const bool timer_has_it = flight.state == Flight::State::delayed;
  if (flight.state == Flight::State::queued) --under_way_;
  flight.state = Flight::State::gone;
  if (!timer_has_it) flights_.erase(flight.self);
}

void Wires::mend(NodeId host) {
  away_[static_cast<std::size_t>(host.value)] = false;
  std::vector<Flight*> again;
  for (Flight& flight : flights_)
    if (flight.state == Flight::State::resting && !is_away(flight.letter.from) && !is_away(flight.letter.to))
      again.push_back(&flight);
  for (Flight* flight : again) {
    ++under_way_;
    move(*flight);
  }
}

}  // namespace veche
