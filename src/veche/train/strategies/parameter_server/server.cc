#include "veche/train/strategies/parameter_server/server.h"

#include <algorithm>
#include <stdexcept>

#include "veche/vector_math.h"

namespace veche {

Server::Server(std::span<const float> start, std::vector<bool> trainers, ServerPolicy policy,
               std::unique_ptr<ServerRule> rule, Answer answer)
    : parameters_(start.begin(), start.end()),
      workers_(trainers.size()),
      policy_(policy),
      rule_(std::move(rule)),
      answer_(std::move(answer)) {
  for (std::size_t i = 0; i < trainers.size(); ++i) workers_[i].trains = trainers[i];
  if (policy_.sync) sum_.resize(parameters_.size());
}

SavedState Server::state() {
  SavedState all{{parameters_}, {&version_}};
  for (const std::span<float> part : rule_->state()) all.vectors.push_back(part);
  return all;
}

void Server::take(const ServerMessage& message) {
  switch (message.kind) {
    case ServerMessage::Kind::join:
      // A worker that goes on from a checkpoint may be too far ahead to start, as if it had just
      // pushed.
      for (ServerMessage::Party party : message.parties) {
        workers_[party.worker].clock = party.clock--;
        if (policy_.sync)
          answer({&party, 1});
        else
          held_.push_back(party);
      }
      break;
    case ServerMessage::Kind::push:
      policy_.sync ? gather(message) : push(message);
      break;
    case ServerMessage::Kind::leave:
      for (const ServerMessage::Party& party : message.parties) workers_[party.worker].trains = false;
      if (policy_.sync) update_from_sum();
      break;
    case ServerMessage::Kind::fetch: {
      std::vector<ServerMessage::Party> parties = message.parties;
      answer(parties);
      break;
    }
    case ServerMessage::Kind::parameters:
    case ServerMessage::Kind::changes:
      throw std::logic_error("a server was sent parameters");
  }
  answer_those_allowed();
}

// Applied at once; the answer may have to wait for others.
void Server::push(const ServerMessage& message) {
  for (const ServerMessage::Party& party : message.parties) {
    const auto behind = slowest();
    const std::uint64_t lead = behind && party.clock > *behind ? party.clock - *behind : 0;
    staleness_.lead = std::max(staleness_.lead, lead);
    if (lead > policy_.lead)
      throw std::logic_error("worker " + std::to_string(party.worker) + " is " + std::to_string(lead) +
                             " clocks ahead of the slowest");
    workers_[party.worker].clock = party.clock + 1;
    if (message.size > 0) staleness_.note(age(party));
  }
  const bool first = rule_->answers_first();
  if (first) {
    std::vector<ServerMessage::Party> parties = message.parties;
    answer(parties);
  }
  if (message.size > 0) {
    const ServerMessage::Party& one = message.parties.front();
    rule_->apply(parameters_, message.numbers(), age(one), workers_[one.worker].seen, version_);
    version_ += message.parties.size();
  }
  if (!first) held_.insert(held_.end(), message.parties.begin(), message.parties.end());
}

void Server::gather(const ServerMessage& message) {
  if (message.parties.front().version != version_) {  // the update that it was meant for has been made
    staleness_.dropped += message.parties.size();
    std::vector<ServerMessage::Party> parties = message.parties;
    return answer(parties);
  }
  if (message.size > 0) {
    add(sum_, message.numbers());
    summed_ += message.parties.size();
  }
  held_.insert(held_.end(), message.parties.begin(), message.parties.end());
  update_from_sum();
}

void Server::update_from_sum() {
  const std::uint64_t left = trainers();
  const std::uint64_t needed = left > policy_.backup ? left - policy_.backup : 1;
  if (held_.empty() || held_.size() < needed) return;
  if (summed_ > 0) {  // otherwise all results were lost
    if (policy_.mean) scale(sum_, 1.0F / static_cast<float>(summed_));
    rule_->apply(parameters_, sum_, 0, {}, version_);
    for (std::uint64_t i = 0; i < summed_; ++i) staleness_.note(0);
  }
  ++version_;
  summed_ = 0;
  std::ranges::fill(sum_, 0.0F);
  std::vector<ServerMessage::Party> parties = std::move(held_);
  held_.clear();
  answer(parties);
}

void Server::answer_those_allowed() {
  if (policy_.sync || held_.empty()) return;
  const auto behind = slowest();
  if (policy_.bounded() && !behind) return;
  const auto waits = [&](const ServerMessage::Party& party) {
    return policy_.bounded() && party.clock + 1 > *behind + policy_.lead;
  };
  const auto allowed = std::ranges::partition(held_, waits);
  std::vector<ServerMessage::Party> parties(allowed.begin(), allowed.end());
  held_.erase(allowed.begin(), allowed.end());
  if (!parties.empty()) answer(parties);
}

void Server::answer(std::span<ServerMessage::Party> parties) {
  for (ServerMessage::Party& party : parties) {
    party.version = version_;
    if (policy_.compensate > 0) workers_[party.worker].seen = parameters_;
  }
  answer_(parties, parameters_);
}

std::optional<std::uint64_t> Server::slowest() const {
  std::optional<std::uint64_t> least;
  for (const Worker& worker : workers_) {
    if (!worker.trains) continue;
    if (!worker.clock) return {};
    if (!least || *worker.clock < *least) least = worker.clock;
  }
  return least ? least : ServerPolicy::kAnyLead / 2;  // no worker is left to wait for
}

std::size_t Server::trainers() const {
  return static_cast<std::size_t>(std::ranges::count(workers_, true, &Worker::trains));
}

}  // namespace veche
