#include "veche/comm/failure.h"

#include <algorithm>

#include "veche/errors.h"

namespace veche {
namespace {

// First characters of contributions. The cause is the contribution with the lowest one, so these
// are above the kinds of failures: a rank that ends while others continue is the least likely
// cause.
constexpr char kEnd = '4';
constexpr char kText = '5';

}  // namespace

Failure Failure::of(const std::exception& error) {
  const Kind kind = dynamic_cast<const RequestError*>(&error) != nullptr ? Kind::wrong_request
                    : dynamic_cast<const PeerLost*>(&error) != nullptr   ? Kind::lost_peer
                                                                         : Kind::failed;
  return {kind, error.what()};
}

void Failure::raise() const {
  if (kind == Kind::wrong_request) throw RequestError(sentence);
  throw RunError(sentence);
}

std::string as_text(const std::string& text) { return kText + text; }
std::string as_failure(const Failure& failure) { return static_cast<char>(failure.kind) + failure.sentence; }
std::string as_end(const std::string& word) { return kEnd + word; }
bool is_end(const std::string& brought) { return brought.front() == kEnd; }
std::string text_of(const std::string& brought) { return brought.substr(1); }

std::optional<Failure> common_failure(std::span<const std::string> brought,
                                      const std::function<std::string(int rank)>& name_of) {
  const auto kind_of = [](const std::string& each) { return each.front(); };
  const auto cause = std::ranges::min_element(brought, {}, kind_of);
  if (cause->front() == kText) return {};
  if (std::ranges::all_of(brought, is_end)) return {};
  const bool alike = std::ranges::all_of(brought, [&](const std::string& each) { return each == *cause; });
  const std::string name = name_of(static_cast<int>(cause - brought.begin()));
  if (cause->front() == kEnd) return Failure{Failure::Kind::lost_peer, name + " has ended before the others"};
  return Failure{static_cast<Failure::Kind>(cause->front()), (alike ? "" : name + ": ") + text_of(*cause)};
}

}  // namespace veche
