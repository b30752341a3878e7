#include "veche/comm/sim/wires.h"

#include <simgrid/kernel/Timer.hpp>

#include "veche/random.h"

namespace veche {
namespace {

namespace s4u = simgrid::s4u;

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
  if (jitter_ == 0) return move(flight);
  const double delay = jitter_ * RandomStream(seed_, "jitter", numbers_++).uniform();
  simgrid::kernel::timer::Timer::set(s4u::Engine::get_clock() + delay, [this, &flight] { move(flight); });
}

void Wires::move(Flight& flight) {
  if (flight.state == Flight::State::gone) {
    --under_way_;
    flights_.erase(flight.self);
    return;
  }
  if (is_away(flight.letter.from) || is_away(flight.letter.to)) {
    --under_way_;
    flight.state = Flight::State::resting;
    return;
  }
  flight.state = Flight::State::moving;
  flight.comm = s4u::Comm::sendto_init(host(flight.letter.from), host(flight.letter.to));
  flight.comm->set_payload_size(flight.letter.bytes);
  flight.comm->set_data(&flight);
  flight.comm->start();
}

void Wires::arrived(Flight& flight) {
  flight.comm->set_data(nullptr);
  spent_.push_back(std::move(flight.comm));
  flight.comm = nullptr;
  flight.state = Flight::State::arrived;
  --under_way_;
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
}

void Wires::forget(Flight& flight) {
  if (flight.state == Flight::State::gone) return;
  const auto found = conversations_.find({flight.letter.from, flight.letter.to, flight.letter.tag});
  std::erase(found->second, &flight);
  if (found->second.empty()) conversations_.erase(found);
  const bool timer_has_it = flight.state == Flight::State::delayed;
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
