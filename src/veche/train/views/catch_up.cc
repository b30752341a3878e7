#include "veche/train/views/catch_up.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "veche/train/views/state_fetch.h"

namespace veche {
namespace {

constexpr std::size_t kMostDonorsAsked = 4;
constexpr int kTries = 3;
constexpr double kHeardWithin = 0.2;  // seconds from asking for a copy until all donors have heard of it
constexpr double kStandstill = 5;     // seconds without a step: a donor may be waiting for this newcomer
constexpr double kMuchLonger = 5;     // times

// Donors asked by the names of requests.
class NamedTransport : public StateTransport {
 public:
  explicit NamedTransport(Donors& donors) : donors_(donors) {}

  void ask(std::size_t donor, const StateRequest& request) override {
    asked_[++id_] = {donor, request};
    donors_.ask(donor, id_, name_of(request), offset_of(request), StateRequest::kPartBytes);
  }
  std::optional<Answer> next() override {
    while (const auto answer = donors_.next()) {
      const auto found = asked_.find(answer->id);
      if (found == asked_.end()) continue;
      Answer next{found->second.donor, found->second.request};
      asked_.erase(found);
      if (answer->message) next.reply = StateReply::in(*answer->message, 0);
      if (answer->message && answer->message->size() == 0) next.reply.outcome = StateReply::Outcome::not_yet;
      return next;
    }
    return {};
  }

 private:
  struct Asked {
    std::size_t donor;
    StateRequest request;
  };
  Donors& donors_;
  std::map<std::uint64_t, Asked> asked_;
  std::uint64_t id_ = 0;
};

class CatchUp {
 public:
  CatchUp(MemberState& self, Donors& donors, Shared shared) : self_(self), donors_(donors), shared_(shared) {}

  CaughtUp run() {
    for (int tries = 0; tries < kTries && donors_.count() > 0; ++tries) {
      // A donor that cannot help now is asked last the next time.
      first_ = static_cast<std::size_t>(tries) % donors_.count();
      if (!take_copy()) continue;
      result_.done = shared_ == Shared::nothing || (!stopped_ && fetcher_.replay());
      result_.step = self_.step;
      if (result_.done || stopped_) break;
    }
    return result_;
  }

 private:
  // Asks until the answer is more than "not yet", or for this number of seconds.
  StateReply await(std::size_t donor, const StateRequest& request, double seconds) {
    for (double left = seconds; left > 0; left -= Donors::kPause.count()) {
      StateReply reply = fetcher_.ask(donor, request);
      if (reply.outcome != StateReply::Outcome::not_yet) return reply;
      stopped_ = !donors_.pause();
      if (stopped_) break;
    }
    return {};
  }

  // Makes donors copy their state at a step that they are about to make, and fetches the copy.
  bool take_copy() {
    using What = StateRequest::What;
    const auto word = fetcher_.ask(first_, {What::step}).item<StepReply>();
    if (!word || (self_.has_state && word->step < self_.step)) return false;
    const double ahead = word->seconds > 0 ? std::min(kHeardWithin / word->seconds, 1e4) : 0;
    const std::uint64_t at =
        word->copy != StepReply::kNone ? word->copy : word->step + 2 + static_cast<std::uint64_t>(ahead);
    std::vector<std::size_t> chosen;
    const std::size_t most = shared_ == Shared::models ? kMostDonorsAsked : 1;
    for (std::size_t i = 0; i < donors_.count() && chosen.size() < most; ++i) {
      const std::size_t donor = (first_ + i) % donors_.count();
      if (fetcher_.ask(donor, {What::copy, at}).outcome == StateReply::Outcome::here) chosen.push_back(donor);
    }
    const double steps = at > word->step ? static_cast<double>(at - word->step) : 0;
    const double limit = kStandstill + kMuchLonger * steps * word->seconds;
    StateReply reply;
    while (!chosen.empty()) {
      reply = await(chosen.front(), {What::manifest, at}, limit);
      if (reply.outcome == StateReply::Outcome::here) break;
      chosen.erase(chosen.begin());
    }
    if (chosen.empty()) return false;
    // A donor that sends a damaged list counts as one that gives no copy.
    const std::optional<StateManifest> manifest = StateManifest::of(reply.content);
    if (!manifest) return false;
    result_.donors = chosen.size();
    result_.copied = manifest->step;
    fetcher_.choose(std::move(chosen), at);
    const Fetched fetched = fetcher_.copy(*manifest);
    result_.pieces = fetched.pieces;
    result_.of = fetched.of;
    if (!fetched.complete) return false;
    self_.step = manifest->step;
    self_.has_state = true;
    self_.work.forget();
    return true;
  }

  MemberState& self_;
  Donors& donors_;
  const Shared shared_;
  NamedTransport transport_{donors_};
  StateFetcher fetcher_{self_, transport_};
  std::size_t first_ = 0;
  bool stopped_ = false;
  CaughtUp result_;
};

}  // namespace

CaughtUp catch_up(MemberState& self, Donors& donors, Shared shared) {
  return CatchUp(self, donors, shared).run();
}

}  // namespace veche
