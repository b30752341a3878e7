#include "veche/train/views/catch_up.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "veche/base/files/content_hash.h"
#include "veche/train/views/piece_plan.h"

namespace veche {
namespace {

constexpr std::size_t kMostLenders = 4;
constexpr int kTries = 3;
constexpr double kHeardWithin = 0.2;  // seconds from asking for a copy until all lenders have heard of it
constexpr double kStands = 5;      // seconds without a step: who lends may be waiting for this very newcomer
constexpr double kMuchLonger = 5;  // times
constexpr std::uint32_t kMostAsked = 1U << 20;

template <class Item>
std::optional<Item> item_in(const std::optional<Message>& message) {
  if (!message || message->size() != sizeof(Item)) return {};
  Item item;
  std::memcpy(&item, message->bytes().data(), sizeof item);
  return item;
}

class CatchUp {
 public:
  CatchUp(NodeSelf& self, Lenders& lenders, Shared shared)
      : self_(self), lenders_(lenders), shared_(shared) {}

  CaughtUp run() {
    for (int tries = 0; tries < kTries && lenders_.count() > 0; ++tries) {
      // Who cannot help now is asked last the next time.
      first_ = static_cast<std::size_t>(tries) % lenders_.count();
      if (!take_copy()) continue;
      result_.done = shared_ == Shared::nothing || follow();
      result_.step = self_.step;
      if (result_.done || stopped_) break;
    }
    return result_;
  }

 private:
  std::optional<Message> ask(std::size_t lender, const std::string& name) {
    lenders_.ask(lender, ++id_, name, 0, kMostAsked);
    while (const auto answer = lenders_.next())
      if (answer->id == id_) return answer->message;
    return {};
  }
  // What will be there, as soon as it is; nothing: it will not, or not within so many seconds.
  std::optional<Message> await(std::size_t lender, const std::string& name, double seconds) {
    for (double left = seconds; left > 0; left -= Lenders::kPause.count()) {
      const std::optional<Message> answer = ask(lender, name);
      if (!answer || answer->size() > 0) return answer;
      if (!pause()) break;
    }
    return {};
  }
  bool pause() {
    stopped_ = !lenders_.pause();
    return !stopped_;
  }

  bool take_copy() {
    const auto word = item_in<StateLending::StepWord>(ask(first_, "step"));
    if (!word || (self_.has_state && word->step < self_.step)) return false;
    const double ahead = word->seconds > 0 ? std::min(kHeardWithin / word->seconds, 1e4) : 0;
    const std::uint64_t at =
        word->copy != StateLending::kNone ? word->copy : word->step + 2 + static_cast<std::uint64_t>(ahead);
    chosen_.clear();
    const std::size_t most = shared_ == Shared::models ? kMostLenders : 1;
    for (std::size_t i = 0; i < lenders_.count() && chosen_.size() < most; ++i) {
      const std::size_t lender = (first_ + i) % lenders_.count();
      if (ask(lender, "copy/" + std::to_string(at))) chosen_.push_back(lender);
    }
    const std::string name = std::to_string(at);
    std::optional<Message> manifest;
    const double steps = at > word->step ? static_cast<double>(at - word->step) : 0;
    const double limit = kStands + kMuchLonger * steps * word->seconds;
    while (!chosen_.empty() && !(manifest = await(chosen_.front(), "manifest/" + name, limit)))
      chosen_.erase(chosen_.begin());
    if (!manifest || manifest->size() < sizeof(std::uint64_t)) return false;
    const std::span<const std::uint64_t> words = manifest->as<std::uint64_t>();
    const StateManifest wanted = StateManifest::of(words.subspan(1));
    fit_state(self_, wanted.lengths);
    const StatePieces pieces(self_);
    if (pieces.count() != wanted.hashes.size()) return false;
    PiecePlan plan(wanted.hashes, pieces.manifest().hashes, chosen_.size());
    result_.pieces = plan.missing();
    result_.of = pieces.count();
    result_.lenders = chosen_.size();
    result_.copied = words[0];
    std::map<std::size_t, Message> came;
    const bool all = fetch(
        plan, [&](std::size_t piece) { return "piece/" + name + "/" + std::to_string(piece); },
        [](std::size_t) { return std::uint64_t{0}; },
        [&](std::size_t piece, const Message& content) {
          if (content.size() != pieces[piece].size() || content_hash(content.bytes()) != wanted.hashes[piece])
            return false;
          came[piece] = content;
          return true;
        });
    if (!all) return false;
    // Only now: until all of it was here, what this node had itself was worth more.
    for (const auto& [piece, content] : came) pieces.put(piece, content.bytes());
    self_.step = words[0];
    self_.has_state = true;
    self_.work.forget();
    return true;
  }

