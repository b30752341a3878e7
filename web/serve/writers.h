#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "veche/base/thread/mutex.h"
#include "veche/runtime/inference/text_writer.h"

namespace veche::web {

// One text that is being written for a client, who holds it: without its client it ends.
class WrittenText {
 public:
  struct Part {
    std::string text;     // since the last call
    bool ended = false;   // nothing follows
    std::string failure;  // why it ended early; empty: it did not
    std::uint64_t tokens = 0;
  };
  // Any thread; does not block.
  Part take();

 private:
  friend class Writers;
  WrittenText(TextWriter writer, std::uint64_t tokens) : writer_(std::move(writer)), left_(tokens) {}

  TextWriter writer_;   // used by the thread of the writers
  std::uint64_t left_;  // likewise
  Mutex mutex_;
  Part part_ VECHE_GUARDED_BY(mutex_);
};

// Writes the texts of all clients in turn, a token each: a long text delays no other, and many
// share the model's speed equally. One thread computes.
class Writers {
 public:
  explicit Writers(std::size_t most) : most_(most), thread_([this] { work(); }) {}
  ~Writers();
  Writers(const Writers&) = delete;
  Writers& operator=(const Writers&) = delete;

  // Null: as many texts as allowed are being written.
  std::shared_ptr<WrittenText> begin(TextWriter writer, std::uint64_t tokens);

  struct Counts {
    std::uint64_t texts = 0, tokens = 0;
    std::size_t now = 0;  // texts being written
  };
  Counts counts() const;

 private:
  void work();
  // One token; false: the text has ended.
  static bool write(WrittenText& text);

  const std::size_t most_;
  mutable Mutex mutex_;
  ConditionVariable come_;  // a text, or the end
  std::list<std::weak_ptr<WrittenText>> texts_ VECHE_GUARDED_BY(mutex_);
  Counts counts_ VECHE_GUARDED_BY(mutex_);
  bool ending_ VECHE_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // declared last: it uses everything above
};

}  // namespace veche::web
