#include "veche/comm/sim/wires.h"

#include <fmt/format.h>

#include <algorithm>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/Action.hpp>

#include "veche/random.h"

namespace veche {
namespace {

namespace s4u = simgrid::s4u;

using simgrid::kernel::resource::Action;

constexpr std::uint64_t kLarge = 64 << 10;  // bytes

Wires* current_wires = nullptr;  // there is one engine a process, whose signals know no owner

}  // namespace

Wires::Wires(std::vector<s4u::Host*> hosts, const SimNetwork& network, Deliver deliver)
    : hosts_(std::move(hosts)),
      jitter_(network.jitter),
      duplex_(network.duplex),
      seed_(network.seed),
      deliver_(std::move(deliver)),
      away_(hosts_.size()) {
  // SimGrid's signals last as long as the process.
  static const bool connected = [] {
    s4u::Link::on_communication_state_change_cb(
        [](simgrid::kernel::resource::NetworkAction& network_action, Action::State /*before*/) {
          // SimGrid keeps the class to itself; its first base is the public one.
          const auto& action = reinterpret_cast<const Action&>(network_action);
          if (current_wires == nullptr || action.get_state() != Action::State::FINISHED) return;
          const auto found = current_wires->moving_.find(action.get_activity());
          if (found != current_wires->moving_.end()) current_wires->arrived(*found->second);
        });
    return true;
  }();
  (void)connected;
  current_wires = this;
}

Wires::~Wires() { current_wires = nullptr; }

void Wires::start() {
  porters_.resize(hosts_.size());
  for (std::size_t i = 0; i < hosts_.size(); ++i)
    porters_[i].actor =
        s4u::Actor::create("porter", hosts_[i], [this, i] { work(NodeId{static_cast<int>(i)}); });
}

void Wires::stop() {
  stopped_ = true;
  for (Porter& each : porters_) each.bell->release();
}

void Wires::work(NodeId host) {
  Porter& me = porter(host);
  while (!stopped_) {
    while (!me.to_clear.empty()) {
      const Spent spent = std::move(me.to_clear.back());
      me.to_clear.pop_back();
      clear_away(spent);
    }
    while (!me.to_start.empty()) {
      Flight& flight = *me.to_start.front();
      me.to_start.pop_front();
      put_on_its_way(flight);
    }
    if (me.to_clear.empty()) me.bell->acquire();
  }
}

void Wires::put_on_its_way(Flight& flight) {
  Porter& receiver = porter(flight.letter.to);
  if (receiver.free_boxes.empty()) {
    flight.box = s4u::Mailbox::by_name(fmt::format("{}/{}", flight.letter.to.value, receiver.boxes++));
    flight.box->set_receiver(receiver.actor);  // so that what is put into it leaves at once
  } else {
    flight.box = receiver.free_boxes.back();
    receiver.free_boxes.pop_back();
  }
  // SimGrid notices the end of an empty one only when something else happens.
  flight.comm = flight.box->put_async(&flight, std::max<std::uint64_t>(flight.letter.bytes, 1));
  moving_.emplace(flight.comm->get_impl(), &flight);
}

void Wires::clear_away(const Spent& spent) {
  void* nothing = nullptr;
  spent.box->get_async(&nothing)->wait();
  spent.comm->test();
  porter(spent.to).free_boxes.push_back(spent.box);
}

void Wires::leave() {
  withdrawn_.clear();
  std::vector<Letter> leaving;
  leaving.swap(posted_);
  for (Letter& letter : leaving) {
    Flight& flight = flights_.emplace_back();
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
  Porter& sender = porter(flight.letter.from);
  sender.to_start.push_back(&flight);
  if (sender.to_start.size() == 1) sender.bell->release();
}

void Wires::arrived(Flight& flight) {
  moving_.erase(flight.comm->get_impl());
  Porter& sender = porter(flight.letter.from);
  sender.to_clear.push_back({flight.letter.to, std::move(flight.comm), flight.box});
  sender.bell->release();
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
    if (flight.state == Flight::State::moving) withdraw(flight);
    if (for_good) forget(flight);
  }
  if (for_good)
    std::erase_if(lanes_, [&](const auto& lane) {
      return lane.first >> 32 == static_cast<std::uint32_t>(host.value) ||
             static_cast<std::uint32_t>(lane.first) == static_cast<std::uint32_t>(host.value);
    });
}

void Wires::withdraw(Flight& flight) {
  std::erase(porter(flight.letter.from).to_start, &flight);
  if (flight.comm) {
    moving_.erase(flight.comm->get_impl());
    flight.comm->cancel();
    withdrawn_.push_back(std::move(flight.comm));  // its mailbox is not used again
    flight.comm = nullptr;
  }
  --under_way_;
  flight.state = Flight::State::resting;
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
