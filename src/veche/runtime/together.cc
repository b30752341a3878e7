#include "veche/runtime/together.h"

#include <fmt/format.h>

#include <algorithm>

#include "veche/base/errors.h"

namespace veche {
namespace {

// The first letter of a report; what follows is the sentence. In the order in which causes are believed:
// those who lost a peer only tell the consequence.
constexpr char kWrongRequest = '1';
constexpr char kFailed = '2';
constexpr char kLostPeer = '3';
constexpr char kDone = '4';
// Who failed waits so long for the others: they too learn of it, unless they hang.
constexpr Time kPatience{60};

std::string report_of(const std::function<void()>& work) {
  const auto report = [](char kind, const std::exception& error) { return kind + std::string(error.what()); };
  try {
    work();
    return {kDone};
  } catch (const RequestError& error) {
    return report(kWrongRequest, error);
  } catch (const PeerLost& error) {
    return report(kLostPeer, error);
  } catch (const std::exception& error) {
    return report(kFailed, error);
  }
}

}  // namespace

void together(Job* job, const std::function<void()>& work) {
  if (job == nullptr) return work();
  const std::string mine = report_of(work);
  std::vector<std::string> reports;
  try {
    reports = job->exchange(mine, mine.front() == kDone ? kForever : kPatience);
  } catch (const RunError&) {
    throw RunError(fmt::format("rank {} on {}: {}", job->rank(), job->host_of(job->rank()), mine.substr(1)));
  }
  const auto cause = std::ranges::min_element(reports, {}, [](const std::string& r) { return r.front(); });
  if (cause->front() == kDone) return;
  const bool alike = std::ranges::all_of(reports, [&](const std::string& r) { return r == *cause; });
  const int rank = static_cast<int>(cause - reports.begin());
  const std::string sentence =
      (alike ? "" : fmt::format("rank {} on {}: ", rank, job->host_of(rank))) + cause->substr(1);
  if (cause->front() == kWrongRequest) throw RequestError(sentence);
  throw RunError(sentence);
}

}  // namespace veche
