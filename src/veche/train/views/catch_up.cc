#include "veche/train/views/catch_up.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "veche/base/files/content_hash.h"
#include "veche/packed.h"
#include "veche/train/views/state_fetch.h"

namespace veche {
namespace {

constexpr std::size_t kMostDonorsAsked = 4;
constexpr int kTries = 3;
constexpr double kHeardWithin = 0.2;  // seconds from asking for a copy until all donors have heard of it
constexpr double kStandstill = 5;     // seconds without a step: a donor may be waiting for this newcomer
constexpr double kMuchLonger = 5;     // times
constexpr std::uint32_t kMostAsked = 1U << 20;

// None also if it is damaged: another donor is asked.
template <class Item>
std::optional<Item> item_in(const std::optional<Message>& message) {
  const auto unpacked = message ? try_unpack<Item>(*message) : std::nullopt;
  if (!unpacked || !unpacked->payload.empty()) return {};
  return unpacked->fields;
}

// Donors that lend the same copy, asked by name.
class NamedSource : public StateSource {
 public:
  explicit NamedSource(Donors& all) : all_(all) {}

  std::optional<Message> ask(std::size_t donor, const std::string& name) {
    all_.ask(donor, ++id_, name, 0, kMostAsked);
    while (const auto answer = all_.next())
      if (answer->id == id_) return answer->message;
    return {};
  }
  void choose(std::vector<std::size_t> chosen, std::string copy) {
    chosen_ = std::move(chosen);
    copy_ = std::move(copy);
    asked_.clear();
    turn_ = 0;
  }

  std::size_t donors() const override { return chosen_.size(); }
  void ask_piece(std::size_t donor, std::size_t piece) override {
    ask_part(donor, piece, "piece/" + copy_ + "/" + std::to_string(piece), 0);
  }
  std::optional<PartAnswer> next_piece() override { return next_part(); }

  StepAnswer step_made(std::uint64_t step) override {
    const std::string name = std::to_string(step);
    const std::optional<Message> answer = ask(chosen_[turn_++ % chosen_.size()], "update/" + name);
    if (!answer) return {};
    if (answer->size() == 0) return {.kind = StepAnswer::Kind::not_yet};
    const auto word = item_in<StateLending::UpdateWord>(answer);
    if (!word || word->bytes > most_bytes_) return {};
    StepAnswer made{
        StepAnswer::Kind::made,
        {word->by, step, word->steps, word->rate, word->scale, std::vector<std::byte>(word->bytes)},
        word->bytes};
    const std::span<std::byte> bytes = made.step.bytes;
    const std::vector<std::uint64_t> parts((bytes.size() + kMostAsked - 1) / kMostAsked, 1);
    PiecePlan plan(parts, {}, chosen_.size());
    asked_.clear();
    const bool all = fetch_parts(
        plan, chosen_.size(),
        [&](std::size_t donor, std::size_t part) {
          ask_part(donor, part, "gradient/" + name, std::uint64_t{part} * kMostAsked);
        },
        [&] { return next_part(); },
        [&](std::size_t part, std::span<const std::byte> content) {
          const std::size_t from = part * kMostAsked;
          if (content.size() != std::min<std::size_t>(kMostAsked, bytes.size() - from)) return false;
          std::ranges::copy(content, bytes.begin() + static_cast<std::ptrdiff_t>(from));
          return true;
        });
    if (!all || content_hash(bytes) != word->hash) return {};
    return made;
  }
  // A step's bytes are never more than the vectors that it changes.
  void bound_steps(std::uint64_t bytes) { most_bytes_ = bytes; }

 private:
  struct Asked {
    std::size_t donor, part;
  };
  void ask_part(std::size_t donor, std::size_t part, const std::string& name, std::uint64_t offset) {
    asked_[++id_] = {donor, part};
    all_.ask(chosen_[donor], id_, name, offset, kMostAsked);
  }
  std::optional<PartAnswer> next_part() {
    while (const auto answer = all_.next()) {
      const auto found = asked_.find(answer->id);
      if (found == asked_.end()) continue;
      PartAnswer part{found->second.donor, found->second.part, answer->message};
      asked_.erase(found);
      return part;
    }
    return {};
  }

