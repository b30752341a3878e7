#include "veche/train/views/state_server.h"

#include <algorithm>

#include "veche/base/files/content_hash.h"
#include "veche/train/views/state_donor.h"

namespace veche {

StateReply StateServer::answer(const StateRequest& request) const {
  using What = StateRequest::What;
  if (request.what == What::update || request.what == What::gradient) return answer_step(request);
  if (request.of != copy_) return {};
  if (request.what == What::manifest) {
    const auto words = std::make_shared<const std::vector<std::uint64_t>>(state_.manifest(step_).coded());
    return {StateReply::Outcome::here, std::as_bytes(std::span(*words)), words};
  }
  if (request.what != What::piece || request.part >= state_.count()) return {};
  return {StateReply::Outcome::here, state_[request.part], {}};
}

StateReply StateServer::answer_step(const StateRequest& request) const {
  if (steps_ == nullptr) return {};
  const StateDonor::StepKept kept = steps_->step_made(request.of);
  if (!kept.step) return {.outcome = kept.outcome};
  const StepUpdate& made = *kept.step;
  const std::span<const std::byte> bytes = made.bytes;
  if (request.what == StateRequest::What::update)
    return StateReply::of(
        UpdateReply{made.by, made.steps, made.rate, made.scale, bytes.size(), content_hash(bytes)});
  if (request.part >= (bytes.size() + StateRequest::kPartBytes - 1) / StateRequest::kPartBytes) return {};
  const std::span<const std::byte> rest = bytes.subspan(request.part * StateRequest::kPartBytes);
  return {StateReply::Outcome::here, rest.first(std::min<std::size_t>(rest.size(), StateRequest::kPartBytes)),
          kept.step};
}

}  // namespace veche
