#include "veche/runtime/run/member_wait.h"

#include <fmt/format.h>

#include <chrono>

#include "veche/comm/tags.h"
#include "veche/errors.h"
#include "veche/runtime/config/quantity.h"

namespace veche {
namespace {

constexpr Time kPollInterval{0.2};
constexpr std::size_t kMostNames = 8;  // in one line

Time steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace

MemberWait::MemberWait(const Settings& settings)
    : wanted_(settings.grid.wait_for),
      limit_text_(settings.grid.wait_limit),
      limit_(read_duration("grid.wait_limit", {settings.grid.wait_limit})),
      start_(steady_now()) {}

bool MemberWait::is_due(const View& view) const { return view.first_step == 0 && view.members < wanted_; }

void MemberWait::wait(grid::Grid& grid, const View& view, const TrainingSession& session) const {
  session.notice(fmt::format("{} of {} members are here{}: training starts when all are here", view.members,
                             wanted_, member_names(grid)));
  try {
    view.cluster->run([&](NodeId id) {
      const auto endpoint = view.cluster->endpoint(id);
      while (!session.interrupted() && steady_now() - start_ < limit_)
        endpoint->receive({}, tags::state.child(tags::kWaiting), endpoint->now() + kPollInterval);
    });
  } catch (const ViewChanged&) {
    return;
  } catch (const PeerLost&) {
    return;
  }
  if (session.interrupted()) return;
  grid.views().leave();
  throw RunError(
      fmt::format("grid.wait_for = {}: only {} of {} members have joined within {} (grid.wait_limit); "
                  "nothing was trained",
                  wanted_, view.members, wanted_, limit_text_));
}

std::string member_names(const grid::Grid& grid) {
  std::string names;
  std::size_t count = 0;
  for (const grid::MemberStatus& one : grid.status().members) {
    if (one.seat < 0 || count++ >= kMostNames) continue;
    names += (names.empty() ? "" : ", ") + one.member.name;
  }
  if (count > kMostNames) names += fmt::format(" and {} more", count - kMostNames);
  return names.empty() ? "" : " (" + names + ")";
}

}  // namespace veche