  Donors& all_;
  std::vector<std::size_t> chosen_;  // donors that have the copy
  std::string copy_;                 // its name
  std::map<std::uint64_t, Asked> asked_;
  std::uint64_t most_bytes_ = 0;
  std::uint64_t id_ = 0;
  std::size_t turn_ = 0;
};

class CatchUp {
 public:
  CatchUp(NodeSelf& self, Donors& donors, Shared shared) : self_(self), donors_(donors), shared_(shared) {}

  CaughtUp run() {
    for (int tries = 0; tries < kTries && donors_.count() > 0; ++tries) {
      // A donor that cannot help now is asked last the next time.
      first_ = static_cast<std::size_t>(tries) % donors_.count();
      if (!take_copy()) continue;
      source_.bound_steps(bytes_in(shared_vectors(self_)));
      result_.done = shared_ == Shared::nothing || (!stopped_ && fetcher_.replay());
      result_.step = self_.step;
      if (result_.done || stopped_) break;
    }
    return result_;
  }

 private:
  // Asks until the answer is not empty; nothing: the donor will not give it, or not within these
  // seconds.
  std::optional<Message> await(std::size_t donor, const std::string& name, double seconds) {
    for (double left = seconds; left > 0; left -= Donors::kPause.count()) {
      const std::optional<Message> answer = source_.ask(donor, name);
      if (!answer || answer->size() > 0) return answer;
      stopped_ = !donors_.pause();
      if (stopped_) break;
    }
    return {};
  }

  // Makes donors copy their state at a step that they are about to make, and fetches the copy.
  bool take_copy() {
    const auto word = item_in<StateLending::StepWord>(source_.ask(first_, "step"));
    if (!word || (self_.has_state && word->step < self_.step)) return false;
    const double ahead = word->seconds > 0 ? std::min(kHeardWithin / word->seconds, 1e4) : 0;
    const std::uint64_t at =
        word->copy != StateLending::kNone ? word->copy : word->step + 2 + static_cast<std::uint64_t>(ahead);
    const std::string name = std::to_string(at);
    std::vector<std::size_t> chosen;
    const std::size_t most = shared_ == Shared::models ? kMostDonorsAsked : 1;
    for (std::size_t i = 0; i < donors_.count() && chosen.size() < most; ++i) {
      const std::size_t donor = (first_ + i) % donors_.count();
      if (source_.ask(donor, "copy/" + name)) chosen.push_back(donor);
    }
    std::optional<Message> manifest;
    const double steps = at > word->step ? static_cast<double>(at - word->step) : 0;
    const double limit = kStandstill + kMuchLonger * steps * word->seconds;
    while (!chosen.empty() && !(manifest = await(chosen.front(), "manifest/" + name, limit)))
      chosen.erase(chosen.begin());
    // A donor that sends a damaged list counts as one that gives no copy.
    if (!manifest || manifest->size() == 0 || manifest->size() % sizeof(std::uint64_t) != 0) return false;
    const std::span<const std::uint64_t> words = manifest->as<std::uint64_t>();
    const std::optional<StateManifest> pieces = StateManifest::of(words.subspan(1));
    if (!pieces) return false;
    result_.donors = chosen.size();
    result_.copied = words[0];
    source_.choose(std::move(chosen), name);
    const Fetched fetched = fetcher_.copy(*pieces);
    result_.pieces = fetched.pieces;
    result_.of = fetched.of;
    if (!fetched.complete) return false;
    self_.step = words[0];
    self_.has_state = true;
    self_.work.forget();
    return true;
  }

  NodeSelf& self_;
  Donors& donors_;
  const Shared shared_;
  NamedSource source_{donors_};
  StateFetcher fetcher_{self_, source_};
  std::size_t first_ = 0;
  bool stopped_ = false;
  CaughtUp result_;
};

}  // namespace

CaughtUp catch_up(NodeSelf& self, Donors& donors, Shared shared) {
  return CatchUp(self, donors, shared).run();
}

}  // namespace veche
