#include "veche/train/loop/end_of_samples.h"

#include <algorithm>

#include "veche/comm/tags.h"
#include "veche/packed.h"

namespace veche {

EndOfSamples::EndOfSamples(Endpoint& endpoint, MessagePool& pool, AdaptiveTimeout& timeout)
    : questions_(endpoint, pool, timeout, tags::ending.child(tags::kEndingQuestions)),
      shared_(std::make_shared<Shared>(
          Channel(endpoint, pool, timeout, tags::ending.child(tags::kEndingAnswers)))) {
  if (endpoint.size() == 1) return;
  endpoint.spawn([shared = shared_, questions = questions_]() mutable { serve(*shared, questions); });
}

// A node that is further than the step in question had samples after it, or knows that others had.
std::optional<bool> EndOfSamples::Shared::has_samples(std::uint64_t step) const {
  if (!begun || *begun < step) return {};
  return *begun > step || begun_with_samples;
}

void EndOfSamples::serve(Shared& shared, Channel& questions) {
  for (;;) {
    const Received received = questions.receive();
    if (received.outcome != Received::Outcome::message) continue;  // a lost node asks no more
    const auto question = unpack_item<Question>(received.message, questions.endpoint.known_as(received.from),
                                                "a question about samples");
    std::optional<bool> has;
    {
      const MutexLock lock(shared.mutex);
      has = shared.has_samples(question.step);
      if (!has) shared.waiting.push_back({received.from, question.step});
    }
    if (has) shared.answer(received.from, question.step, *has);
  }
}

void EndOfSamples::begin(std::uint64_t step, bool has_samples) {
  std::vector<Shared::Waiting> now;
  {
    const MutexLock lock(shared_->mutex);
    shared_->begun = step;
    shared_->begun_with_samples = has_samples;
    const auto later = std::ranges::partition(shared_->waiting,
                                              [&](const Shared::Waiting& each) { return each.step > step; });
    now.assign(later.begin(), later.end());
    shared_->waiting.erase(later.begin(), later.end());
  }
  for (const auto& [asker, asked] : now) shared_->answer(asker, asked, asked < step || has_samples);
}

bool EndOfSamples::all_ended(std::uint64_t step) {
  const auto others = [&](const auto& each) {
    for (int node = 0; node < questions_.size(); ++node)
      if (NodeId{node} != questions_.me()) each(NodeId{node});
  };
  others([&](NodeId node) { questions_.send(node, questions_.pool.copy_of_item(Question{step})); });
  bool all = true;
  others([&](NodeId node) {
    const auto answer = unpack_item<Answer>(
        shared_->answers.expect(node), shared_->answers.endpoint.known_as(node), "an answer about samples");
    all = all && !answer.has_samples;
  });
  return all;
}

}  // namespace veche