  // The steps that the others have made since.
  bool follow() {
    for (std::size_t turn = 0; !stopped_; ++turn) {
      const std::string name = std::to_string(self_.step);
      const std::optional<Message> answer = ask(chosen_[turn % chosen_.size()], "update/" + name);
      if (!answer) return false;
      if (answer->size() == 0) return true;  // nobody has made it
      const auto word = item_in<StateLending::UpdateWord>(answer);
      if (!word || word->bytes > bytes_in(shared_vectors(self_))) return false;
      StepMade made{word->by,   self_.step,  word->steps,
                    word->rate, word->scale, std::vector<std::byte>(word->bytes)};
      const std::span<std::byte> bytes = made.bytes;
      std::vector<std::uint64_t> parts((bytes.size() + kMostAsked - 1) / kMostAsked, 1);
      PiecePlan plan(parts, {}, chosen_.size());
      const bool all = fetch(
          plan, [&](std::size_t) { return "gradient/" + name; },
          [](std::size_t part) { return std::uint64_t{part} * kMostAsked; },
          [&](std::size_t part, const Message& content) {
            const std::size_t from = part * kMostAsked;
            if (content.size() != std::min<std::size_t>(kMostAsked, bytes.size() - from)) return false;
            std::ranges::copy(content.bytes(), bytes.begin() + static_cast<std::ptrdiff_t>(from));
            return true;
          });
      if (!all || content_hash(bytes) != word->hash || !repeat_step(self_, made)) return false;
    }
    return false;
  }

  // Every piece of the plan, from whoever has it; false: nobody has one of them.
  template <class Name, class Offset, class Take>
  bool fetch(PiecePlan& plan, Name name, Offset offset, Take take) {
    struct Asked {
      std::size_t piece, lender;  // place in chosen_
    };
    std::map<std::uint64_t, Asked> asked;
    while (!plan.complete()) {
      for (std::size_t lender = 0; lender < chosen_.size(); ++lender)
        while (const auto piece = plan.next(lender)) {
          asked[++id_] = {*piece, lender};
          lenders_.ask(chosen_[lender], id_, name(*piece), offset(*piece), kMostAsked);
        }
      if (plan.hopeless()) return false;
      const auto answer = lenders_.next();
      if (!answer) return false;
      const auto found = asked.find(answer->id);
      if (found == asked.end()) continue;
      const Asked what = found->second;
      asked.erase(found);
      // Who has none of it, or what does not fit, is asked no more.
      if (!answer->message)
        plan.lost(what.lender);
      else if (take(what.piece, *answer->message))
        plan.arrived(what.piece);
      else
        plan.refused(what.piece, what.lender);
    }
    return true;
  }

  NodeSelf& self_;
  Lenders& lenders_;
  const Shared shared_;
  std::vector<std::size_t> chosen_;  // lenders that have the copy
  std::size_t first_ = 0;
  std::uint64_t id_ = 0;
  bool stopped_ = false;
  CaughtUp result_;
};

}  // namespace

CaughtUp catch_up(NodeSelf& self, Lenders& lenders, Shared shared) {
  return CatchUp(self, lenders, shared).run();
}

}  // namespace veche
