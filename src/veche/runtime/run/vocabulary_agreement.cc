#include "veche/runtime/run/vocabulary_agreement.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "veche/base/text/utf8.h"
#include "veche/comm/grid/identity/names.h"
#include "veche/data/text/open_text.h"
#include "veche/errors.h"
#include "veche/runtime/config/quantity.h"

namespace veche {
namespace {

constexpr std::string_view kTells = "vocabulary ";  // then the member, "more" or "all", and symbols
constexpr std::size_t kMostTold = 3000;             // bytes in one request; a name has at most 4096
constexpr std::chrono::milliseconds kBetweenAsks{200};
constexpr Time kAskLimit{10};

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> found;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) throw RequestError("a member told a vocabulary that is not UTF-8");
    found.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return found;
}

// Counts grid.wait_limit.
class WaitLimit {
 public:
  explicit WaitLimit(const VocabularyWait& wait)
      : wait_(wait),
        end_(std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                 Time(read_duration("grid.wait_limit", {wait.settings.grid.wait_limit})))) {}

  // False: interrupted. Throws RunError after the limit.
  bool pause() const {
    if (wait_.interrupted != nullptr && *wait_.interrupted) return false;
    if (std::chrono::steady_clock::now() > end_) {
      wait_.grid.views().leave();
      throw RunError(
          fmt::format("grid.wait_for = {}: the members did not agree on a vocabulary within {} "
                      "(grid.wait_limit); nothing was trained",
                      wait_.settings.grid.wait_for, wait_.settings.grid.wait_limit));
    }
    std::this_thread::sleep_for(kBetweenAsks);
    return true;
  }

 private:
  const VocabularyWait& wait_;
  const std::chrono::steady_clock::time_point end_;
};

}  // namespace

bool agrees_on_vocabulary(const Settings& settings) {
  return is_text(settings.data) && settings.grid.data == MemberData::own && settings.grid.wait_for > 1 &&
         tokenizer_of(settings.data).kind == TokenizerSpec::Kind::characters;
}

std::string own_symbols(const Settings& settings) {
  DataSettings data = settings.data;
  data.vocabulary.clear();
  return pack_texts(text_request(data, {data.path.one})).front()->tokenizer()->content();
}

SharedVocabulary::SharedVocabulary(const std::string& symbols) {
  for (std::string& symbol : characters_of(symbols)) symbols_.insert(std::move(symbol));
}

std::optional<Message> SharedVocabulary::answer(const std::string& request) {
  if (!request.starts_with(kTells)) return {};
  const std::size_t member = kTells.size(), state = request.find(' ', member);
  const std::size_t told = state == request.npos ? state : request.find(' ', state + 1);
  if (told == request.npos) return {};
  std::vector<std::string> symbols;
  try {
    symbols = characters_of(std::string_view(request).substr(told + 1));
  } catch (const RequestError&) {
    return {};
  }
  const MutexLock lock(mutex_);
  if (fixed_.empty()) {
    symbols_.insert(symbols.begin(), symbols.end());
    if (request.substr(state + 1, told - state - 1) == "all")
      members_.insert(request.substr(member, state - member));
  }
  MessagePool pool;
  return pool.copy_of(std::span<const char>(fixed_));
}

std::size_t SharedVocabulary::members() const {
  const MutexLock lock(mutex_);
  return members_.size();
}

std::string SharedVocabulary::fix() {
  const MutexLock lock(mutex_);
  // UTF-8 sorts as the numbers of the characters do.
  if (fixed_.empty())
    for (const std::string& symbol : symbols_) fixed_ += symbol;
  return fixed_;
}

std::vector<std::string> vocabulary_requests(const std::string& member, const std::string& symbols) {
  std::vector<std::string> parts{""};
  for (const std::string& symbol : characters_of(symbols)) {
    if (parts.back().size() + symbol.size() > kMostTold) parts.emplace_back();
    parts.back() += symbol;
  }
  std::vector<std::string> requests;
  for (std::size_t i = 0; i < parts.size(); ++i)
    requests.push_back(
        fmt::format("{}{} {} {}", kTells, member, i + 1 == parts.size() ? "all" : "more", parts[i]));
  return requests;
}

std::string agree_as_founder(const VocabularyWait& wait, const std::shared_ptr<SharedVocabulary>& shared) {
  const auto others = static_cast<std::size_t>(wait.settings.grid.wait_for - 1);
  wait.grid.serve(
      [shared](const std::string& name, std::uint64_t, std::uint32_t) { return shared->answer(name); });
  wait.say(
      fmt::format("1 of {} members is here: training starts when all have told the characters of their texts",
                  others + 1));
  const WaitLimit limit(wait);
  for (std::size_t before = 0; shared->members() < others && limit.pause();) {
    const std::size_t now = shared->members();
    if (now != before) wait.say(fmt::format("{} of {} members are here", now + 1, others + 1));
    before = now;
  }
  std::string symbols = shared->fix();
  wait.say(fmt::format("the members agree on a vocabulary of {} characters", characters_of(symbols).size()));
  return symbols;
}

std::string agree_as_newcomer(const VocabularyWait& wait, const std::string& symbols) {
  const std::vector<std::string> requests = vocabulary_requests(grid::hex(wait.grid.me()), symbols);
  const WaitLimit limit(wait);
  std::set<std::string> told;  // donors that know all symbols but the last
  do {
    for (const grid::MemberId& donor : wait.grid.donors()) {
      const std::size_t from = told.contains(grid::hex(donor)) ? requests.size() - 1 : 0;
      std::optional<Message> answer;
      for (std::size_t i = from; i < requests.size(); ++i)
        answer = wait.grid.fetch(donor, requests[i], 0, grid::kMostOfAPiece, kAskLimit);
      if (!answer) continue;
      told.insert(grid::hex(donor));
      const auto text = answer->as<char>();
      if (!text.empty()) return {text.begin(), text.end()};
    }
  } while (limit.pause());
  throw RunError("interrupted before the members agreed on a vocabulary; nothing was trained");
}

}  // namespace veche
