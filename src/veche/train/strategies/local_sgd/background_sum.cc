#include "veche/train/strategies/local_sgd/background_sum.h"

#include <algorithm>

#include "veche/packed.h"

namespace veche {
namespace {

// Children of the strategy's tag.
enum BackgroundTalk : std::uint64_t { kOrders = 0, kResults = 1, kSums = 2 };

Message next_from_self(const Channel& channel) {
  Received received = channel.endpoint.receive(channel.me(), channel.tag, kForever);
  if (received.outcome != Received::Outcome::message) channel.give_up(channel.me(), received.outcome);
  return std::move(received.message);
}

}  // namespace

BackgroundSum::BackgroundSum(StrategyContext& context, std::vector<Part> parts)
    : context_(context),
      parts_(std::move(parts)),
      orders_(context.channel.child(kOrders)),
      results_(context.channel.child(kResults)),
      coder_(context),
      sums_(context.channel.endpoint, context.channel.pool, timeout_, context.channel.tag.child(kSums)) {
  for (const Part& part : parts_)
    if (coder_.on())
      coded_.push_back(std::make_unique<CodedSum>(
          coder_, sums_, coder_.shape(part.from, part.length, false, context_.nodes()),
          AllReduceAlgorithm::ring));
}

void BackgroundSum::start() {
  context_.channel.endpoint.spawn([this] { help(); });
}

void BackgroundSum::begin(std::size_t part, std::span<const float> values, bool coded) {
  if (!begun_) done_.coding = counted();
  begun_ = true;
  const Order order{part, coded ? 1U : 0U};
  const Channel& orders = orders_;
  orders.endpoint.send(orders.me(), orders.tag, pack(context_.channel.pool, order, std::as_bytes(values)));
  under_way_ = true;
}

std::span<const float> BackgroundSum::wait() {
  const Time start = context_.channel.endpoint.now();
  result_ = next_from_self(results_);
  context_.channel.count_wait(context_.channel.endpoint.now() - start);
  under_way_ = false;
  const auto done = unpack<Done>(result_, results_.me(), "a sum");
  if (done.fields.lost != 0)
    throw PeerLost(NodeId{static_cast<int>(done.fields.lost) - 1},
                   "is gone: the average of a fragment cannot be completed without it");
  done_ = done.fields;
  context_.channel.count({done_.bytes, done_.messages});
  return {reinterpret_cast<const float*>(done.payload.data()), done.payload.size() / sizeof(float)};
}

void BackgroundSum::help() {
  Endpoint& endpoint = sums_.endpoint;
  Time last = endpoint.now();
  for (;;) {
    const Message message = next_from_self(orders_);
    const auto order = unpack<Order>(message, orders_.me(), "a part to sum");
    values_.resize(order.payload.size() / sizeof(float));
    std::ranges::copy(order.payload, std::as_writable_bytes(std::span(values_)).begin());
    // Other nodes may be behind by as much as there is between two sums.
    timeout_.note(endpoint.now() - last);
    last = endpoint.now();
    Done done;
    try {
      done = sum(order.fields);
    } catch (const PeerLost& lost) {
      // The node learns of the loss when it waits for this sum. An interrupted run may not wait.
      done.lost = static_cast<std::uint64_t>(lost.peer().value) + 1;
    }
    endpoint.send(results_.me(), results_.tag,
                  pack(sums_.pool, done, std::as_bytes(std::span<const float>(values_))));
  }
}

BackgroundSum::Done BackgroundSum::sum(const Order& order) {
  const Traffic before = sums_.sent();
  if (order.coded != 0)
    coded_.at(order.part)->sum(values_);
  else
    all_reduce(sums_, values_, AllReduceAlgorithm::ring);
  const Traffic after = sums_.sent();
  return {after.bytes - before.bytes, after.messages - before.messages, counted()};
}

Coding BackgroundSum::counted() const {
  Coding all = coder_.counted();
  for (const auto& part : coded_) all.remembered_squared += part->remembered_squared();
  return all;
}

void BackgroundSum::add_state(SavedState& state) {
  coder_.add_state(state);
  for (const auto& part : coded_) part->add_state(state);
}

}  // namespace veche
