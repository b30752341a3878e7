#include "veche/runtime/run/member_scheme.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "veche/base/text/nesting.h"
#include "veche/collectives.h"
#include "veche/comm/grid/identity/names.h"
#include "veche/comm/tags.h"
#include "veche/data/table/open_table.h"
#include "veche/errors.h"
#include "veche/runtime/inference/table_json.h"

namespace veche {
namespace {

using SchemeJson = nlohmann::json;

constexpr Time kSchemeLimit{10};

Message message_of(const std::string& text) { return MessagePool().copy_of(std::span<const char>(text)); }

std::string text_in(const Message& message) {
  const auto letters = message.as<char>();
  return {letters.begin(), letters.end()};
}

// What one member tells: its sums, or the scheme that its model has been trained with.
struct Told {
  std::optional<TableSums> sums;
  std::shared_ptr<const TableScheme> scheme;
};

Told told_in(const std::string& text, const std::string& who) {
  try {
    check_json_nesting(text);
    const SchemeJson json = SchemeJson::parse(text);
    if (json.contains("scheme"))
      return {.sums = {}, .scheme = std::make_shared<const TableScheme>(scheme_of_json(json.at("scheme")))};
    return {.sums = sums_of_json(json.at("sums")), .scheme = nullptr};
  } catch (const std::exception& error) {
    throw RunError(fmt::format("{} tells nothing sensible about its table: {}", who, error.what()));
  }
}

}  // namespace

std::string MemberScheme::message(bool has_trained) const {
  const DataSource& source = plan_.source();
  const SchemeJson json = has_trained ? SchemeJson{{"scheme", scheme_json(*source.scheme)}}
                                      : SchemeJson{{"sums", sums_json(*sums_of(source))}};
  return json.dump(-1, ' ', false, SchemeJson::error_handler_t::replace);
}

void MemberScheme::agree(Endpoint& endpoint, const View& view, bool first) {
  MessagePool pool;
  AdaptiveTimeout timeout;
  Channel channel(endpoint, pool, timeout, tags::state.child(tags::kSchemes));
  const auto me = static_cast<std::size_t>(endpoint.id().value);
  // All members know the statuses of a view, so that they follow the same rule.
  const bool begun = view.first_step > 0;
  const bool has_trained = begun && view.status[me].done_step > 0;
  const std::vector<Message> all =
      all_gather(channel, message_of(first ? message(has_trained) : std::string()));
  std::vector<TableSums> sums;
  std::vector<std::string> names;
  std::shared_ptr<const TableScheme> scheme;
  for (std::size_t node = 0; node < all.size(); ++node) {
    if (all[node].size() == 0) continue;  // not the first of its member
    names.push_back(fmt::format("the table of node {}", node));
    Told told = told_in(text_in(all[node]), fmt::format("node {}", node));
    if (told.scheme && !scheme) scheme = std::move(told.scheme);
    if (told.sums) sums.push_back(std::move(*told.sums));
  }
  if (!scheme) scheme = std::make_shared<const TableScheme>(veche::agree(sums, names));
  if (plan_.has_final_scheme() && *scheme == *plan_.source().scheme) return;
  {
    const MutexLock lock(mutex_);
    agreed_ = std::move(scheme);
  }
  throw ViewChanged();
}

std::shared_ptr<const TableScheme> MemberScheme::take() {
  const MutexLock lock(mutex_);
  return std::exchange(agreed_, nullptr);
}

void MemberScheme::fix() {
  const MutexLock lock(mutex_);
  if (fixed_.empty()) fixed_ = message(true);
}

std::optional<Message> MemberScheme::told() const {
  const MutexLock lock(mutex_);
  return fixed_.empty() ? std::nullopt : std::optional(message_of(fixed_));
}

std::shared_ptr<const TableScheme> MemberScheme::fetch(grid::Grid& grid) {
  for (const grid::MemberId& id : grid.donors())
    if (const auto piece = grid.fetch(id, kPiece, 0, grid::kMostOfAPiece, kSchemeLimit);
        piece && piece->size() > 0)
      return told_in(text_in(*piece), "member " + grid::short_name(id)).scheme;
  return nullptr;
}

}  // namespace veche
