#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "veche/dataset.h"
#include "veche/message.h"

namespace veche {

// A data set with visitors: samples that lie elsewhere and came in messages. Those are read from the
// messages, all others from the set itself. Not immutable as other sets are: `admit` and `dismiss` may be
// called while nobody reads.
class Visitors {
 public:
  // What a sample is on its way: its label, then its bytes, or its floats when `data` are not images.
  static std::size_t bytes_each(const Dataset& data);
  // The samples in a message, in the order of `samples`.
  static Message pack(const Dataset& data, std::span<const std::uint32_t> samples);

  void dismiss();
  // `message` holds `samples`, in ascending order. Throws std::runtime_error when its size is not theirs.
  void admit(const Dataset& data, std::span<const std::uint32_t> samples, Message message);

  std::size_t size() const { return places_.size(); }
  struct Sample {
    std::int64_t label;
    std::span<const std::byte> bytes;
  };
  // Null when the sample is no visitor; valid until it is dismissed.
  const Sample* find(std::size_t index) const;

 private:
  struct Place {
    std::uint32_t index;
    Sample sample;
  };
  std::vector<Place> places_;  // by index
  std::vector<Message> messages_;
};

// `data` as seen by one who has these visitors; a set of images when `data` are.
std::shared_ptr<const Dataset> with_visitors(std::shared_ptr<const Dataset> data,
                                             std::shared_ptr<const Visitors> visitors);

}  // namespace veche
