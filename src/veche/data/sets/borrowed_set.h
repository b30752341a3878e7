#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "veche/dataset.h"
#include "veche/message.h"
#include "veche/node_id.h"

namespace veche {

// Samples borrowed from other nodes, received in messages. They are read from the messages, all
// others from the set itself. Unlike other sets it is mutable: `admit` and `dismiss` may be called
// while no thread reads.
class BorrowedSamples {
 public:
  // The size of a sample in a message: its target, the weights of targets if `data` have them, then
  // its tokens, bytes of an image or floats.
  static std::size_t bytes_each(const Dataset& data);
  // Packs samples into a message, in the order of `samples`.
  static Message pack(const Dataset& data, std::span<const std::uint32_t> samples);

  void dismiss();
  // `message` contains `samples` in ascending order. Throws BadMessage, which names the sender
  // `from`, if its size does not match.
  void admit(const Dataset& data, std::span<const std::uint32_t> samples, Message message, NodeId from);

  std::size_t size() const { return places_.size(); }
  struct Sample {
    std::span<const std::byte> target;  // a label or a value; of text none
    std::span<const std::byte> weights;
    std::span<const std::byte> content;
  };
  // Null if the sample is not borrowed. Valid until it is dismissed.
  const Sample* find(std::size_t index) const;

 private:
  struct Place {
    std::uint32_t index;
    Sample sample;
  };
  std::vector<Place> places_;  // by index
  std::vector<Message> messages_;
};

// `data` with these borrowed samples; an image set if `data` is one. The task is the same.
std::shared_ptr<const Dataset> with_visitors(std::shared_ptr<const Dataset> data,
                                             std::shared_ptr<const BorrowedSamples> borrowed);

}  // namespace veche
