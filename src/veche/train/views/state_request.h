#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "veche/message.h"
#include "veche/packed.h"
#include "veche/train/views/step_made.h"

namespace veche {

// How a node that lacks the run's state asks one that has it. In a view the structs travel over a
// channel (state_transfer.cc). A process in no view sends the name of its request (catch_up.cc).
struct StateRequest {
  enum class What : std::uint64_t {
    step,      // the node's progress: StepReply
    end,       // how the run has ended (run_end_message.h); not yet until then
    copy,      // asks for a copy at step `of`; answered with `of` if there will be one
    manifest,  // of the copy `of`: StateManifest
    piece,     // piece `part` of the copy
    update,    // how step `of` was made: UpdateReply
    gradient,  // part `part` of its bytes, kPartBytes each
    done,      // nothing more will be asked; not answered
  } what = What::step;
  std::uint64_t of = 0;
  std::uint64_t part = 0;
  bool operator==(const StateRequest&) const = default;

  // Instead of a copy: the state of a node that makes no step meanwhile. Only in a view.
  static constexpr std::uint64_t kAsItIs = ~std::uint64_t{0};
  static constexpr std::uint32_t kPartBytes = 1U << 20;
};

// The name of a request, and the offset that goes with it: `step`, `end`, `copy/S`, `manifest/S`,
// `piece/S/I`, `update/T`, `gradient/T` from an offset on.
std::string name_of(const StateRequest& request);
std::uint64_t offset_of(const StateRequest& request);
// Nothing: no request has this name.
std::optional<StateRequest> request_named(const std::string& name, std::uint64_t offset);

struct StateReply {
  enum class Outcome : std::uint64_t {
    never,    // the node does not have it and will not, or is gone
    not_yet,  // the node may have it later
    here,
  } outcome = Outcome::never;
  std::span<const std::byte> content = {};
  std::shared_ptr<const void> owner = {};  // keeps the content; null: the caller does

  template <class Item>
  static StateReply of(const Item& item) {
    const auto kept = std::make_shared<const Item>(item);
    return {Outcome::here, bytes_of(*kept), kept};
  }
  // What a message holds behind these bytes.
  static StateReply in(const Message& message, std::size_t head) {
    const auto kept = std::make_shared<const Message>(message);
    return {Outcome::here, kept->bytes().subspan(head), kept};
  }
  // The struct that the content consists of; nothing also if it is damaged.
  template <class Item>
  std::optional<Item> item() const {
    if (outcome != Outcome::here || content.size() != sizeof(Item)) return {};
    Item item;
    std::memcpy(&item, content.data(), sizeof item);
    return item;
  }
};

struct StepReply {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::uint64_t step = 0;
  std::uint64_t copy = kNone;  // the name of a copy that is good enough
  double seconds = 0;          // of a step
};

struct UpdateReply {
  StepUpdate::By by = StepUpdate::By::gradient;
  std::uint64_t steps = 1;
  double rate = 0, scale = 1;
  std::uint64_t bytes = 0, hash = 0;
};

}  // namespace veche
