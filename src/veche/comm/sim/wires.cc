#include "veche/comm/sim/wires.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/Action.hpp>

#include "veche/random.h"

namespace veche {
namespace {

namespace s4u = simgrid::s4u;

using simgrid::kernel::resource::Action;

constexpr std::uint64_t kLarge = 64 << 10;  // bytes
constexpr int kSmallAtOnce = 16;            // from one host to another

Wires* current_wires = nullptr;  // one engine per process, whose signals have no owner

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
          // SimGrid keeps the class private; its first base is public.
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
  Porter& receiver = porter(flight.envelope.to);
  if (receiver.free_boxes.empty()) {
    flight.box = s4u::Mailbox::by_name(fmt::format("{}/{}", flight.envelope.to.value, receiver.boxes++));
    flight.box->set_receiver(receiver.actor);  // so that messages put into it leave at once
  } else {
    flight.box = receiver.free_boxes.back();
    receiver.free_boxes.pop_back();
  }
  // SimGrid notices the end of an empty transfer only at the next event.
  std::uint64_t bytes = flight.envelope.bytes;
  for (const Flight* rider : flight.riders) bytes += rider->envelope.bytes;
  flight.comm = flight.box->put_async(&flight, std::max<std::uint64_t>(bytes, 1));
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
  std::vector<Envelope> leaving;
  leaving.swap(posted_);
  for (Envelope& envelope : leaving) {
    Flight& flight = flights_.emplace_back();
    flight.self = std::prev(flights_.end());
    flight.envelope = std::move(envelope);
    conversations_[{flight.envelope.from, flight.envelope.to, flight.envelope.tag}].push_back(&flight);
    begin(flight);
  }
  leaving.clear();
  if (posted_.empty()) posted_.swap(leaving);  // keeps its memory
}

void Wires::begin(Flight& flight) {
  ++under_way_;
  if (jitter_ == 0) return enter(flight);
  const double delay = jitter_ * RandomStream(seed_, "jitter", numbers_++).uniform();
  simgrid::kernel::timer::Timer::set(s4u::Engine::get_clock() + delay, [this, &flight] { enter(flight); });
}

void Wires::enter(Flight& flight) {
  if (flight.state == Flight::State::gone) {
    --under_way_;
    flights_.erase(flight.self);
    return;
  }
  flight.envelope.bytes < kLarge ? enter_stream(flight) : enter_lane(flight);
}

void Wires::enter_lane(Flight& flight) {
  std::deque<Flight*>& lane = lanes_[lane_of(flight.envelope)];
  lane.push_back(&flight);
  if (lane.front() == &flight) return move(flight);
  flight.state = Flight::State::queued;
}

void Wires::enter_stream(Flight& flight) {
  if (is_blocked(flight)) return move(flight);
  Stream& stream = streams_[key_of(flight.envelope.from, flight.envelope.to)];
  if (stream.moving < kSmallAtOnce) {
    ++stream.moving;
    return move(flight);
  }
  flight.state = Flight::State::queued;
  stream.waiting.push_back(&flight);
}

// The first has arrived: the next one moves.
void Wires::leave_lane(const Flight& flight) {
  const auto lane = lanes_.find(lane_of(flight.envelope));
  lane->second.pop_front();
  if (!lane->second.empty()) return move(*lane->second.front());
  lanes_.erase(lane);
}

void Wires::leave_stream(const Flight& flight) {
  const auto found = streams_.find(key_of(flight.envelope.from, flight.envelope.to));
  Stream& stream = found->second;
  if (stream.waiting.empty()) {
    if (--stream.moving == 0) streams_.erase(found);
    return;
  }
  Flight& next = *stream.waiting.front();
  stream.waiting.pop_front();
  std::uint64_t bytes = next.envelope.bytes;
  while (!stream.waiting.empty() && (bytes += stream.waiting.front()->envelope.bytes) < kLarge) {
    stream.waiting.front()->state = Flight::State::riding;
    next.riders.push_back(stream.waiting.front());
    stream.waiting.pop_front();
  }
  move(next);
}

bool Wires::goes_over(NodeId from, NodeId to, const std::set<const s4u::Link*>& links) const {
  std::vector<s4u::Link*> route;
  hosts_[static_cast<std::size_t>(from.value)]->route_to(hosts_[static_cast<std::size_t>(to.value)], route,
                                                         nullptr);
  return std::ranges::any_of(route, [&](const s4u::Link* link) { return links.contains(link); });
}

// Acknowledgements travel too: a reverse path that is down blocks the forward path.
bool Wires::is_blocked(NodeId from, NodeId to) const {
  if (is_away(from) || is_away(to)) return true;
  return !down_.empty() && (goes_over(from, to, down_) || goes_over(to, from, down_));
}

void Wires::move(Flight& flight) {
  if (is_blocked(flight)) {
    --under_way_;
    flight.state = Flight::State::resting;
    return;
  }
  flight.state = Flight::State::moving;
  Porter& sender = porter(flight.envelope.from);
  sender.to_start.push_back(&flight);
  if (sender.to_start.size() == 1) sender.bell->release();
}

void Wires::arrived(Flight& flight) {
  moving_.erase(flight.comm->get_impl());
  Porter& sender = porter(flight.envelope.from);
  sender.to_clear.push_back({flight.envelope.to, std::move(flight.comm), flight.box});
  sender.bell->release();
  flight.comm = nullptr;
  std::vector<Flight*> all = std::move(flight.riders);
  all.insert(all.begin(), &flight);
  std::vector<Conversation> conversations;
  for (Flight* each : all) {
    each->state = Flight::State::arrived;
    --under_way_;
    conversations.push_back({each->envelope.from, each->envelope.to, each->envelope.tag});
  }
  flight.envelope.bytes < kLarge ? leave_stream(flight) : leave_lane(flight);
  for (const Conversation& conversation : conversations) hand_over(conversation);
}

// Delivers arrived messages that have no missing predecessor.
void Wires::hand_over(const Conversation& conversation) {
  const auto found = conversations_.find(conversation);
  if (found == conversations_.end()) return;
  std::deque<Flight*>& queue = found->second;
  std::vector<Envelope> there;
  while (!queue.empty() && queue.front()->state == Flight::State::arrived) {
    there.push_back(std::move(queue.front()->envelope));
    flights_.erase(queue.front()->self);
    queue.pop_front();
  }
  if (queue.empty()) conversations_.erase(found);
  for (Envelope& envelope : there) deliver_(std::move(envelope));
}

void Wires::cut(NodeId host, bool for_good) {
  away_[static_cast<std::size_t>(host.value)] = true;
  const auto meets = [&](const Flight& flight) {
    return flight.envelope.from == host || flight.envelope.to == host;
  };
  for (Flight& flight : flights_)
    if (meets(flight)) take_off(flight);
  if (!for_good) return;
  for (auto at = flights_.begin(); at != flights_.end();) {
    Flight& flight = *at++;
    if (meets(flight)) forget(flight);
  }
  std::erase_if(lanes_, [&](const auto& lane) {
    return lane.first >> 32 == static_cast<std::uint32_t>(host.value) ||
           static_cast<std::uint32_t>(lane.first) == static_cast<std::uint32_t>(host.value);
  });
}

void Wires::cut(const s4u::Link* link) {
  if (!down_.insert(link).second) return;
  std::map<std::uint64_t, bool> met;  // routes are expensive to compute
  for (Flight& flight : flights_) {
    const auto [found, fresh] = met.try_emplace(key_of(flight.envelope.from, flight.envelope.to));
    if (fresh)
      found->second = goes_over(flight.envelope.from, flight.envelope.to, {link}) ||
                      goes_over(flight.envelope.to, flight.envelope.from, {link});
    if (found->second) take_off(flight);
  }
}

// Pauses it. Small messages waiting for others of their stream pause too: nothing else would wake
// them.
void Wires::take_off(Flight& flight) {
  const bool small = flight.envelope.bytes < kLarge;
  if (small) streams_.erase(key_of(flight.envelope.from, flight.envelope.to));
  if (flight.state == Flight::State::moving) {
    withdraw(flight);
  } else if (flight.state == Flight::State::riding || (small && flight.state == Flight::State::queued)) {
    --under_way_;
    flight.state = Flight::State::resting;
  }
  flight.riders.clear();
}

void Wires::withdraw(Flight& flight) {
  std::erase(porter(flight.envelope.from).to_start, &flight);
  if (flight.comm) {
    moving_.erase(flight.comm->get_impl());
    flight.comm->cancel();
    withdrawn_.push_back(std::move(flight.comm));  // its mailbox is not reused
    flight.comm = nullptr;
  }
  --under_way_;
  flight.state = Flight::State::resting;
}

void Wires::forget(Flight& flight) {
  if (flight.state == Flight::State::gone) return;
  const auto found = conversations_.find({flight.envelope.from, flight.envelope.to, flight.envelope.tag});
  std::erase(found->second, &flight);
  if (found->second.empty()) conversations_.erase(found);
  const bool timer_has_it = flight.state == Flight::State::delayed;
  if (flight.state == Flight::State::queued) --under_way_;
  flight.state = Flight::State::gone;
  if (!timer_has_it) flights_.erase(flight.self);
}

void Wires::mend(NodeId host) {
  away_[static_cast<std::size_t>(host.value)] = false;
  begin_anew();
}

void Wires::mend(const s4u::Link* link) {
  if (down_.erase(link) > 0) begin_anew();
}

void Wires::begin_anew() {
  std::vector<Flight*> again;
  for (Flight& flight : flights_)
    if (flight.state == Flight::State::resting && !is_blocked(flight)) again.push_back(&flight);
  for (Flight* flight : again) {
    ++under_way_;
    flight->envelope.bytes < kLarge ? enter_stream(*flight) : move(*flight);
  }
}

}  // namespace veche
