#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "veche/base/thread/mutex.h"
#include "veche/comm/grid/grid.h"
#include "veche/config.h"

namespace veche {

// Members of a grid that have texts of their own and wait for each other (grid.wait_for) use the
// union of their characters. Each tells its characters to the founder, which fixes the union when
// all are here. Nothing but the set of characters travels. Later newcomers get the union.

bool agrees_on_vocabulary(const Settings& settings);
// The characters of this member's own text.
std::string own_symbols(const Settings& settings);

// The union, as the members ask for it. Any thread.
class SharedVocabulary {
 public:
  explicit SharedVocabulary(const std::string& symbols);

  // Answers a request of this kind: with the symbols, or with an empty message while they are not
  // fixed. Nothing: it is another kind of request.
  std::optional<Message> answer(const std::string& request);

  std::size_t members() const;  // that have told all their symbols
  std::string fix();            // no symbol is added any more; returns them all
 private:
  mutable Mutex mutex_;
  std::set<std::string> symbols_ VECHE_GUARDED_BY(mutex_);
  std::set<std::string> members_ VECHE_GUARDED_BY(mutex_);
  std::string fixed_ VECHE_GUARDED_BY(mutex_);
};

// The requests by which a member tells its symbols; the last one is repeated to ask for the union.
std::vector<std::string> vocabulary_requests(const std::string& member, const std::string& symbols);

struct VocabularyWait {
  grid::Grid& grid;
  const Settings& settings;
  std::function<void(const std::string& sentence)> say;
  const std::atomic<bool>* interrupted = nullptr;
};
// The founder: waits for grid.wait_for members, at most grid.wait_limit (then RunError), and
// returns the union. An interrupt ends the wait.
std::string agree_as_founder(const VocabularyWait& wait, const std::shared_ptr<SharedVocabulary>& shared);
// Another member: the union.
std::string agree_as_newcomer(const VocabularyWait& wait, const std::string& symbols);

}  // namespace veche
