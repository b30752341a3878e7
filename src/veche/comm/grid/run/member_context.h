#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "veche/comm/grid/grid.h"
#include "veche/comm/grid/links/links.h"
#include "veche/comm/grid/run/grid_folder.h"

namespace veche::grid {

std::string name_of(const GridOptions& options);

Message as_message(const std::string& text);
std::string_view text_view(const Message& message);

// State shared by all parts of a member. Constant once `links` is set, so any thread may read.
struct MemberContext {
  using Clock = std::chrono::steady_clock;

  explicit MemberContext(const GridOptions& given)
      : options(given),
        files(given.folder),
        key(files.key()),
        trust(files.trust()),
        configuration(files.configuration()) {}

  MemberId id() const { return key.id(); }
  Time now() const { return Clock::now() - start; }
  bool interrupted() const { return options.interrupted != nullptr && *options.interrupted; }
  void say(const std::string& sentence) const {
    if (options.say) options.say(sentence);
  }

  const GridOptions options;
  const GridFolder files;
  const KeyPair key;
  const std::shared_ptr<Trust> trust;
  const std::string configuration;
  const Clock::time_point start = Clock::now();
  std::shared_ptr<Links> links;
};

}  // namespace veche::grid
